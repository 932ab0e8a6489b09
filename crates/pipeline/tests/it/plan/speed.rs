//! A large repository is planned in one go. How long it took is printed, and asserted nowhere: machines differ.

use std::time::Instant;

use pipeline::facts::Difference;
use wire::api::Decision;

use super::script::{Scene, file, job};

const FILES: usize = 50_000;
const JOBS: usize = 2_000;

/// Every job has a folder of its own and uses those of `uses` jobs before it.
fn scene(uses: usize, pattern: impl Fn(usize) -> String) -> Scene {
    let mut scene = Scene::new();
    for number in 0..FILES {
        let path = format!("services/s{:04}/src/module/file{number}.rs", number % JOBS);
        scene.file(file(&path, &number.to_string(), None));
    }
    for number in 0..JOBS {
        let mut job = job(&format!("test-{number}"), &["cache=deps-{hash:**/*.lock}"]);
        let used = number.saturating_sub(uses)..=number;
        job.paths = Some(used.map(&pattern).chain(["Cargo.lock".into(), "!**/*.md".into()]).collect());
        job.needs = number
            .checked_sub(1)
            .filter(|_| number % 4 != 0)
            .map(|before| format!("test-{before}"))
            .into_iter()
            .collect();
        scene.pipeline.jobs.push(job);
    }
    let changed =
        scene.files.values().filter(|file| file.path.ends_with(b"7.rs")).map(|file| file.path.clone());
    scene.difference = Difference::Since { base: "base".into(), changed: changed.collect() };
    scene
}

fn check(what: &str, scene: &Scene) {
    let tree = scene.tree();
    let facts = scene.facts(&tree);
    let start = Instant::now();
    let draft = pipeline::plan::Draft::new(&scene.pipeline, &facts).expect("a draft");
    let wanted = draft.wanted().len();
    let plan = draft.plan(&Default::default());
    println!("{what}: {FILES} files, {JOBS} jobs, {wanted} keys looked up: {:?}", start.elapsed());
    assert_eq!(plan.jobs.len(), JOBS);
    assert!(plan.jobs.iter().any(|job| job.decision == Decision::Run));
}

#[test]
fn fifty_thousand_files_and_two_thousand_jobs_make_a_plan() {
    check("a folder each", &scene(0, |number| format!("services/s{number:04}/**")));
    check("by extension", &scene(0, |number| format!("services/s{number:04}/**/*.rs")));
    check(
        "by alternatives",
        &scene(0, |number| format!("services/s{number:04}/{{src,tests}}/**/*.{{rs,c}}")),
    );
    check("each uses 200 others", &scene(200, |number| format!("services/s{number:04}/**")));
    let mut broad = scene(0, |number| format!("services/s{number:04}/**"));
    let jobs = broad.pipeline.jobs.iter_mut();
    jobs.for_each(|job| job.paths.get_or_insert_default().push("**/*.rs".into()));
    check("every file for every job", &broad);
}
