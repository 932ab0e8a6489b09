//! In a real terminal: tmux shows what a script of happenings, played by this very test program, leaves on the screen.
//!
//! The player goes on only when it is given its cue, so nothing depends on how fast anything is.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::script::{end, middle, ms, tell};
use crate::local::happening::Show;
use crate::view::local::choose::show;
use crate::view::screen::{Screen, Size};
use crate::view::ways::Ways;

/// The folder where the player finds its cue.
const CUES: &str = "DELTACI_TEST_CUES";
const PLAYER: &str = "view::local::tests::terminal::the_player_plays_when_it_is_asked_to";
const DEADLINE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(20);

#[test]
fn the_player_plays_when_it_is_asked_to() {
    let Some(cues) = std::env::var_os(CUES).map(PathBuf::from) else { return };
    let mut show = show(false, false, Ways::here());
    tell(show.as_mut(), &middle());
    wait_for_cue(show.as_mut(), &cues);
    tell(show.as_mut(), &end());
}

/// Draws again when the window has changed, and only then: a drawing between the moment in which a terminal breaks its
/// lines anew and the moment in which it says so would be luck.
fn wait_for_cue(show: &mut dyn Show, cues: &Path) {
    let begun = Instant::now();
    let (mut drawn, mut drawings) = (None, 0);
    loop {
        let size = Size::of_stderr();
        if drawn.replace(size) != Some(size) {
            show.tick(ms(12_100 + drawings % 2 * 100)); // by its clock it stays the same second
            drawings += 1;
        }
        std::thread::sleep(LOOK_EVERY);
        match std::fs::read_to_string(cues.join("cue")).unwrap_or_default().as_str() {
            "end" => return,
            "panic" => panic!("as it was asked to"),
            _ => assert!(begun.elapsed() < 2 * DEADLINE, "nobody gave a cue"),
        }
    }
}

/// A tmux of its own, gone with the test.
struct Terminal {
    folder: TempDir,
}

impl Terminal {
    /// The player begins at once, on the first row.
    fn of(columns: usize, rows: usize, environment: &[(&str, &str)]) -> Terminal {
        Terminal::after("true", columns, rows, environment)
    }

