//! However it is ended, nothing of it is left: no process, no folder.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::e2e::patience::{until, until_so};

/// Begun in a folder for temporary things of its own, by which everything of it is found.
fn begun(folder: &Path) -> Child {
    let child = Command::new(env!("CARGO_BIN_EXE_deltaci"))
        .args(["verify", "--only", "processes", "--kills", "100000"])
        .env("TMPDIR", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    until_so("jobs run", || {
        let inside = fs::read_dir(folder).expect("a folder").flatten().next();
        inside.is_some_and(|inside| inside.path().join("effects").exists())
    });
    child
}

/// The processes whose command line names this folder.
fn processes(folder: &Path) -> usize {
    let name = folder.to_str().expect("a text").as_bytes();
    let all = fs::read_dir("/proc").expect("there is /proc").flatten();
    let lines = all.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| line.windows(name.len()).any(|part| part == name)).count()
}

fn is_left(folder: &Path) -> bool {
    processes(folder) > 0 || fs::read_dir(folder).expect("a folder").next().is_some()
}

#[test]
fn nothing_is_left_after_an_interrupt_or_a_kill() {
    for (signal, code) in [(Signal::INT, Some(3)), (Signal::KILL, None)] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = begun(folder.path());
        assert!(processes(folder.path()) > 2, "servers and runners work there");
        let pid = Pid::from_raw(child.id() as i32).expect("a child has an id");
        kill_process(pid, signal).unwrap();
        let status = until("it ends", || child.try_wait().unwrap());
        assert_eq!(status.code(), code, "{signal:?}");
        until_so("everything is gone", || !is_left(folder.path()));
    }
}
