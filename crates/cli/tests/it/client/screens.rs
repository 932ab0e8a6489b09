//! On a real terminal: colours by state, and of a job's output nothing but text and colours.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::job_of;
use crate::harness::Site;

/// What a command shows on a terminal of so many columns.
fn shown(site: &Site, columns: u16, words: &[&str], plain: bool) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    tcsetwinsize(&master, Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    let terminal = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut command = site.command(words);
    command.stdout(Stdio::from(terminal)).stderr(Stdio::null());
    if !plain {
        command.env_remove("NO_COLOR");
    }
    let mut child = command.spawn().unwrap();
    drop(command); // with it our own end of the terminal, so that reading ends with the child
    let mut bytes = Vec::new();
    let _ = File::from(master).read_to_end(&mut bytes); // ends with an error, as terminals do
    child.wait().unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn job_output_keeps_its_colours_and_nothing_else() {
    let site = Site::start().with_runner();
    let step = r"printf '\033[2J\033]0;title\007\033[31mred\033[0m\033[5A end\n'";
    let run = site.said(&["trigger", "--step", step, "--wait"]);
    let job = job_of(&site, &run, "job");
    for words in [&["logs", &job][..], &["logs", &job, "--follow"], &["logs", &run, "--follow"]] {
        let seen = shown(&site, 100, words, false);
        assert!(seen.contains("\x1b[31mred\x1b[0m end"), "{words:?}: {seen:?}");
        for sequence in ["\x1b[2J", "\x1b]", "\x1b[5A", "\x07"] {
            assert!(!seen.contains(sequence), "{words:?}: {seen:?}");
        }
        let seen = shown(&site, 100, words, true);
        assert!(seen.contains("red end") && !seen.contains('\x1b'), "{words:?}: {seen:?}");
    }
    // In a pipe the log is what the job printed.
    assert!(site.said(&["logs", &job]).contains("\x1b[2J\x1b]0;title\x07\x1b[31mred\x1b[0m\x1b[5A end"));
}

#[test]
fn states_have_colours_and_lines_fit_the_terminal() {
    let site = Site::start().with_runner();
    let long = "a-branch-with-a-name-that-no-narrow-terminal-can-hold-in-one-line";
    let run = site.said(&["trigger", "--step", "true", "--ref", long, "--wait"]);
    let runs = shown(&site, 80, &["runs"], false);
    assert!(runs.contains("\x1b[32m✓ success\x1b[0m") && runs.contains('…'), "{runs:?}");
    let plain = shown(&site, 80, &["runs"], true);
    assert!(!plain.contains('\x1b') && plain.lines().all(|line| line.chars().count() <= 80), "{plain:?}");
    assert!(site.said(&["runs"]).contains(long), "nothing is cut in a pipe");
    let job = job_of(&site, &run, "job");
    let explained = shown(&site, 100, &["explain", &job], true);
    assert!(explained.lines().all(|line| line.chars().count() <= 100), "{explained}");
    assert!(explained.contains("UPLOADING -> SUCCEEDED"), "{explained}");
}
