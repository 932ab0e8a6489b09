//! Workspaces of npm, Yarn and pnpm: which packages belong together, and the program that installs them.

use serde_json::{Map, Value};

use super::repository::{Repository, beneath, joined};
use crate::globs::{Index, literal};

/// The program that installs packages, as the lock file or its settings say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    Npm,
    Pnpm,
    Yarn,
}

/// In the order they are looked for.
const LOCKS: [(&str, Manager); 4] = [
    ("pnpm-lock.yaml", Manager::Pnpm),
    ("yarn.lock", Manager::Yarn),
    ("package-lock.json", Manager::Npm),
    ("npm-shrinkwrap.json", Manager::Npm),
];

impl Manager {
    /// The program and its lock file, if it has one.
    pub fn of(repository: &Repository, root: &str) -> (Manager, Option<&'static str>) {
        let lock = LOCKS.iter().find(|(name, _)| repository.has(&beneath(root, name)));
        match lock {
            Some((name, manager)) => (*manager, Some(name)),
            None if repository.has(&beneath(root, "pnpm-workspace.yaml")) => (Manager::Pnpm, None),
            None => (Manager::Npm, None),
        }
    }

    pub fn install(self, locked: bool) -> &'static str {
        match (self, locked) {
            (Manager::Npm, true) => "npm ci",
            (Manager::Npm, false) => "npm install --no-audit --no-fund",
            (Manager::Pnpm, true) => "pnpm install --frozen-lockfile",
            (Manager::Pnpm, false) => "pnpm install",
            (Manager::Yarn, true) => "yarn install --frozen-lockfile",
            (Manager::Yarn, false) => "yarn install",
        }
    }

    /// Runs a script of the package in a folder, which is quoted already; none: of the root.
    pub fn script(self, script: &str, folder: Option<&str>) -> String {
        match (self, folder) {
            (Manager::Npm, None) => format!("npm run {script}"),
            (Manager::Npm, Some(folder)) => format!("npm run {script} --workspace {folder}"),
            (Manager::Pnpm, None) => format!("pnpm run {script}"),
            (Manager::Pnpm, Some(folder)) => format!("pnpm --dir {folder} run {script}"),
            (Manager::Yarn, None) => format!("yarn run {script}"),
            (Manager::Yarn, Some(folder)) => format!("yarn --cwd {folder} run {script}"),
        }
    }
}

/// The folders that a workspace's patterns mean.
pub struct Members {
    wanted: Index,
    unwanted: Index,
}

impl Members {
    /// `None` if the package is no workspace; an error if its patterns cannot be understood.
    pub fn of(
        repository: &Repository,
        root: &str,
        package: &Map<String, Value>,
    ) -> Option<Result<Members, ()>> {
        let entries = match repository.text(&beneath(root, "pnpm-workspace.yaml")) {
            Some(text) => packages_of_yaml(&text),
            None => match package.get("workspaces")? {
                Value::Array(entries) => texts(entries),
                Value::Object(fields) => {
                    fields.get("packages").and_then(Value::as_array).and_then(|list| texts(list))
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
            },
        };
        Some(entries.ok_or(()).and_then(|entries| Members::new(root, &entries)))
    }

    fn new(root: &str, entries: &[String]) -> Result<Members, ()> {
        let (mut wanted, mut unwanted) = (Vec::new(), Vec::new());
        for entry in entries {
            let (list, text) = match entry.strip_prefix('!') {
                Some(text) => (&mut unwanted, text),
                None => (&mut wanted, entry.as_str()),
            };
            let text = text.trim_start_matches("./").trim_end_matches('/');
            let special = text.contains(['*', '?', '[', '{']);
            let path = if special { None } else { joined(root, text) };
            list.push(path.map_or_else(|| beneath(&literal(root), text), |path| literal(&path)));
        }
        let index = |list: &[String]| Index::new(list).map_err(drop);
        Ok(Members { wanted: index(&wanted)?, unwanted: index(&unwanted)? })
    }

    pub fn contains(&self, folder: &str) -> bool {
        let mut found = Vec::new();
        self.unwanted.matching(folder.as_bytes(), &mut found);
        if !found.is_empty() {
            return false;
        }
        self.wanted.matching(folder.as_bytes(), &mut found);
        !found.is_empty()
    }
}

fn texts(list: &[Value]) -> Option<Vec<String>> {
    list.iter().map(|entry| entry.as_str().map(String::from)).collect()
}

/// The entries below `packages:`, as they are usually written: a list with a dash on each line, or one in brackets.
fn packages_of_yaml(text: &str) -> Option<Vec<String>> {
    let mut lines = text.lines().map(without_comment).filter(|line| !line.trim().is_empty());
    let Some(first) = lines.by_ref().find(|line| line.starts_with("packages:")) else {
        return Some(Vec::new());
    };
    let rest = first["packages:".len()..].trim();
    if !rest.is_empty() {
        let inside = rest.strip_prefix('[')?.strip_suffix(']')?;
        return Some(inside.split(',').map(unquoted).filter(|entry| !entry.is_empty()).collect());
    }
    let entries = lines.take_while(|line| line.starts_with([' ', '-']));
    entries.map(|line| line.trim_start().strip_prefix('-').map(unquoted)).collect()
}

fn without_comment(line: &str) -> &str {
    let line = if line.starts_with('#') { "" } else { line };
    line.split_once(" #").map_or(line, |(before, _)| before)
}

fn unquoted(text: &str) -> String {
    text.trim().trim_matches(['"', '\'']).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_of_a_pnpm_workspace_are_read_in_both_spellings() {
        let list =
            "# all\npackages:\n  - 'apps/*' # all apps\n  - \"!apps/old\"\n- libs/x\n\ncatalog:\n  - no\n";
        assert_eq!(packages_of_yaml(list), Some(vec!["apps/*".into(), "!apps/old".into(), "libs/x".into()]));
        assert_eq!(packages_of_yaml("packages: [a, 'b/*']"), Some(vec!["a".into(), "b/*".into()]));
        assert_eq!(packages_of_yaml("catalog: {}"), Some(Vec::new()));
        assert_eq!(packages_of_yaml("packages: &anchor\n"), None);
        assert_eq!(packages_of_yaml("packages:\n  a: b\n"), None);
    }
}
