//! Makefiles with a `test` or `check` target.

use std::collections::HashSet;

use super::found::{Findings, Found, Kind, Task};
use super::repository::Repository;

/// In the order in which `make` looks for them.
const NAMES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
const TARGETS: [&str; 2] = ["test", "check"];

pub fn find(repository: &Repository) -> Findings {
    let mut findings = Findings::default();
    let mut makefiles = repository.manifests(&mut findings.notes, |name| NAMES.contains(&name));
    makefiles.sort_by_key(|file| {
        let rank = NAMES.iter().position(|name| file.path.ends_with(name));
        (file.folder, rank)
    });
    let mut folders = HashSet::new();
    for makefile in makefiles {
        if !folders.insert(makefile.folder) {
            continue;
        }
        let text = makefile.text.unwrap_or_default();
        let Some(target) = TARGETS.into_iter().find(|target| has_target(&text, target)) else { continue };
        let name = super::repository::name_of(makefile.folder);
        findings.projects.push(Found {
            kind: Kind::Make,
            name: if name.is_empty() { "make".into() } else { name.into() },
            folder: makefile.folder.into(),
            manifest: makefile.path.into(),
            uses: Vec::new(),
            also: Vec::new(),
            unsure: false,
            tasks: vec![Task::new(target, makefile.folder, vec![format!("make {target}")])],
        });
    }
    findings
}

/// A line such as `all test: build`, but not `test := 1` and not a recipe.
fn has_target(text: &str, target: &str) -> bool {
    text.lines().filter(|line| !line.starts_with(['\t', '#', ' '])).any(|line| {
        let Some((names, rest)) = line.split_once(':') else { return false };
        let assigned = rest.trim_start_matches(':').starts_with('=') || names.contains('=');
        !assigned && names.split_whitespace().any(|name| name == target)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_told_from_variables_and_recipes() {
        for (text, has) in [
            ("test: build\n\ttrue", true),
            ("all test::\n", true),
            ("test := 1", false),
            ("test = a:b", false),
            ("\ttest: x", false),
            ("# test: x", false),
            ("testing:\n", false),
            (".PHONY: test\n", false),
        ] {
            assert_eq!(has_target(text, "test"), has, "{text}");
        }
    }
}
