//! `cargo xtask golden`: files made from code and kept in the repository, so that a review sees them change.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};

use crate::workspace;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Write,
    Compare,
}

/// A generated file: where it lives below the root, and what it must hold.
struct Golden {
    path: &'static str,
    content: fn() -> String,
}

/// A new generated file is one more line here.
const FILES: &[Golden] = &[Golden { path: "docs/machines.md", content: machines::describe::document }];

/// Brings the files up to date, or says which are not; the number is the exit code.
pub fn run(mode: Mode) -> Result<u8> {
    let changed = bring_up_to_date(&workspace::root()?, FILES, mode)?;
    for path in &changed {
        match mode {
            Mode::Write => println!("wrote {path}"),
            Mode::Compare => println!("{path}: out of date; run `cargo xtask golden` and commit the result"),
        }
    }
    Ok(match mode {
        Mode::Write => 0,
        Mode::Compare => u8::from(!changed.is_empty()),
    })
}

/// The files that differ from what the code says, rewritten if the mode says so.
fn bring_up_to_date(root: &Path, files: &[Golden], mode: Mode) -> Result<Vec<&'static str>> {
    let mut changed = Vec::new();
    for file in files {
        let place = root.join(file.path);
        let content = (file.content)();
        if on_disk(&place)?.as_deref() == Some(content.as_bytes()) {
            continue;
        }
        if mode == Mode::Write {
            write(&place, &content)?;
        }
        changed.push(file.path);
    }
    Ok(changed)
}

/// What the file holds; a file that is not there yet holds nothing, which is no error.
fn on_disk(place: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(place) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", place.display())),
    }
}

fn write(place: &Path, content: &str) -> Result<()> {
    let folder = place.parent().context("a golden file lives in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    fs::write(place, content).with_context(|| format!("cannot write {}", place.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POEM: &[Golden] = &[Golden { path: "docs/poem.md", content: || "rose\n".into() }];

    #[test]
    fn a_file_is_reported_until_it_is_written_and_again_when_it_changes() {
        let root = std::env::temp_dir().join(format!("deltaci-golden-{}", std::process::id()));
        let round = |mode| bring_up_to_date(&root, POEM, mode).unwrap();

        assert_eq!(round(Mode::Compare), ["docs/poem.md"], "missing");
        assert_eq!(round(Mode::Write), ["docs/poem.md"]);
        assert!(round(Mode::Compare).is_empty(), "just written");
        fs::write(root.join("docs/poem.md"), "rose\nis").unwrap();
        assert_eq!(round(Mode::Compare), ["docs/poem.md"], "edited by hand");
        assert_eq!(
            fs::read_to_string(root.join("docs/poem.md")).unwrap(),
            "rose\nis",
            "comparing writes nothing"
        );

        fs::remove_dir_all(&root).unwrap();
    }
}
