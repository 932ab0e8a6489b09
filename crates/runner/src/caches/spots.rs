//! Where a cache's files are: below the workspace, or below the job's home.

use std::path::{Component, Path, PathBuf};

/// One path of a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    pub ground: Ground,
    /// Below it, with at least one name, and no `.` or `..`.
    pub path: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    Workspace,
    Home,
}

impl Ground {
    pub const ALL: [Ground; 2] = [Ground::Workspace, Ground::Home];

    /// The first part of every path in an archive.
    pub fn name(self) -> &'static str {
        match self {
            Ground::Workspace => "workspace",
            Ground::Home => "home",
        }
    }
}

impl Spot {
    /// `target`, or `~/.cargo/registry`. What is wrong with it is said for the job's log.
    pub fn parse(text: &str) -> Result<Spot, String> {
        let (ground, rest) = match text.strip_prefix("~/") {
            Some(rest) => (Ground::Home, rest),
            None => (Ground::Workspace, text),
        };
        let mut path = PathBuf::new();
        for part in Path::new(rest).components() {
            match part {
                Component::Normal(name) => path.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(
                        "a path is relative to the workspace, or begins with `~/`, and has no `..`".into()
                    );
                }
            }
        }
        if path.as_os_str().is_empty() || text == "~" {
            return Err("name a folder or a file below it, not all of it".into());
        }
        if ground == Ground::Workspace && path.starts_with(".git") {
            return Err("what git keeps for itself is no cache".into());
        }
        Ok(Spot { ground, path })
    }
}

/// The folders themselves.
#[derive(Debug, Clone)]
pub struct Grounds {
    pub workspace: PathBuf,
    /// `None` when the job's home cannot be reached from here.
    pub home: Option<PathBuf>,
}

impl Grounds {
    pub fn folder(&self, ground: Ground) -> Option<&Path> {
        match ground {
            Ground::Workspace => Some(&self.workspace),
            Ground::Home => self.home.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_below_the_workspace_or_the_home() {
        let spot = |ground, path: &str| Ok(Spot { ground, path: path.into() });
        assert_eq!(Spot::parse("target"), spot(Ground::Workspace, "target"));
        assert_eq!(Spot::parse("./a/./b/"), spot(Ground::Workspace, "a/b"));
        assert_eq!(Spot::parse("~/.cargo/registry"), spot(Ground::Home, ".cargo/registry"));
        assert_eq!(Spot::parse("a~/b"), spot(Ground::Workspace, "a~/b"));
        for bad in ["", ".", "/", "/etc", "..", "a/../b", "~", "~/", "~/..", ".git", ".git/hooks"] {
            assert!(Spot::parse(bad).is_err(), "{bad}");
        }
    }
}