    /// It begins where another command leaves the cursor.
    fn after(command: &str, columns: usize, rows: usize, environment: &[(&str, &str)]) -> Terminal {
        let terminal = Terminal { folder: tempfile::tempdir().unwrap() };
        let player = std::env::current_exe().unwrap();
        // The test program's own talk is on stdout. `cat` keeps the terminal open, and types nothing.
        let script = format!(
            "{command}; '{}' --exact {PLAYER} --nocapture >/dev/null; echo 'after it'; exec cat",
            player.display()
        );
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let mut command = terminal.command(&["new-session", "-d", "-x", &columns, "-y", &rows, &script]);
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "LC_CTYPE", "LANG", "TMUX", "RUST_BACKTRACE"] {
            command.env_remove(name);
        }
        command.env("LC_ALL", "C.UTF-8").env(CUES, terminal.folder.path()).envs(environment.iter().copied());
        said(command.output().unwrap());
        terminal
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command
            .arg("-u")
            .arg("-S")
            .arg(self.folder.path().join("socket"))
            .args(["-f", "/dev/null"])
            .args(words);
        command
    }

    fn said(&self, words: &[&str]) -> String {
        said(self.command(words).output().unwrap())
    }

    fn cue(&self, cue: &str) {
        std::fs::write(self.folder.path().join("cue"), cue).unwrap();
    }

    fn resize(&self, columns: usize, rows: usize) {
        self.said(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// All that the terminal holds, also what has scrolled away.
    fn shown(&self) -> String {
        let text = self.said(&["capture-pane", "-p", "-S", "-"]);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines.join("\n").trim_end().to_owned() + "\n"
    }

    fn wait_for(&self, expected: &str) {
        self.wait_until(expected, |shown| shown == expected);
    }

    fn wait_until(&self, expected: &str, is_so: impl Fn(&str) -> bool) {
        let begun = Instant::now();
        loop {
            let shown = self.shown();
            if is_so(&shown) {
                return;
            }
            assert!(begun.elapsed() < DEADLINE, "expected:\n{expected}\nshown:\n{shown}");
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn has_cursor(&self) -> bool {
        self.said(&["display-message", "-p", "#{cursor_flag}"]).trim() == "1"
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).output();
    }
}

fn said(output: Output) -> String {
    assert!(output.status.success(), "tmux: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What stays on a terminal of 80 columns.
const OVER_80: &str = "\
5 jobs to run, 1 reused, 1 skipped · from delta-ci.yaml · base 0123456789
✓ reused     fmt              same inputs 2h ago
– skipped    docs             no file of docs/ changed
executor process: there is no bubblewrap
✓ succeeded  build               1.2s
";

const MOVING_80: &str = "\
● running    unit-tests           10s  2/3 cargo test --workspace --all-features
             │ test two ... FAILED
○ waiting    └─ package
○ waiting       └─ deploy
● running    lint                 12s  cargo clippy
             │ warning: it is 日本語 and wide
12s  2 running, 2 waiting, 1 succeeded, 1 reused, 1 skipped
";

const MOVING_20: &str = "\
● unit-tes…      10s
  │ test two ... FA…
○ └─ packa…
○    └─ de…
● lint           12s
  │ warning: it is …
12s  2 running, …
";

const ENDED: &str = "\
✗ failed     unit-tests          2.2s  exit code 101
– not run    package          needs unit-tests
✓ succeeded  lint                4.0s
– not run    deploy           needs package

✗ unit-tests failed after 2.2s: step 2 of 3, exit code 101
  $ cargo test --workspace --all-features
  │ running 2 tests
  │ test one ... ok
  │ test two ... FAILED
  test: tests failed (the summary says \"test failed\")
  not run because of it: package, deploy
  next: deltaci logs run_01hf7yat00e008e1r70w3ge1r7 --job unit-tests
        deltaci explain run_01hf7yat00e008e1r70w3ge1r7
        deltaci run --job unit-tests

FAILED  1 failed, 2 not run, 2 succeeded, 1 reused, 1 skipped in 4.1s";

#[test]
fn at_80_columns_the_moving_rows_leave_nothing_behind() {
    let terminal = Terminal::of(80, 24, &[]);
    terminal.wait_for(&format!("{OVER_80}{MOVING_80}"));
    assert!(!terminal.has_cursor());
    assert!(terminal.said(&["capture-pane", "-p", "-e"]).contains("\x1b[32m"));
    terminal.cue("end");
    terminal.wait_for(&format!("{OVER_80}{ENDED}\nrun_01hf7yat00e008e1r70w3ge1r7\nafter it\n"));
    assert!(terminal.has_cursor());
}

#[test]
fn at_200_columns_all_of_it_is_there() {
    let terminal = Terminal::of(200, 50, &[]);
    let over = OVER_80.replace("same inputs 2h", "same inputs as run_01hf7qf2r0e008j289144gj289 2h");
    terminal.wait_for(&format!("{over}{MOVING_80}"));
    terminal.cue("end");
    terminal.wait_for(&format!("{over}{ENDED}  run_01hf7yat00e008e1r70w3ge1r7\nafter it\n"));
    assert!(terminal.has_cursor());
}

#[test]
fn the_moving_rows_follow_the_window() {
    // On the last row, as after some hours of work. Above it tmux would push what it breaks anew out of reach.
    let terminal = Terminal::after("seq 24", 80, 24, &[]);
    let wide = format!("\n24\n{OVER_80}{MOVING_80}");
    terminal.wait_until(&wide, |shown| shown.ends_with(&wide));
    terminal.resize(20, 24);
    terminal.wait_until(MOVING_20, |shown| shown.ends_with(&format!("\n             1.2s\n{MOVING_20}")));
    terminal.resize(80, 24);
    terminal.wait_until(&wide, |shown| shown.ends_with(&wide));
    terminal.cue("end");
    let end = format!("\n24\n{OVER_80}{ENDED}\nrun_01hf7yat00e008e1r70w3ge1r7\nafter it\n");
    terminal.wait_until(&end, |shown| shown.ends_with(&end));
}

#[test]
fn without_colours_and_unicode_it_is_all_there() {
    let terminal = Terminal::of(80, 24, &[("NO_COLOR", "1"), ("LC_ALL", "C")]);
    let signs = Screen::ascii(None);
    terminal.wait_for(&signs.signs(format!("{OVER_80}{MOVING_80}")));
    assert!(!terminal.said(&["capture-pane", "-p", "-e"]).contains('\x1b'));
    terminal.cue("end");
    let end = format!("{OVER_80}{ENDED}\nrun_01hf7yat00e008e1r70w3ge1r7\nafter it\n");
    terminal.wait_for(&signs.signs(end));
}

#[test]
fn a_panic_gives_the_cursor_back() {
    let terminal = Terminal::of(80, 40, &[]);
    terminal.wait_for(&format!("{OVER_80}{MOVING_80}"));
    assert!(!terminal.has_cursor());
    terminal.cue("panic");
    terminal.wait_until("after it", |shown| shown.ends_with("\nafter it\n"));
    assert!(terminal.has_cursor());
    assert!(terminal.shown().contains("as it was asked to"));
}
