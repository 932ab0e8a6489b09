//! Go modules: what they replace by a local folder, and the modules of one `go.work`.

use std::collections::BTreeMap;

use super::found::{Findings, Found, Kind, Task};
use super::repository::{Repository, around, beneath, joined, name_of, unreadable};
use crate::globs::literal;

/// What a `go.mod` says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Module {
    name: String,
    requires: Vec<String>,
    /// Local folders, as written.
    replaced: Vec<String>,
}

pub fn find(repository: &Repository) -> Findings {
    let mut findings = Findings::default();
    let (mut modules, mut doubts) = (BTreeMap::new(), Vec::new());
    for manifest in repository.manifests(&mut findings.notes, |name| name == "go.mod") {
        let module = manifest.text.as_deref().and_then(parsed);
        if module.is_none() {
            doubts.push(manifest.path);
        }
        modules.insert(manifest.folder, module.unwrap_or_default());
    }
    // Modules of one workspace see each other by name.
    let mut workspaces: BTreeMap<&str, (&str, BTreeMap<&str, &str>)> = BTreeMap::new();
    for manifest in repository.manifests(&mut findings.notes, |name| name == "go.work") {
        let Some(text) = manifest.text else {
            doubts.push(manifest.path);
            continue;
        };
        let used = directives(&text).filter(|(verb, _)| *verb == "use");
        let folders = used.filter_map(|(_, rest)| joined(manifest.folder, unquoted(rest)));
        let keys =
            folders.filter_map(|folder| modules.get_key_value(folder.as_str()).map(|(folder, _)| *folder));
        let members: Vec<&str> = keys.collect();
        let names: BTreeMap<&str, &str> =
            members.iter().map(|folder| (modules[folder].name.as_str(), *folder)).collect();
        members.iter().for_each(|member| drop(workspaces.insert(member, (manifest.folder, names.clone()))));
    }
    for (folder, module) in &modules {
        let mut project = found(folder, module, workspaces.get(folder));
        let mut folders = around(folder).chain([*folder]);
        if !workspaces.contains_key(folder)
            && folders.any(|folder| repository.has(&beneath(folder, "go.work")))
        {
            // Go refuses a module that the workspace around it does not name.
            project
                .tasks
                .iter_mut()
                .flat_map(|task| &mut task.steps)
                .for_each(|step| step.insert_str(0, "GOWORK=off "));
        }
        findings.projects.push(project);
    }
    doubts.into_iter().for_each(|path| findings.doubt(unreadable(path)));
    findings
}

fn found(folder: &str, module: &Module, workspace: Option<&(&str, BTreeMap<&str, &str>)>) -> Found {
    let mut uses: Vec<String> = module.replaced.iter().filter_map(|path| joined(folder, path)).collect();
    let mut also = Vec::new();
    if let Some((root, names)) = workspace {
        let mates = module.requires.iter().filter_map(|name| names.get(name.as_str()));
        uses.extend(mates.map(|mate| mate.to_string()));
        also.push(beneath(&literal(root), "go.work{,.sum}"));
    }
    uses.retain(|used| used != folder);
    let fallback = if folder.is_empty() { "go" } else { name_of(folder) };
    let name = module.name.rsplit('/').find(|part| !is_version(part)).filter(|name| !name.is_empty());
    let steps = vec!["go vet ./...".into(), "go test ./...".into()];
    Found {
        kind: Kind::Go,
        name: name.unwrap_or(fallback).into(),
        folder: folder.into(),
        manifest: beneath(folder, "go.mod"),
        uses,
        also,
        unsure: false,
        tasks: vec![Task::new("test", folder, steps)],
    }
}

/// The `v2` that ends a module's name.
fn is_version(part: &str) -> bool {
    part.strip_prefix('v')
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn parsed(text: &str) -> Option<Module> {
    let mut module = Module::default();
    for (verb, rest) in directives(text) {
        let mut words = rest.split_whitespace().map(unquoted);
        match verb {
            "module" => module.name = words.next()?.into(),
            "require" => module.requires.extend(words.next().map(String::from)),
            "replace" => {
                let place = rest.split_once("=>").and_then(|(_, place)| place.split_whitespace().next());
                let local = place
                    .map(unquoted)
                    .filter(|place| place.starts_with("./") || place.starts_with("../") || *place == "..");
                module.replaced.extend(local.map(String::from));
            }
            _ => {}
        }
    }
    (!module.name.is_empty()).then_some(module)
}

/// Each directive with its words, also those of a block: `require (` and lines until `)`.
fn directives(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut block: Option<&str> = None;
    let lines = text.lines().map(|line| line.split_once("//").map_or(line, |(before, _)| before).trim());
    lines.filter(|line| !line.is_empty()).filter_map(move |line| match block {
        Some(_) if line == ")" => {
            block = None;
            None
        }
        Some(verb) => Some((verb, line)),
        None => {
            let (verb, rest) = line.split_once([' ', '\t', '(']).unwrap_or((line, ""));
            let opens = line.ends_with('(');
            block = opens.then_some(verb);
            (!opens).then_some((verb, rest.trim()))
        }
    })
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '`'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_lines_say_the_same() {
        let text = "module example.org/app/v2 // the app\n\ngo 1.22\nrequire example.org/a v1.0.0\nrequire (\n\t\
                    example.org/b v0.0.0 // indirect\n)\nreplace example.org/a => ../a\n\
                    replace(\n\texample.org/b v1 => \"./b\"\n\texample.org/c => example.org/d v1\n)\n";
        let module = parsed(text).expect("a module");
        assert_eq!(module.name, "example.org/app/v2");
        assert_eq!(module.requires, ["example.org/a", "example.org/b"]);
        assert_eq!(module.replaced, ["../a", "./b"]);
        assert_eq!(parsed("go 1.22"), None);
    }
}
