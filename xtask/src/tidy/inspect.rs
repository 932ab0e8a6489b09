//! Walks the crates, shows each file to the rules, prints what they found.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::invariants::{self, Source};
use super::{imports, words};
use crate::workspace;

/// One crossing of a boundary, shown the way editors and CI logs can jump to.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    pub path: String,
    pub line: usize,
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Prints every crossing; the number is the exit code.
pub fn run() -> Result<u8> {
    let findings = inspect(&workspace::root()?)?;
    for finding in &findings {
        println!("{finding}");
    }
    Ok(u8::from(!findings.is_empty()))
}

fn inspect(root: &Path) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for folder in entries(&root.join("crates"))? {
        let manifest = folder.join("Cargo.toml");
        if manifest.is_file() {
            findings.extend(imports::check(&shown(root, &manifest), &read(&manifest)?));
        }
    }
    let mut sources = Vec::new();
    for file in rust_files(&root.join("crates"))? {
        let source = Source { path: shown(root, &file), text: read(&file)? };
        findings.extend(words::check(&source.path, &source.text));
        sources.push(source);
    }
    let invariants = root.join("docs/invariants.md");
    findings.extend(invariants::check(&shown(root, &invariants), &read(&invariants)?, &sources));
    Ok(findings)
}

/// Every Rust file below a folder, in a stable order.
fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in entries(folder)? {
        if entry.is_dir() {
            files.extend(rust_files(&entry)?);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            files.push(entry);
        }
    }
    Ok(files)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let listing = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut paths = Vec::new();
    for entry in listing {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_sees_its_files() {
        let root = std::env::temp_dir().join(format!("deltaci-tidy-{}", std::process::id()));
        let deep = root.join("crates/machines/src/deep");
        fs::create_dir_all(&deep).unwrap();
        fs::write(root.join("crates/machines/Cargo.toml"), "[dependencies]\nserde = \"1\"\n").unwrap();
        fs::write(deep.join("wait.rs"), "fn f() {}\nasync fn g() {}\n").unwrap();
        fs::write(deep.join("notes.txt"), "async fn\n").unwrap();
        fs::create_dir_all(root.join("docs")).unwrap();
        fs::write(root.join("docs/invariants.md"), "`machines::deep::wait::f`\n").unwrap();

        let findings = inspect(&root).unwrap();
        fs::remove_dir_all(&root).unwrap();

        let places: Vec<_> = findings.iter().map(|found| (found.path.as_str(), found.line)).collect();
        let expected = [
            ("crates/machines/Cargo.toml", 2),
            ("crates/machines/src/deep/wait.rs", 2),
            ("docs/invariants.md", 1),
        ];
        assert_eq!(places, expected);
        assert!(findings[0].to_string().starts_with("crates/machines/Cargo.toml:2: "));
    }
}
