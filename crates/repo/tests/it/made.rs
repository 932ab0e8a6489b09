//! Repositories and folders that a test makes, and how it looks at what came out.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pipeline::facts::Difference;
use pipeline::tree::{Kind, Tree};
use repo::{Folder, Listing};
use tempfile::TempDir;

/// A folder that is gone with the test.
pub struct Made {
    _place: TempDir,
    pub path: PathBuf,
}

impl Made {
    /// Just a folder.
    pub fn folder() -> Made {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().canonicalize().expect("it is there");
        Made { _place: place, path }
    }

    /// A repository without a commit.
    pub fn repository() -> Made {
        let made = Made::folder();
        made.git(&["init", "--quiet", "--initial-branch=main"]);
        made
    }

    /// A repository whose first commit holds these files, each with its path as content.
    pub fn with(paths: &[&str]) -> Made {
        let made = Made::repository();
        for path in paths {
            made.write(path, path);
        }
        made.commit("first");
        made
    }

    pub fn at(&self, path: impl AsRef<OsStr>) -> PathBuf {
        self.path.join(Path::new(path.as_ref()))
    }

    pub fn write(&self, path: impl AsRef<OsStr>, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, content).expect("a file");
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.at(path)).expect("it was there");
    }

    pub fn link(&self, path: &str, target: &str) {
        let _ = fs::remove_file(self.at(path));
        symlink(target, self.at(path)).expect("a link");
    }

    pub fn mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(mode)).expect("it is ours");
    }

    pub fn git(&self, words: &[&str]) -> String {
        git(&self.path, words)
    }

    /// Git with something to read.
    pub fn git_with(&self, words: &[&str], input: &[u8]) -> String {
        let mut command = command(&self.path, words);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("git runs");
        child.stdin.take().expect("piped").write_all(input).expect("it reads");
        let output = child.wait_with_output().expect("git ends");
        assert!(output.status.success(), "git {words:?}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub fn address(&self) -> String {
        format!("file://{}", self.path.display())
    }

    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.head()
    }

    pub fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    pub fn open(&self) -> Folder {
        Folder::open(&self.path).expect("a folder that can be read")
    }

    pub fn listing(&self) -> Listing {
        self.open().listing().expect("a folder that can be listed")
    }

    pub fn paths(&self) -> Vec<String> {
        paths(&self.listing().tree)
    }

    /// Changed paths since a base, or why there are none.
    pub fn since(&self, base: &str) -> Result<Vec<String>, String> {
        let folder = self.open();
        let listing = folder.listing().expect("a folder that can be listed");
        told(folder.difference(&listing, base))
    }

    /// What git itself would commit of this folder, as `mode id path`.
    pub fn as_git_would(&self) -> Vec<String> {
        let index = tempfile::tempdir().expect("a folder");
        let git = |words: &[&str]| {
            let mut command = command(&self.path, words);
            let output =
                command.env("GIT_INDEX_FILE", index.path().join("index")).output().expect("git runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            output.stdout
        };
        git(&["add", "--all", "."]);
        let list = git(&["ls-files", "--stage", "-z"]);
        let lines = list.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        lines.map(|line| line.escape_ascii().to_string().replace(" 0\\t", " ")).collect()
    }
}

pub fn git(folder: &Path, words: &[&str]) -> String {
    let output = command(folder, words).output().expect("git runs");
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.args(["-c", "protocol.file.allow=always", "-c", "commit.gpgSign=false"]).args(words);
    command.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Ada").env(format!("GIT_{who}_EMAIL"), "ada@example.org");
    }
    command
}

pub fn told(difference: Difference) -> Result<Vec<String>, String> {
    match difference {
        Difference::Since { changed, .. } => Ok(changed.iter().map(|path| shown(path)).collect()),
        Difference::Unknown { why } => Err(why),
        Difference::NotAsked => Err("not asked".into()),
    }
}

pub fn paths(tree: &Tree) -> Vec<String> {
    tree.files().iter().map(|file| shown(&file.path)).collect()
}

pub fn shown(path: &[u8]) -> String {
    path.escape_ascii().to_string()
}

/// A tree in the words of `git ls-files --stage`.
pub fn lines(tree: &Tree) -> Vec<String> {
    let line = |file: &pipeline::tree::File| {
        let mode = match file.kind {
            Kind::Plain => "100644",
            Kind::Executable => "100755",
            Kind::Link => "120000",
            Kind::Submodule => "160000",
        };
        let id: String = file.content.0[..20].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{mode} {id} {}", shown(&file.path))
    };
    tree.files().iter().map(line).collect()
}

/// A name that is not UTF-8.
pub fn odd_name() -> &'static OsStr {
    OsStr::from_bytes(b"caf\xe9")
}
