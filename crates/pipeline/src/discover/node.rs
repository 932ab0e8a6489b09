//! npm, Yarn and pnpm: a job for each of the scripts `lint`, `build` and `test` that a package has.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use wire::runner::CacheSpec;

use super::found::{Findings, Found, Kind, Task};
use super::node_workspaces::{Manager, Members};
use super::repository::{Repository, around, beneath, joined, name_of, unreadable};
use super::words::quoted;
use crate::globs::literal;

const SCRIPTS: [&str; 3] = ["lint", "build", "test"];
/// What `npm init` writes; it is no test.
const NO_TEST: &str = "no test specified";
const LISTS: [&str; 4] = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];

/// A `package.json` by its folder.
type Packages<'a> = BTreeMap<&'a str, Map<String, Value>>;

/// Folders by workspace and name.
type Mates<'a> = BTreeMap<(&'a str, &'a str), &'a str>;

pub fn find(repository: &Repository) -> Findings {
    let mut findings = Findings::default();
    let (mut packages, mut doubts) = (Packages::new(), Vec::new());
    for manifest in repository.manifests(&mut findings.notes, |name| name == "package.json") {
        match manifest.text.as_deref().map(serde_json::from_str) {
            Some(Ok(Value::Object(package))) => drop(packages.insert(manifest.folder, package)),
            Some(_) | None => doubts.push(manifest.path.to_owned()),
        }
    }
    let mut workspaces: BTreeMap<&str, Members> = BTreeMap::new();
    for (folder, package) in &packages {
        match Members::of(repository, folder, package) {
            Some(Ok(members)) => drop(workspaces.insert(folder, members)),
            Some(Err(())) => doubts.push(beneath(folder, "package.json")),
            None => {}
        }
    }
    let root_of = |folder: &str| -> Option<&str> {
        let own = workspaces.get_key_value(folder).map(|(root, _)| *root);
        own.or_else(|| {
            let roots = around(folder).filter_map(|root| workspaces.get_key_value(root));
            roots.filter(|(_, members)| members.contains(folder)).map(|(root, _)| *root).next()
        })
    };
    let roots: BTreeMap<&str, &str> =
        packages.keys().filter_map(|folder| Some((*folder, root_of(folder)?))).collect();
    let mut mates = Mates::new();
    for (folder, root) in &roots {
        if let Some(name) = packages[folder].get("name").and_then(Value::as_str) {
            mates.insert((root, name), folder);
        }
    }
    for (folder, package) in &packages {
        let root = roots.get(folder).copied();
        let uses = used(folder, package, root, &mates);
        findings.projects.push(found(repository, folder, package, root, uses));
    }
    doubts.into_iter().for_each(|path| findings.doubt(unreadable(&path)));
    findings
}

fn found(
    repository: &Repository,
    folder: &str,
    package: &Map<String, Value>,
    workspace: Option<&str>,
    uses: Vec<String>,
) -> Found {
    let root = workspace.unwrap_or(folder);
    let (manager, lock) = Manager::of(repository, root);
    // Settings of linters, compilers and bundlers lie at the root, and there are many.
    let at = |name: &str| beneath(&literal(root), name);
    let also = if root == folder { Vec::new() } else { vec![at("*"), format!("!{}", at("*.md"))] };
    let needed = LISTS
        .iter()
        .any(|list| package.get(*list).and_then(Value::as_object).is_some_and(|list| !list.is_empty()));
    let install =
        (lock.is_some() || needed || workspace.is_some()).then(|| manager.install(lock.is_some()).to_owned());
    let member = (root != folder).then(|| quoted(folder[root.len()..].trim_start_matches('/')));
    let tasks = SCRIPTS.iter().filter(|script| has_script(package, script)).map(|script| {
        let run = manager.script(script, member.as_deref());
        let mut task = Task::new(script, root, install.iter().cloned().chain([run]).collect());
        task.caches.extend(lock.filter(|_| manager == Manager::Npm).map(|lock| CacheSpec {
            r#type: "deps".into(),
            key: format!("npm:{{hash:{}}}", at(lock)),
            prefix: None,
            paths: vec!["~/.npm".into()],
        }));
        task
    });
    let fallback = if folder.is_empty() { "node" } else { name_of(folder) };
    Found {
        kind: Kind::Node,
        name: package.get("name").and_then(Value::as_str).unwrap_or(fallback).into(),
        folder: folder.into(),
        manifest: beneath(folder, "package.json"),
        uses,
        also,
        unsure: false,
        tasks: tasks.collect(),
    }
}

fn has_script(package: &Map<String, Value>, script: &str) -> bool {
    let text = package.get("scripts").and_then(|scripts| scripts.get(script)).and_then(Value::as_str);
    text.is_some_and(|text| !text.trim().is_empty() && !text.contains(NO_TEST))
}

/// Packages of the same workspace by name, and others by where they lie.
fn used(folder: &str, package: &Map<String, Value>, workspace: Option<&str>, mates: &Mates) -> Vec<String> {
    let lists = LISTS.iter().filter_map(|list| package.get(*list)?.as_object());
    let mut uses = Vec::new();
    for (name, version) in lists.flatten() {
        let version = version.as_str().unwrap_or_default();
        let place = ["file:", "link:", "portal:"].iter().find_map(|word| version.strip_prefix(word));
        if let Some(place) = place.filter(|place| !place.ends_with(".tgz")) {
            uses.extend(joined(folder, place));
        } else if let Some(root) = workspace {
            uses.extend(mates.get(&(root, name.as_str())).map(|mate| mate.to_string()));
        }
    }
    uses.retain(|used| used != folder);
    uses
}
