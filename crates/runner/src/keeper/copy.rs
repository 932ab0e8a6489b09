//! Fills the workspace from a folder of this machine, as a runner's operator may want it.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use pipeline::tree::{ContentId, File, Kind, Tree};

use super::order::CopyOf;
use super::{Places, Problem};

/// Beside the keeper's one thread, which goes on to hear what the agent says.
pub async fn run(copy: &CopyOf, places: &Places) -> Result<(), Problem> {
    let (copy, workspace) = (copy.clone(), places.workspace.clone());
    let failed = |error: String| Problem::during("cannot copy the files for the job", error);
    match tokio::task::spawn_blocking(move || copy_listed(&copy, &workspace)).await {
        Ok(copied) => copied.map_err(failed),
        Err(error) => Err(failed(error.to_string())),
    }
}

fn copy_listed(copy: &CopyOf, to: &Path) -> Result<(), String> {
    let list = fs::read(&copy.list).map_err(|error| format!("{}: {error}", copy.list.display()))?;
    let tree = listed(&list).map_err(|error| error.to_string())?;
    if repo::leftovers::clear(to, &tree).is_err() {
        make_anew(to).map_err(|error| format!("{}: {error}", to.display()))?;
    }
    repo::copy::copy(&copy.folder, &tree, to).map_err(|error| error.in_full())
}

/// An earlier job left what cannot be removed. It stays beside the workspace until somebody can.
fn make_anew(workspace: &Path) -> io::Result<()> {
    fs::rename(workspace, workspace.with_extension("spoilt"))?;
    fs::DirBuilder::new().mode(0o700).create(workspace)
}

/// Contents do not matter for a copy.
fn listed(list: &[u8]) -> io::Result<Tree> {
    let entries = list.split(|byte| *byte == 0).filter_map(<[u8]>::split_first);
    let file = |(kind, path): (&u8, &[u8])| {
        let kind = match kind {
            b'f' => Kind::Plain,
            b'x' => Kind::Executable,
            b'l' => Kind::Link,
            b'm' => Kind::Submodule,
            other => {
                return Err(io::Error::other(format!(
                    "no kind of file is called `{}`",
                    other.escape_ascii()
                )));
            }
        };
        Ok(File { path: path.into(), kind, content: ContentId([0; 32]) })
    };
    Ok(Tree::new(entries.map(file).collect::<io::Result<_>>()?))
}
