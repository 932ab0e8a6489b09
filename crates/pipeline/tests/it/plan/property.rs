//! Random repositories, pipelines and pasts: what holds for every plan.

use decisions::records::Trust;
use pipeline::facts::{Difference, Successes};
use pipeline::plan::Draft;
use proptest::prelude::*;
use wire::api::Decision;

use super::script::{Scene, file, job};

const FOLDERS: [&str; 4] = ["a", "b", "a/b", "c"];
const PATTERNS: [&str; 8] = ["a/**", "b/*", "**/1", "{a,c}/**", "!**/2", "c/[0-2]", "**", "x/**"];

fn path() -> impl Strategy<Value = String> {
    (0..FOLDERS.len(), 0..4).prop_map(|(folder, name)| format!("{}/{name}", FOLDERS[folder]))
}

fn contents() -> impl Strategy<Value = Vec<(String, u8)>> {
    proptest::collection::vec((path(), 0..3u8), 0..12)
}

/// A job's patterns (none: all files), the jobs before it that it needs, and whether its effect happens once.
type Shape = (Option<Vec<usize>>, Vec<usize>, bool);

fn shapes() -> impl Strategy<Value = Vec<Shape>> {
    let paths = proptest::option::of(proptest::collection::vec(0..PATTERNS.len(), 0..4));
    let shape = (paths, proptest::collection::vec(0..8usize, 0..3), prop::bool::weighted(0.1));
    proptest::collection::vec(shape, 0..8)
}

prop_compose! {
    fn scenes()(
        before in contents(),
        now in contents(),
        shapes in shapes(),
        known in any::<u8>(),
        compared in any::<bool>(),
        untrusted in any::<bool>(),
        (all, no_reuse) in (prop::bool::weighted(0.2), prop::bool::weighted(0.2)),
    ) -> Scene {
        let mut scene = scene(&before, &shapes);
        let old = scene.tree();
        let names: Vec<String> = scene.pipeline.jobs.iter().map(|job| job.name.clone()).collect();
        for (bit, name) in names.iter().enumerate() {
            let key = scene.key(name, if bit % 2 == 0 { Trust::Trusted } else { Trust::Untrusted });
            if let Some(key) = key.filter(|_| known & (1 << bit) != 0) {
                let success = pipeline::facts::Success {
                    run: wire::RunId::from_u128(bit as u128),
                    job: wire::JobId::from_u128(bit as u128),
                };
                scene.successes.insert(key, success);
            }
        }
        scene.files.clear();
        now.iter().for_each(|(path, id)| scene.file(file(path, &id.to_string(), None)));
        let new = scene.tree();
        let gone = old.files().iter().filter(|file| new.get(&file.path).is_none());
        let other = new.files().iter().filter(|file| old.get(&file.path) != Some(file));
        let changed = gone.chain(other).map(|file| file.path.clone()).collect();
        if compared {
            scene.difference = Difference::Since { base: "base".into(), changed };
        }
        if untrusted {
            scene.trust = Trust::Untrusted;
        }
        (scene.wishes.all, scene.wishes.no_reuse) = (all, no_reuse);
        scene
    }
}

fn scene(files: &[(String, u8)], shapes: &[Shape]) -> Scene {
    let mut scene = Scene::new();
    files.iter().for_each(|(path, id)| scene.file(file(path, &id.to_string(), None)));
    for (place, (paths, needs, once)) in shapes.iter().enumerate() {
        let mut job = job(&format!("job{place}"), &[]);
        job.paths = paths.as_ref().map(|paths| paths.iter().map(|path| PATTERNS[*path].into()).collect());
        job.needs = needs.iter().filter(|need| **need < place).map(|need| format!("job{need}")).collect();
        job.needs.sort();
        job.needs.dedup();
        job.effect_once = *once;
        scene.pipeline.jobs.push(job);
    }
    scene
}

/// Whether a job names a file, tried pattern by pattern: the slow way that nobody doubts.
fn names(paths: Option<&[String]>, path: &[u8]) -> bool {
    let Some(paths) = paths else { return true };
    let matches = |pattern: &str| {
        let glob = globset::GlobBuilder::new(pattern)
            .literal_separator(true)
            .empty_alternates(true)
            .build()
            .expect("a pattern");
        glob.compile_matcher().is_match_candidate(&globset::Candidate::from_bytes(path))
    };
    let (away, kept): (Vec<&str>, Vec<&str>) =
        paths.iter().map(String::as_str).partition(|pattern| pattern.starts_with('!'));
    let all = kept.is_empty() && !away.is_empty();
    (all || kept.into_iter().any(matches)) && !away.into_iter().any(|pattern| matches(&pattern[1..]))
}

/// Pieces of patterns that fit together in many ways, and often to the paths below.
fn pattern() -> impl Strategy<Value = String> {
    const PIECES: [&str; 24] = [
        "**/",
        "/**",
        "/**/",
        "**",
        "*",
        "?",
        "/",
        "a",
        "b",
        "ab",
        "ba",
        "a/b",
        "{a,b}",
        "{a/b,ab}",
        "{a,}",
        "{**/a,b/}",
        "{*,b}",
        "{a,{b,ab}}",
        "[ab]",
        "[!a]",
        "[]a]",
        "\\a",
        "\\*",
        "é",
    ];
    proptest::collection::vec(0..PIECES.len(), 1..6)
        .prop_map(|pieces| pieces.into_iter().map(|piece| PIECES[piece]).collect())
}

