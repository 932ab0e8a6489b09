//! The files as discovery sees them: which manifests there are, and their text.

use crate::plan::path_text;
use crate::tree::{Kind, Tree};

/// A manifest that is larger is not read.
const BYTES_MAX: usize = 1024 * 1024;
/// The most manifests of one kind that are read.
const MANIFESTS_MAX: usize = 5_000;
/// Folders of what others wrote, of what was built, and of what tests play with.
const FOREIGN: [&str; 10] = [
    "node_modules",
    "vendor",
    "third_party",
    "target",
    "dist",
    ".git",
    ".venv",
    "fixtures",
    "__fixtures__",
    "testdata",
];

pub struct Repository<'a> {
    tree: &'a Tree,
    read: &'a dyn Fn(&[u8]) -> Option<Vec<u8>>,
    /// Plain files whose paths are text, outside of foreign folders.
    paths: Vec<&'a str>,
}

/// What a manifest's folder and text are.
pub struct Manifest<'a> {
    pub path: &'a str,
    pub folder: &'a str,
    /// `None` if it could not be read.
    pub text: Option<String>,
}

impl<'a> Repository<'a> {
    pub fn new(tree: &'a Tree, read: &'a dyn Fn(&[u8]) -> Option<Vec<u8>>) -> Repository<'a> {
        let files = tree.files().iter().filter(|file| matches!(file.kind, Kind::Plain | Kind::Executable));
        let texts = files.filter_map(|file| std::str::from_utf8(&file.path).ok());
        let ours = |path: &&str| {
            !path.chars().any(char::is_control)
                && !folder_of(path).split('/').any(|folder| FOREIGN.contains(&folder))
        };
        Repository { tree, read, paths: texts.filter(ours).collect() }
    }

    pub fn has(&self, path: &str) -> bool {
        self.tree.get(path.as_bytes()).is_some()
    }

    /// Paths below a folder.
    pub fn below(&self, folder: &str) -> impl Iterator<Item = &'a str> + use<'_, 'a> {
        let start = self.paths.partition_point(|path| *path < folder);
        let folder = folder.to_owned();
        let from = if folder.is_empty() { 0 } else { start };
        self.paths[from..]
            .iter()
            .copied()
            .take_while({
                let folder = folder.clone();
                move |path| path.starts_with(&folder)
            })
            .filter(move |path| is_below(path, &folder))
    }

    /// The manifests whose file name is wanted, by path; with a note when there are too many.
    pub fn manifests(&self, notes: &mut Vec<String>, wanted: impl Fn(&str) -> bool) -> Vec<Manifest<'a>> {
        let mut found: Vec<&str> = self.paths.iter().copied().filter(|path| wanted(name_of(path))).collect();
        if found.len() > MANIFESTS_MAX {
            notes.push(format!(
                "more than {MANIFESTS_MAX} files like {} were found; the rest is left out",
                found[0]
            ));
            found.truncate(MANIFESTS_MAX);
        }
        found
            .into_iter()
            .map(|path| Manifest { path, folder: folder_of(path), text: self.text(path) })
            .collect()
    }

    /// A file's text, if it is there, is not too large and is text.
    pub fn text(&self, path: &str) -> Option<String> {
        self.tree.get(path.as_bytes())?;
        let bytes = (self.read)(path.as_bytes()).filter(|bytes| bytes.len() <= BYTES_MAX)?;
        let text = String::from_utf8(bytes).ok()?;
        Some(text.strip_prefix('\u{feff}').map(String::from).unwrap_or(text))
    }
}

/// What a note calls a manifest that could not be used.
pub fn unreadable(path: &str) -> String {
    format!("{} could not be understood: jobs like its own depend on all files", path_text(path.as_bytes()))
}

pub fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

pub fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// A path below a folder, or below the root.
pub fn beneath(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.into() } else { format!("{folder}/{name}") }
}

pub fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The folders around a path, the nearest first; the root, which has no name, is the last.
pub fn around(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| (!path.is_empty()).then(|| folder_of(path))).skip(1)
}

/// Where a relative path leads from a folder; `None` if that is out of the repository.
pub fn joined(folder: &str, relative: &str) -> Option<String> {
    let relative = relative.replace('\\', "/");
    if relative.starts_with('/') || relative.chars().nth(1) == Some(':') {
        return None;
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_stays_in_the_repository() {
        for (folder, relative, expected) in [
            ("a/b", "../c", Some("a/c")),
            ("a", "..\\Lib\\Lib.csproj", Some("Lib/Lib.csproj")),
            ("", "./x/", Some("x")),
            ("a", "..", Some("")),
            ("a", "../..", None),
            ("a", "/etc", None),
            ("a", "C:\\x", None),
        ] {
            assert_eq!(joined(folder, relative).as_deref(), expected, "{folder} {relative}");
        }
        assert_eq!(around("a/b/c").collect::<Vec<_>>(), ["a/b", "a", ""]);
        assert_eq!(around("").count(), 0);
    }
}
