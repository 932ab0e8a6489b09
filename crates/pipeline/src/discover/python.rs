//! Python: packages and folders of scripts, tested with pytest where somebody mentions it, else with what Python brings.
//!
//! What a project needs goes into a folder of its own beside it, so that nothing of the machine is changed.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::found::{Findings, Found, Kind, Task};
use super::repository::{Repository, beneath, joined, name_of, unreadable};
use super::words::quoted;

const MANIFESTS: [&str; 3] = ["pyproject.toml", "setup.py", "requirements.txt"];
/// Further files of a project that may name pytest.
const HINTS: [&str; 6] =
    ["setup.cfg", "tox.ini", "pytest.ini", "conftest.py", "requirements-dev.txt", "requirements-test.txt"];
const PYTHON: &str = ".venv/bin/python";
/// Extras under which people keep what their tests need.
const EXTRAS: [&str; 4] = ["test", "tests", "testing", "dev"];

pub fn find(repository: &Repository) -> Findings {
    let mut findings = Findings::default();
    let mut texts: BTreeMap<&str, BTreeMap<&str, String>> = BTreeMap::new();
    let mut doubts = BTreeSet::new();
    for manifest in repository.manifests(&mut findings.notes, |name| MANIFESTS.contains(&name)) {
        if manifest.text.is_none() {
            doubts.insert(manifest.path.to_owned());
        }
        let text = manifest.text.unwrap_or_default();
        texts.entry(manifest.folder).or_default().insert(name_of(manifest.path), text);
    }
    for (folder, manifests) in &texts {
        // Requirements alone, as for documents, are no project.
        let alone = manifests.keys().eq(["requirements.txt"].iter());
        if alone && !repository.below(folder).any(|path| path.ends_with(".py")) {
            continue;
        }
        let table = match manifests.get("pyproject.toml").map(|text| text.parse::<Table>()) {
            Some(Ok(table)) => Some(table),
            Some(Err(_)) => {
                doubts.insert(beneath(folder, "pyproject.toml"));
                None
            }
            None => None,
        };
        // Settings of a formatter alone are no project either.
        let about = table.as_ref().is_some_and(is_project);
        if manifests.keys().eq(["pyproject.toml"].iter())
            && table.is_some()
            && !about
            && !has_tests(repository, folder)
        {
            continue;
        }
        findings.projects.push(found(repository, folder, manifests, table.as_ref()));
    }
    doubts.into_iter().for_each(|path| findings.doubt(unreadable(&path)));
    findings
}

fn is_project(table: &Table) -> bool {
    let poetry = table.get("tool").and_then(|tool| tool.get("poetry"));
    table.contains_key("project") || table.contains_key("build-system") || poetry.is_some()
}

fn found(
    repository: &Repository,
    folder: &str,
    manifests: &BTreeMap<&str, String>,
    table: Option<&Table>,
) -> Found {
    let hints = HINTS.iter().filter_map(|name| Some((*name, repository.text(&beneath(folder, name))?)));
    let pytest = manifests.values().any(|text| text.contains("pytest"))
        || hints
            .into_iter()
            .any(|(name, text)| matches!(name, "pytest.ini" | "conftest.py") || text.contains("pytest"));
    let mut wanted = Vec::new();
    for name in ["requirements.txt", "requirements-dev.txt", "requirements-test.txt"] {
        if repository.has(&beneath(folder, name)) {
            wanted.push(format!("-r {name}"));
        }
    }
    if manifests.contains_key("setup.py") || table.is_some_and(is_project) {
        wanted.push(format!("-e {}", quoted(&format!(".{}", extras(table)))));
    }
    if pytest {
        wanted.push("pytest".into());
    }
    let mut steps = Vec::new();
    let python = if wanted.is_empty() { "python3" } else { PYTHON };
    if !wanted.is_empty() {
        steps.push("python3 -m venv .venv".into());
        steps.push(format!("{PYTHON} -m pip install --quiet {}", wanted.join(" ")));
    }
    let (verb, last) = match (pytest, has_tests(repository, folder)) {
        (true, _) => ("test", "-m pytest"),
        (false, true) => ("test", "-m unittest"),
        // Without a test, at least every file must be Python.
        (false, false) => ("check", "-m compileall -q -x '[.]venv' ."),
    };
    steps.push(format!("{python} {last}"));
    let named = table.and_then(|table| {
        let poetry = table.get("tool").and_then(|tool| tool.get("poetry"));
        table.get("project").or(poetry)?.get("name")?.as_str()
    });
    let fallback = if folder.is_empty() { "python" } else { name_of(folder) };
    let manifest = MANIFESTS.iter().find(|name| manifests.contains_key(*name)).copied().unwrap_or_default();
    Found {
        kind: Kind::Python,
        name: named.unwrap_or(fallback).into(),
        folder: folder.into(),
        manifest: beneath(folder, manifest),
        uses: used(folder, manifests, table),
        also: Vec::new(),
        unsure: false,
        tasks: vec![Task::new(verb, folder, steps)],
    }
}

/// `[test]` where the project offers it.
fn extras(table: Option<&Table>) -> String {
    let offered = table.and_then(|table| table.get("project")?.get("optional-dependencies"));
    let extra = EXTRAS.iter().find(|extra| offered.is_some_and(|offered| offered.get(**extra).is_some()));
    extra.map(|extra| format!("[{extra}]")).unwrap_or_default()
}

fn has_tests(repository: &Repository, folder: &str) -> bool {
    repository.below(folder).map(name_of).any(|name| {
        name.strip_suffix(".py").is_some_and(|name| name.starts_with("test") || name.ends_with("_test"))
    })
}

/// Folders that it names: `-e ../lib` in its requirements, `path = "../lib"` for Poetry and uv.
fn used(folder: &str, manifests: &BTreeMap<&str, String>, table: Option<&Table>) -> Vec<String> {
    let lines = manifests.get("requirements.txt").into_iter().flat_map(|text| text.lines());
    let local = lines.filter_map(|line| {
        let line = line.split_once(" #").map_or(line, |(before, _)| before).trim();
        let editable = line.strip_prefix("-e").or_else(|| line.strip_prefix("--editable"));
        let place = editable.unwrap_or(line).trim_start_matches(['=', ' ']);
        let place = place.strip_prefix("file:").unwrap_or(place);
        let place = place.split('[').next().unwrap_or(place);
        let is_path = place.starts_with('.') && !place.ends_with(".whl") && !place.ends_with(".gz");
        is_path.then(|| place.to_owned())
    });
    let tool =
        |path: [&str; 2]| table.and_then(|table| table.get("tool")?.get(path[0])?.get(path[1])?.as_table());
    let groups = tool(["poetry", "group"]).into_iter().flat_map(Table::values);
    let groups = groups.filter_map(|group| group.get("dependencies")?.as_table());
    let tables =
        [tool(["poetry", "dependencies"]), tool(["uv", "sources"])].into_iter().flatten().chain(groups);
    let paths = tables.flat_map(Table::values).filter_map(|value| value.get("path").and_then(Value::as_str));
    let all = local.chain(paths.map(String::from)).filter_map(|place| joined(folder, &place));
    all.filter(|used| used != folder).collect()
}