fn matcher(pattern: &str) -> globset::GlobMatcher {
    let mut glob = globset::GlobBuilder::new(pattern);
    glob.literal_separator(true).empty_alternates(true);
    glob.build().expect("a pattern").compile_matcher()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whether they are few, or so many that most are not even tried.
    #[test]
    fn patterns_match_together_what_each_matches_alone(
        patterns in proptest::collection::vec(pattern(), 1..50),
        paths in proptest::collection::vec("[ab]{1,3}(/[ab*é\\]]{1,3}){0,3}", 1..40),
    ) {
        let mut patterns = patterns;
        patterns.retain(|pattern| !pattern.contains("//") && pipeline::globs::check(pattern).is_ok());
        let index = pipeline::globs::Index::new(&patterns).expect("patterns");
        let matchers: Vec<_> = patterns.iter().map(|pattern| matcher(pattern)).collect();
        let mut found = Vec::new();
        for path in &paths {
            index.matching(path.as_bytes(), &mut found);
            found.sort_unstable();
            let candidate = globset::Candidate::from_bytes(path.as_bytes());
            let alone = (0..).zip(&matchers).filter(|(_, matcher)| matcher.is_match_candidate(&candidate));
            let expected: Vec<u32> = alone.map(|(number, _)| number).collect();
            prop_assert_eq!(&found, &expected, "{} {:?}", path, patterns);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_is_the_same_every_time(scene in scenes()) {
        let plan = || serde_json::to_string(&scene.plan().expect("a plan")).expect("JSON");
        prop_assert_eq!(plan(), plan());
    }

    #[test]
    fn what_is_skipped_has_no_changed_file_and_no_need_that_runs(scene in scenes()) {
        let plan = scene.plan().expect("a plan");
        for (planned, job) in plan.jobs.iter().zip(&scene.pipeline.jobs) {
            prop_assert!(!planned.reasons.is_empty());
            let needs: Vec<_> = plan.jobs.iter().filter(|other| job.needs.contains(&other.name)).collect();
            match planned.decision {
                Decision::Skip => {
                    let Difference::Since { changed, .. } = &scene.difference else { panic!("nothing was compared") };
                    prop_assert!(!scene.wishes.all);
                    prop_assert!(!changed.iter().any(|path| names(job.paths.as_deref(), path)));
                    prop_assert!(needs.iter().all(|need| need.decision == Decision::Skip));
                }
                Decision::Reuse => {
                    prop_assert!(!job.effect_once && !scene.wishes.no_reuse);
                    prop_assert!(needs.iter().all(|need| need.decision != Decision::Run));
                }
                Decision::Run => {}
            }
        }
    }

    #[test]
    fn a_key_changes_when_an_input_does_and_only_then(
        before in contents(), now in contents(), shapes in shapes(),
    ) {
        let (old, new) = (scene(&before, &shapes), scene(&now, &shapes));
        let mut changed = Vec::new();
        for job in &old.pipeline.jobs {
            let inputs = |scene: &Scene| {
                let files = scene.files.values().filter(|file| names(job.paths.as_deref(), &file.path));
                files.cloned().collect::<Vec<_>>()
            };
            let differs = inputs(&old) != inputs(&new) || job.needs.iter().any(|need| changed.contains(need));
            if differs {
                changed.push(job.name.clone());
            }
            let keys = [&old, &new].map(|scene| scene.key(&job.name, Trust::Trusted));
            match keys {
                [Some(old), Some(new)] => prop_assert_eq!(old != new, differs, "{}", job.name),
                [None, None] => {}
                [Some(_), None] | [None, Some(_)] => prop_assert!(false, "a key comes from the pipeline alone"),
            }
        }
    }

    #[test]
    fn no_text_makes_the_planner_panic(
        paths in proptest::collection::vec("\\PC{0,12}|[a*?{}!/\\[\\]\\\\,.]{0,10}", 0..4),
        key in "[a{}:hash*,]{0,20}|\\PC{0,20}|x\\{hash:[a-z*{},/]{0,8}\\}",
        only in proptest::option::of("\\PC{0,8}"),
        files in proptest::collection::vec(proptest::collection::vec(1..=255u8, 1..8), 0..6),
    ) {
        let mut scene = Scene::new();
        let mut job = job("job", &[]);
        job.paths = Some(paths);
        job.spec.caches = vec![wire::runner::CacheSpec {
            r#type: "deps".into(), key, prefix: None, paths: Vec::new(),
        }];
        scene.pipeline.jobs.push(job);
        scene.wishes.only = only.into_iter().collect();
        let paths: Vec<Box<[u8]>> = files.into_iter().map(Vec::into_boxed_slice).collect();
        for path in &paths {
            let odd = pipeline::tree::File { path: path.clone(), ..file("x", "1", None) };
            scene.file(odd);
        }
        scene.difference = Difference::Since { base: String::new(), changed: paths };
        let tree = scene.tree();
        if let Ok(draft) = Draft::new(&scene.pipeline, &scene.facts(&tree)) {
            draft.plan(&Successes::new());
        }
    }
}
