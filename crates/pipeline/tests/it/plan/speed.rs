//! A large repository is planned in one go. How long it took is printed, and asserted nowhere: machines differ. Worth
//! reading only from `cargo test --release -p pipeline -- speed --nocapture`.

use std::time::Instant;

use pipeline::definition::Job;
use pipeline::facts::Difference;
use pipeline::plan::Draft;
use pipeline::tree::Tree;
use wire::api::Decision;

use super::script::{Scene, file, job};

/// Without optimisations a fifth shows as well that no cost multiplies.
const FILES: usize = if cfg!(debug_assertions) { 10_000 } else { 50_000 };
const JOBS: usize = 2_000;

fn repository() -> (Scene, Tree) {
    let path = |number: usize| match number % JOBS {
        service if number < JOBS => format!("services/s{service:04}/data.x{service}"),
        service => format!("services/s{service:04}/src/module/file{number}.rs"),
    };
    let files = (0..FILES).map(|number| file(&path(number), &number.to_string(), None));
    let tree = Tree::new(files.collect());
    let changed =
        tree.files().iter().filter(|file| file.path.ends_with(b"7.rs") || file.path.ends_with(b"7"));
    let changed = changed.map(|file| file.path.clone()).collect();
    let mut scene = Scene::new();
    scene.difference = Difference::Since { base: "base".into(), changed };
    (scene, tree)
}

/// Every job has a pattern of its own and those of `uses` jobs before it; three of four need the one before.
fn jobs(uses: usize, pattern: impl Fn(usize) -> String) -> Vec<Job> {
    let one = |number: usize| {
        let mut job = job(&format!("test-{number}"), &["cache=deps-{hash:**/*.lock}"]);
        let used = number.saturating_sub(uses)..=number;
        job.paths = Some(used.map(&pattern).chain(["Cargo.lock".into(), "!**/*.md".into()]).collect());
        let before = number.checked_sub(1).filter(|_| !number.is_multiple_of(4));
        job.needs = before.map(|before| format!("test-{before}")).into_iter().collect();
        job
    };
    (0..JOBS).map(one).collect()
}

#[test]
fn many_files_and_two_thousand_jobs_make_a_plan() {
    let folder = |number: usize| format!("services/s{number:04}/**");
    let mut broad = jobs(0, folder);
    broad.iter_mut().for_each(|job| job.paths.get_or_insert_default().push("**/*.rs".into()));
    let (mut scene, tree) = repository();
    for (what, jobs) in [
        ("a folder each", jobs(0, folder)),
        ("by extension", jobs(0, |number| format!("services/s{number:04}/**/*.rs"))),
        ("by alternatives", jobs(0, |number| format!("services/s{number:04}/{{src,tests}}/**/*.{{rs,c}}"))),
        ("each uses 200 others", jobs(200, folder)),
        ("every file for every job", broad),
        ("a name anywhere", jobs(0, |number| format!("**/s{number:04}/**"))),
        ("a part of a name anywhere", jobs(0, |number| format!("**/*e{number}?*"))),
        ("a name or another anywhere", jobs(0, |number| format!("**/{{s{number:04},t{number:04}}}/**/*.rs"))),
        ("an ending of their own", jobs(0, |number| format!("**/*{number}.rs"))),
        ("an extension of their own", jobs(0, |number| format!("*/*/*.x{number}"))),
    ] {
        scene.pipeline.jobs = jobs;
        let start = Instant::now();
        let draft = Draft::new(&scene.pipeline, &scene.facts(&tree)).expect("a draft");
        let wanted = draft.wanted().len();
        let plan = draft.plan(&scene.successes);
        println!("{what}: {FILES} files, {JOBS} jobs, {wanted} keys looked up: {:?}", start.elapsed());
        assert_eq!(plan.jobs.len(), JOBS);
        assert!(plan.jobs.iter().any(|job| job.decision == Decision::Run));
    }
}
