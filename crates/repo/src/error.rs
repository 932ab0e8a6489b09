//! What can go wrong when a repository is read. Every message says what to do next; the codes are stable.

use std::io;
use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("git is not on the PATH; install it, it is needed to read repositories")]
    NoGit,
    /// Git said no.
    #[error("{what}: {said}")]
    Git { what: String, said: String },
    #[error("{what} took longer than {seconds} seconds and was stopped")]
    TooSlow { what: String, seconds: u64 },
    #[error("{what} gave more than {bytes_max} bytes and was stopped")]
    TooMuch { what: String, bytes_max: usize },
    /// Not a name that may be handed to git.
    #[error("`{name}` names no {what}: {why}")]
    Name { what: &'static str, name: String, why: &'static str },
    #[error("`{address}` is no repository that may be read here: {why}")]
    Address { address: String, why: &'static str },
    /// A folder that has no files to plan with.
    #[error("{folder}: {why}")]
    Folder { folder: String, why: &'static str },
    #[error("there are more than {files_max} files in {place}; {hint}")]
    TooManyFiles { place: String, files_max: usize, hint: &'static str },
    /// A path that must not be created on any machine.
    #[error("the file `{path}` cannot be created safely: {why}; rename or remove it")]
    Path { path: String, why: &'static str },
    #[error("`{path}` is not a file that can be read: {why}")]
    Unreadable { path: String, why: String },
    #[error("cannot {what} {path}")]
    Io { what: &'static str, path: String, source: io::Error },
    /// Git answered in a way that we do not understand.
    #[error("git's answer to {what} was not understood; is its version older than 2.36?")]
    Answer { what: &'static str },
}

impl Error {
    pub fn code(&self) -> &'static str {
        match self {
            Error::NoGit => "git_missing",
            Error::Git { .. } => "git_failed",
            Error::TooSlow { .. } => "git_too_slow",
            Error::TooMuch { .. } => "git_too_much",
            Error::Name { .. } => "name_refused",
            Error::Address { .. } => "address_refused",
            Error::Folder { .. } => "folder_unusable",
            Error::TooManyFiles { .. } => "too_many_files",
            Error::Path { .. } => "path_unsafe",
            Error::Unreadable { .. } => "file_unreadable",
            Error::Io { .. } => "io_failed",
            Error::Answer { .. } => "git_answer",
        }
    }

    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.display().to_string();
        move |source| Error::Io { what, path, source }
    }

    pub(crate) fn at(what: &'static str, path: &[u8]) -> impl FnOnce(rustix::io::Errno) -> Error {
        let path = path.escape_ascii().to_string();
        move |errno| Error::Io { what, path, source: errno.into() }
    }

    /// The message with what caused it, for where nobody follows the chain.
    pub fn in_full(&self) -> String {
        match std::error::Error::source(self) {
            Some(source) => format!("{self}: {source}"),
            None => self.to_string(),
        }
    }
}
