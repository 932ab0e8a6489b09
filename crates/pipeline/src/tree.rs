//! The files of one state of a repository: a commit's, or a working folder's.

/// Sorted by path, each path once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    files: Vec<File>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct File {
    /// Relative to the root, parts separated by `/`. Git allows any bytes but NUL.
    pub path: Box<[u8]>,
    pub kind: Kind,
    pub content: ContentId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Plain,
    Executable,
    /// The content is where it leads.
    Link,
    /// The content is another repository's commit.
    Submodule,
}

/// Tells contents apart: git's object id, followed by zeros where that is shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContentId(pub [u8; 32]);

impl Tree {
    /// Of the same path twice, the last counts.
    pub fn new(mut files: Vec<File>) -> Tree {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.reverse();
        files.dedup_by(|a, b| a.path == b.path);
        files.reverse();
        Tree { files }
    }

    pub fn files(&self) -> &[File] {
        &self.files
    }

    pub fn get(&self, path: &[u8]) -> Option<&File> {
        let place = self.files.binary_search_by(|file| file.path.as_ref().cmp(path)).ok()?;
        self.files.get(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_there_once_and_found() {
        let file =
            |path: &[u8], id| File { path: path.into(), kind: Kind::Plain, content: ContentId([id; 32]) };
        let tree = Tree::new(vec![file(b"b", 1), file(b"a", 2), file(b"b", 3)]);
        let seen: Vec<_> = tree.files().iter().map(|file| (file.path.as_ref(), file.content.0[0])).collect();
        assert_eq!(seen, [(b"a".as_slice(), 2), (b"b", 3)]);
        assert_eq!(tree.get(b"b").map(|file| file.content.0[0]), Some(3));
        assert!(tree.get(b"c").is_none());
    }
}
