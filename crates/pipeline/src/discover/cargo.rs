//! Cargo: workspaces and packages, and the packages they use by path. A job for each package, so that a change tests
//! what it can break and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};
use wire::runner::CacheSpec;

use super::found::{Findings, Found, Kind, Task};
use super::repository::{Repository, beneath, folder_of, is_below, joined, name_of, unreadable};
use super::words::quoted;
use crate::globs::{Index, literal};

const LISTS: [&str; 5] =
    ["dependencies", "dev-dependencies", "build-dependencies", "dev_dependencies", "build_dependencies"];

/// Manifests by folder.
type Manifests<'a> = BTreeMap<&'a str, Table>;

pub fn find(repository: &Repository) -> Findings {
    let mut findings = Findings::default();
    let mut manifests = Manifests::new();
    let mut doubts = Vec::new();
    for manifest in repository.manifests(&mut findings.notes, |name| name == "Cargo.toml") {
        match manifest.text.and_then(|text| text.parse::<Table>().ok()) {
            Some(table) => drop(manifests.insert(manifest.folder, table)),
            None => doubts.push(manifest.path.to_owned()),
        }
    }
    let owners = owners(&manifests);
    for (folder, table) in &manifests {
        let Some(package) = table.get("package") else { continue };
        let root = owners.get(folder).copied().unwrap_or(folder);
        match package.get("name").and_then(Value::as_str).filter(|name| is_name(name)) {
            Some(name) => findings.projects.push(package_found(repository, &manifests, folder, root, name)),
            None => doubts.push(beneath(folder, "Cargo.toml")),
        }
    }
    if findings.projects.is_empty() {
        findings.projects.extend(doubts.first().map(|path| whole(path)));
    }
    doubts.into_iter().for_each(|path| findings.doubt(unreadable(&path)));
    findings
}

/// As Cargo allows them, so that a name is never an option or a shell's word.
fn is_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
    name.chars().all(plain) && name.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_')
}

/// The whole of a workspace that could not be understood.
fn whole(path: &str) -> Found {
    let folder = folder_of(path);
    let name = if folder.is_empty() { "cargo" } else { name_of(folder) };
    Found {
        kind: Kind::Cargo,
        name: name.into(),
        folder: folder.into(),
        manifest: beneath(folder, "Cargo.toml"),
        uses: Vec::new(),
        also: Vec::new(),
        unsure: true,
        tasks: vec![Task::new("test", folder, vec!["cargo test --workspace".into()])],
    }
}

fn package_found(
    repository: &Repository,
    manifests: &Manifests,
    folder: &str,
    root: &str,
    name: &str,
) -> Found {
    let root_table = manifests.get(root);
    let workspace = root_table.and_then(|table| table.get("workspace"));
    let mut uses = used(&manifests[folder], folder, workspace, root);
    uses.extend(root_table.into_iter().flat_map(|table| patched(table, root)));
    let at = |name: &str| beneath(&literal(root), name);
    let mut also = Vec::new();
    if root != folder {
        also.extend([at("Cargo.{toml,lock}"), at(".cargo/**"), at("rust-toolchain{,.toml}")]);
    }
    if !root.is_empty() {
        also.extend([".cargo/**".into(), "rust-toolchain{,.toml}".into()]);
    }
    let lock = repository.has(&beneath(root, "Cargo.lock"));
    let locked = if lock { " --locked" } else { "" };
    let step = match workspace {
        Some(_) => format!("cargo test{locked} --package {}", quoted(name)),
        None => format!("cargo test{locked}"),
    };
    let mut task = Task::new("test", root, vec![step]);
    task.caches.extend(lock.then(|| CacheSpec {
        r#type: "deps".into(),
        key: format!("cargo:{{hash:{}}}", at("Cargo.lock")),
        prefix: None,
        paths: vec!["~/.cargo/registry".into()],
    }));
    Found {
        kind: Kind::Cargo,
        name: name.into(),
        folder: folder.into(),
        manifest: beneath(folder, "Cargo.toml"),
        uses,
        also,
        unsure: false,
        tasks: vec![task],
    }
}

/// For every package that belongs to a workspace, the workspace's folder.
fn owners<'a>(manifests: &Manifests<'a>) -> BTreeMap<&'a str, &'a str> {
    let mut owners = BTreeMap::new();
    for (root, table) in manifests {
        let Some(workspace) = table.get("workspace") else { continue };
        let excluded: Vec<String> =
            texts(workspace.get("exclude")).filter_map(|path| joined(root, path)).collect();
        let may = |folder: &str| {
            !excluded.iter().any(|excluded| folder == excluded || is_below(folder, excluded))
                && (folder == *root
                    || !manifests.get(folder).is_some_and(|table| table.contains_key("workspace")))
        };
        let mut open = members(manifests, workspace, root);
        open.insert(root);
        // What members use by path and lies below is a member too.
        while let Some(folder) = open.pop_first() {
            if !may(folder) || owners.contains_key(folder) {
                continue;
            }
            owners.insert(folder, *root);
            for next in used(&manifests[folder], folder, Some(workspace), root) {
                let known = manifests.get_key_value(next.as_str()).map(|(folder, _)| *folder);
                open.extend(known.filter(|next| is_below(next, root)));
            }
        }
    }
    owners
}

fn members<'a>(manifests: &Manifests<'a>, workspace: &Value, root: &str) -> BTreeSet<&'a str> {
    let patterns = texts(workspace.get("members")).map(|member| {
        let member = member.trim_start_matches("./").trim_end_matches('/');
        let plain = !member.contains(['*', '?', '[', '{']);
        plain
            .then(|| joined(root, member))
            .flatten()
            .map_or_else(|| beneath(&literal(root), member), |path| literal(&path))
    });
    let patterns: Vec<String> = patterns.collect();
    let Ok(index) = Index::new(&patterns) else { return manifests.keys().copied().collect() };
    let mut found = Vec::new();
    let mut is_member = |folder: &str| {
        index.matching(folder.as_bytes(), &mut found);
        !found.is_empty()
    };
    manifests.keys().copied().filter(|folder| is_member(folder)).collect()
}

/// Folders of the packages that a manifest uses by path.
fn used(table: &Table, folder: &str, workspace: Option<&Value>, root: &str) -> Vec<String> {
    let targets = table.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let tables = targets.filter_map(Value::as_table).chain([table]);
    let lists = tables.flat_map(|table| LISTS.iter().filter_map(|list| table.get(*list)?.as_table()));
    let shared = workspace.and_then(|workspace| workspace.get("dependencies"));
    let path = |value: &Value| value.get("path").and_then(Value::as_str).map(String::from);
    let found = lists.flatten().filter_map(|(name, value)| {
        let inherited = value.get("workspace").and_then(Value::as_bool) == Some(true);
        if inherited { joined(root, &path(shared?.get(name)?)?) } else { joined(folder, &path(value)?) }
    });
    found.filter(|used| used != folder).collect()
}

/// Folders that stand in for packages of the whole workspace.
fn patched(table: &Table, root: &str) -> Vec<String> {
    let sources = table.get("patch").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let packages = sources.filter_map(Value::as_table).flat_map(Table::values);
    packages.filter_map(|package| joined(root, package.get("path")?.as_str()?)).collect()
}

fn texts(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_be_an_option() {
        assert!(is_name("a-b_c1"));
        for bad in ["", "-x", "a b", "$(x)", "a;b", "../x"] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
