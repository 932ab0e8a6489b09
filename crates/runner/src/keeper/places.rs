//! The folders of a job: its workspace, where in it the steps begin, and a fresh home and temporary folder.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use super::Problem;
use super::order::Order;

#[derive(Debug, Clone)]
pub struct Places {
    pub workspace: PathBuf,
    /// Inside the workspace.
    pub workdir: PathBuf,
    pub home: PathBuf,
    pub temporary: PathBuf,
    scratch: PathBuf,
}

impl Places {
    /// Makes what must exist before the checkout.
    pub fn make(order: &Order) -> Result<Places, Problem> {
        let workspace = fs::canonicalize(&order.workspace).map_err(|error| {
            Problem::during(format!("the workspace {}", order.workspace.display()), error)
        })?;
        private_folder(&order.scratch)?;
        let scratch = fs::canonicalize(&order.scratch)
            .map_err(|error| Problem::during(format!("the folder {}", order.scratch.display()), error))?;
        let places = Places {
            workdir: workspace.clone(),
            home: scratch.join("home"),
            temporary: scratch.join("tmp"),
            workspace,
            scratch,
        };
        private_folder(&places.home)?;
        private_folder(&places.temporary)?;
        Ok(places)
    }

    /// Where the steps begin; called after the checkout, which may have made it or a link in its place.
    pub fn enter(&mut self, workdir: &str) -> Result<(), Problem> {
        let inside = Path::new(workdir).components().all(|part| match part {
            Component::Normal(_) | Component::CurDir => true,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => false,
        });
        let outside = || {
            Problem::new(format!(
                "the workdir `{workdir}` leaves the workspace; name a folder inside it, relative to its root"
            ))
        };
        if !inside {
            return Err(outside());
        }
        let found = fs::canonicalize(self.workspace.join(workdir)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Problem::new(format!(
                "the workdir `{workdir}` is not in the workspace; see what was checked out"
            )),
            _ => Problem::during(format!("the workdir `{workdir}`"), error),
        })?;
        if !found.starts_with(&self.workspace) {
            return Err(outside());
        }
        if !found.is_dir() {
            return Err(Problem::new(format!("the workdir `{workdir}` is not a folder")));
        }
        self.workdir = found;
        Ok(())
    }

    /// The path of the workdir when the workspace is mounted somewhere else.
    pub fn workdir_under(&self, mount: &str) -> String {
        match self.workdir.strip_prefix(&self.workspace) {
            Ok(inner) if inner.as_os_str().is_empty() => mount.to_owned(),
            Ok(inner) => format!("{mount}/{}", inner.display()),
            Err(_) => mount.to_owned(),
        }
    }

    /// A file of ours that the job does not see, made anew.
    pub fn private_file(&self, name: &str, content: &[u8]) -> io::Result<PathBuf> {
        let path = self.scratch.join(name);
        fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?.write_all(content)?;
        Ok(path)
    }

    /// Home and temporary folder go with the job; the workspace is the agent's.
    pub fn remove_scratch(&self) {
        // What cannot be removed (files of another user) is left to whoever cleans the data folder.
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

/// Of no concern to other users of the machine.
fn private_folder(folder: &Path) -> Result<(), Problem> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| Problem::during(format!("cannot make the folder {}", folder.display()), error))
}
