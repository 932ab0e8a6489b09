//! Fills the workspace from a folder of this machine, as a runner's operator may want it.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Component, Path};

use super::order::CopyOf;
use super::{Places, Problem};

/// Beside the keeper's one thread, which goes on to hear what the agent says.
pub async fn run(copy: &CopyOf, places: &Places) -> Result<(), Problem> {
    let (copy, workspace) = (copy.clone(), places.workspace.clone());
    let failed = |error| Problem::during("cannot copy the files for the job", error);
    match tokio::task::spawn_blocking(move || copy_listed(&copy, &workspace)).await {
        Ok(copied) => copied.map_err(failed),
        Err(error) => Err(failed(io::Error::other(error))),
    }
}

fn copy_listed(copy: &CopyOf, to: &Path) -> io::Result<()> {
    let named = |path: &Path| {
        let path = path.display().to_string();
        move |error: io::Error| io::Error::new(error.kind(), format!("{path}: {error}"))
    };
    let list = fs::read(&copy.list).map_err(named(&copy.list))?;
    let mut made = Path::new("");
    for entry in list.split(|byte| *byte == 0) {
        let Some((kind, path)) = entry.split_first() else { continue };
        let path = Path::new(OsStr::from_bytes(path));
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(named(path)(io::Error::other("not a path below the folder")));
        }
        // Paths are in order, so that files of one folder follow each other.
        let folder = path.parent().unwrap_or(Path::new(""));
        if folder != made {
            fs::create_dir_all(to.join(folder)).map_err(named(folder))?;
            made = folder;
        }
        copy_one(*kind, &copy.folder.join(path), &to.join(path)).map_err(named(path))?;
    }
    Ok(())
}

/// Files with their permissions, links as they are.
fn copy_one(kind: u8, from: &Path, to: &Path) -> io::Result<()> {
    match kind {
        b'f' | b'x' => fs::copy(from, to).map(|_| ()),
        b'l' => symlink(fs::read_link(from)?, to),
        b'm' => fs::create_dir(to),
        other => Err(io::Error::other(format!("no kind of file is called `{}`", other.escape_ascii()))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_listed_is_copied_as_it_is_and_nothing_else() {
        let place = tempfile::tempdir().expect("a folder");
        let (from, to, list) =
            (place.path().join("from"), place.path().join("to"), place.path().join("list"));
        fs::create_dir_all(from.join("a/b")).and_then(|()| fs::create_dir(&to)).expect("folders");
        fs::write(from.join("a/b/run"), "run").expect("a file");
        fs::set_permissions(from.join("a/b/run"), fs::Permissions::from_mode(0o755)).expect("ours");
        fs::write(from.join("a/left"), "out").expect("a file");
        symlink("nowhere", from.join("link")).expect("a link");
        fs::write(&list, b"xa/b/run\0llink\0msub\0").expect("a file");
        copy_listed(&CopyOf { folder: from, list }, &to).expect("all is there");
        assert_eq!(fs::metadata(to.join("a/b/run")).expect("copied").permissions().mode() & 0o111, 0o111);
        assert_eq!(fs::read_link(to.join("link")).expect("copied"), Path::new("nowhere"));
        assert!(to.join("sub").is_dir() && !to.join("a/left").exists());
    }

    #[test]
    fn a_list_leads_nowhere_else() {
        let place = tempfile::tempdir().expect("a folder");
        let list = place.path().join("list");
        for path in ["f../x", "f/etc/passwd", "fa/../../x"] {
            fs::write(&list, format!("{path}\0")).expect("a file");
            let copy = CopyOf { folder: place.path().into(), list: list.clone() };
            let problem = copy_listed(&copy, place.path()).expect_err("outside").to_string();
            assert!(problem.contains("not a path below the folder"), "{problem}");
        }
    }
}
