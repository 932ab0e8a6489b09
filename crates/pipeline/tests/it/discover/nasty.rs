//! Manifests that mean harm, or nothing at all: whatever they hold, discovery ends and says something.

use std::collections::BTreeMap;

use pipeline::discover::discover;
use pipeline::tree::{ContentId, File, Kind, Tree};
use proptest::prelude::*;

use super::repository::found;

const NAMES: [&str; 12] = [
    "Cargo.toml",
    "a/Cargo.toml",
    "package.json",
    "a/package.json",
    "pnpm-workspace.yaml",
    "go.mod",
    "a/go.mod",
    "go.work",
    "pyproject.toml",
    "a/requirements.txt",
    "a/A.csproj",
    "Makefile",
];

fn one(path: &str, text: impl Into<Vec<u8>>) -> BTreeMap<Vec<u8>, Vec<u8>> {
    BTreeMap::from([(path.as_bytes().to_vec(), text.into())])
}

#[test]
fn depth_and_size_have_bounds() {
    let deep = |open: &str, close: &str| open.repeat(100_000) + &close.repeat(100_000);
    for (path, text) in [
        ("Cargo.toml", format!("x = {}", deep("[", "]"))),
        ("Cargo.toml", format!("x = {}", deep("{a=", "}"))),
        ("Cargo.toml", format!("[{}]", vec!["a"; 100_000].join("."))),
        ("package.json", deep("[", "]")),
        ("package.json", deep("{\"a\":", "}")),
        ("package.json", " ".repeat(2_000_000) + "{}"),
        ("go.mod", "module (\n".repeat(50_000)),
        ("A.csproj", "<ProjectReference ".repeat(50_000)),
        ("pyproject.toml", deep("[[", "]]")),
    ] {
        let found = found(&one(path, text));
        assert!(
            found.pipeline.jobs.iter().all(|job| job.paths.is_none()),
            "{path}: {:?}",
            found.pipeline.jobs
        );
    }
}

#[test]
fn what_cannot_be_read_depends_on_everything() {
    let file =
        |path: &&str| File { path: path.as_bytes().into(), kind: Kind::Plain, content: ContentId([0; 32]) };
    let tree = Tree::new(NAMES.iter().map(file).collect());
    let found = discover(&tree, &|_| None);
    assert!(!found.pipeline.jobs.is_empty() && !found.notes.is_empty());
    assert!(found.pipeline.jobs.iter().all(|job| job.paths.is_none()), "{:?}", found.pipeline.jobs);
}

#[test]
fn what_leads_out_of_the_repository_is_not_followed() {
    let mut files =
        one("a/Cargo.toml", "[package]\nname='a'\n[dependencies]\nb={path='../../b'}\nc={path='/etc'}\n");
    files.extend(one(
        "w/package.json",
        r#"{"name":"w","scripts":{"test":"x"},"workspaces":["../../*"],"dependencies":{"e":"file:/etc"}}"#,
    ));
    let found = found(&files);
    let uses: Vec<_> = found.projects.iter().flat_map(|project| &project.uses).collect();
    assert!(uses.is_empty(), "{uses:?}");
    assert_eq!(found.pipeline.jobs.len(), 2);
}

#[test]
fn a_name_cannot_become_a_command() {
    let mut files = one("x/package.json", r#"{"workspaces":["*"]}"#);
    files.extend(one("x/$(touch y);'/package.json", r#"{"name":"`id`","scripts":{"test":"x"}}"#));
    files.extend(one("c/Cargo.toml", "[package]\nname = \"--config=x\"\n"));
    let found = found(&files);
    let steps: Vec<_> = found.pipeline.jobs.iter().flat_map(|job| job.spec.steps.clone()).collect();
    assert!(steps.contains(&r"npm run test --workspace '$(touch y);'\'''".to_owned()), "{steps:?}");
    assert!(steps.iter().all(|step| !step.contains("--config") && !step.contains('`')), "{steps:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_manifest_makes_discovery_panic(
        files in proptest::collection::btree_map(
            (0..NAMES.len()).prop_map(|place| NAMES[place].as_bytes().to_vec()),
            prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..40),
                "(\\[|\\]|\\{|\\}|\"|name|path|workspaces?|members|=|:|,|\\.\\./|a|\\*|!|\n| |module|replace|=>|\\(|\\)){0,30}"
                    .prop_map(String::into_bytes),
            ],
            0..6,
        ),
    ) {
        let found = found(&files);
        prop_assert!(!pipeline::first::first_file(&found).is_empty());
        let names: std::collections::BTreeSet<_> = found.pipeline.jobs.iter().map(|job| &job.name).collect();
        prop_assert_eq!(names.len(), found.pipeline.jobs.len());
    }
}
