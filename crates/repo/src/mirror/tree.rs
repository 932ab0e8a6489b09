//! The files of a commit.

use std::io::{BufRead, Read};

use pipeline::tree::{File, Tree};

use crate::Error;
use crate::folder::{FILES_MAX, kind_of_mode};
use crate::hash;
use crate::paths;

/// Longer than any line about one file.
const RECORD_BYTES_MAX: u64 = 64 * 1024;

/// Git's answer to `ls-tree -r -z`: refused as a whole if one of its paths must not be created.
pub fn read(answer: &mut dyn BufRead) -> Result<Tree, Error> {
    let mut files = Vec::new();
    let mut record = Vec::new();
    loop {
        record.clear();
        let read = answer.take(RECORD_BYTES_MAX).read_until(0, &mut record);
        read.map_err(|source| Error::Io { what: "read the answer of", path: "git ls-tree".into(), source })?;
        match record.pop() {
            None => break,
            Some(0) => {}
            Some(_) => return Err(Error::Answer { what: "which files the commit has" }),
        }
        let file = parse(&record).ok_or(Error::Answer { what: "which files the commit has" })?;
        paths::check(&file.path)?;
        files.push(file);
        if files.len() > FILES_MAX {
            let hint = "split the repository";
            return Err(Error::TooManyFiles { place: "the commit".into(), files_max: FILES_MAX, hint });
        }
    }
    let count = files.len();
    let tree = Tree::new(files);
    if tree.files().len() < count {
        let why = "another file has the same path";
        return Err(Error::Path { path: "of a file that comes twice".into(), why });
    }
    check_folders(&tree)?;
    Ok(tree)
}

/// `100644 blob 61780798228d17af2d34fce4cfbdf35556832472\tb`.
fn parse(record: &[u8]) -> Option<File> {
    let tab = record.iter().position(|letter| *letter == b'\t')?;
    let mut facts = record[..tab].split(|letter| *letter == b' ');
    let (mode, _type, content) = (facts.next()?, facts.next()?, facts.next()?);
    let content = hash::parse(content)?;
    Some(File { path: record[tab + 1..].into(), kind: kind_of_mode(mode)?, content })
}

/// What is a file, or a link, cannot be a folder too.
fn check_folders(tree: &Tree) -> Result<(), Error> {
    let mut last: &[u8] = b"";
    for File { path, .. } in tree.files() {
        let folder = path.iter().rposition(|letter| *letter == b'/').map_or(&b""[..], |slash| &path[..slash]);
        if folder == last {
            continue;
        }
        last = folder;
        let ends = folder.iter().enumerate().filter(|(_, letter)| **letter == b'/').map(|(place, _)| place);
        if ends.chain([folder.len()]).any(|end| tree.get(&folder[..end]).is_some()) {
            let path = path.escape_ascii().to_string();
            return Err(Error::Path { path, why: "a folder on its way is also a file" });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(path: &str) -> Vec<u8> {
        format!("100644 blob 61780798228d17af2d34fce4cfbdf35556832472\t{path}\0").into_bytes()
    }

    fn tree(paths: &[&str]) -> Result<Tree, Error> {
        let text: Vec<u8> = paths.iter().flat_map(|path| line(path)).collect();
        read(&mut &text[..])
    }

    #[test]
    fn a_tree_with_a_path_that_leads_elsewhere_is_refused_as_a_whole() {
        assert_eq!(tree(&["a", "a\nb", "b/c"]).expect("good paths").files().len(), 3);
        for path in ["../a", "/a", "b/../../c", ".git/config", "b/.Git/hooks/x", "a//b"] {
            let refused = tree(&["good", path]).expect_err(path);
            assert_eq!(refused.code(), "path_unsafe", "{refused}");
        }
    }

    #[test]
    fn a_tree_in_which_a_file_is_also_a_folder_is_refused() {
        for paths in [&["a", "a-b", "a/b"][..], &["a/b", "a/b.c", "a/b/c/d"], &["a", "a"]] {
            assert_eq!(tree(paths).expect_err("a file and a folder").code(), "path_unsafe", "{paths:?}");
        }
    }

    #[test]
    fn an_answer_that_breaks_off_is_an_error() {
        let text = line("a");
        assert!(read(&mut &text[..text.len() - 1]).is_err());
        assert!(read(&mut &b"nonsense\0"[..]).is_err());
    }
}
