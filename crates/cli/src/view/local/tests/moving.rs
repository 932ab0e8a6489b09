//! The rows that move, at every size, and when they are drawn.

use super::script::*;
use crate::local::happening::{Happening, Show};
use crate::view::local::block::{Layout, Row, moving, widest_name};
use crate::view::local::board::Board;
use crate::view::local::live::Live;
use crate::view::screen::{Screen, Size, width};

fn board(happenings: &[(u64, Happening)]) -> Board {
    let mut board = Board::new(false);
    happenings.iter().for_each(|(at, happening)| drop(board.note(happening, ms(*at))));
    board
}

fn rows(board: &Board, columns: usize, rows: usize) -> Vec<Row> {
    let layout = Layout::new(Screen::plain(None), columns, widest_name(board));
    moving(layout, board, Size { columns, rows }, ms(12_100))
}

fn text(rows: &[Row]) -> String {
    rows.iter().map(|row| format!("{}\n", row.text)).collect()
}

/// Many jobs, five of which run.
fn many() -> Board {
    let names: Vec<String> = (0..40).map(|number| format!("job-{number:02}")).collect();
    let mut happenings = vec![(0, planned(names.iter().map(|name| job(name, &[])).collect()))];
    for name in &names[..5] {
        happenings.extend([(0, started(name)), (0, step(name, 0, "make")), (0, output(name, "so far\n"))]);
    }
    board(&happenings)
}

#[test]
fn what_runs_and_what_waits_for_it_is_a_tree() {
    let board = board(&middle());
    let expected = "\
● running    unit-tests           10s  2/3 cargo test --workspace --all-features
             │ test two ... FAILED
○ waiting    └─ package
○ waiting       └─ deploy
● running    lint                 12s  cargo clippy
             │ warning: it is 日本語 and wide
12s  2 running, 2 waiting, 1 succeeded, 1 reused, 1 skipped
";
    assert_eq!(text(&rows(&board, 80, 24)), expected);
    let expected = "\
● running    unit-tests           10s  2/3 cargo test --workspace --all-features
             │ test two ... FAILED
○ waiting    └─ package
○ waiting       └─ deploy
● running    lint                 12s  cargo clippy
             │ warning: it is 日本語 and wide
12s  2 running, 2 waiting, 1 succeeded, 1 reused, 1 skipped
";
    assert_eq!(text(&rows(&board, 200, 50)), expected);
}

#[test]
fn a_narrow_terminal_shows_less() {
    let board = board(&middle());
    let expected = "\
● unit-tests           10s  2/3 cargo test --work…
  │ test two ... FAILED
○ └─ package
○    └─ deploy
● lint                 12s  cargo clippy
  │ warning: it is 日本語 and wide
12s  2 running, 2 waiting, 1 succeeded, 1 reus…
";
    assert_eq!(text(&rows(&board, 50, 24)), expected);
    let expected = "\
● unit-tes…      10s
  │ test two ... FA…
○ └─ packa…
○    └─ de…
● lint           12s
  │ warning: it is …
12s  2 running, …
";
    assert_eq!(text(&rows(&board, 20, 24)), expected);
}

#[test]
fn a_low_terminal_counts_what_it_cannot_show() {
    let board = many();
    let expected = "\
● running    job-00      12s  make
             │ so far
● running    job-01      12s  make
             │ so far
● running    job-02      12s  make
             │ so far
● running    job-03      12s  make
             │ so far
● running    job-04      12s  make
             │ so far
○ waiting    job-05
○ waiting    job-06
○ waiting    job-07
○ waiting    job-08
○ waiting    job-09
○ waiting    job-10
○ waiting    job-11
○ waiting    job-12
… and 27 more waiting
12s  5 running, 35 waiting
";
    assert_eq!(text(&rows(&board, 80, 24)), expected);
    let expected = "\
● running    job-00      12s  make
● running    job-01      12s  make
● running    job-02      12s  make
… and 2 more running, 35 waiting
12s  5 running, 35 waiting
";
    assert_eq!(text(&rows(&board, 80, 6)), expected);
}

#[test]
fn a_cancel_is_seen_at_once() {
    let paper = Paper::default();
    let mut live = live(&paper);
    tell(&mut live, &middle());
    live.happened(&Happening::CancelRequested { forced: false }, ms(2_501));
    let footer = "canceling, Ctrl-C again kills  2.5s  2 running, 2 waiting, 1 succeeded, 1 re…";
    assert!(paper.text().contains(footer), "{}", paper.text());
    live.happened(&Happening::CancelRequested { forced: true }, ms(2_502));
    assert!(paper.text().contains("killing what runs  2.5s  2 running, "), "{}", paper.text());
}

#[test]
fn no_row_is_wider_and_no_block_higher_than_the_terminal() {
    for board in [board(&middle()), many()] {
        for columns in (1..=21).chain([39, 40, 41, 59, 60, 61, 80, 120]) {
            for height in (1..=14).chain([20, 30]) {
                let rows = rows(&board, columns, height);
                assert!(rows.len() < height.max(2), "{} rows in {height}", rows.len());
                for row in rows {
                    assert_eq!((row.width, row.text.trim_end()), (width(&row.text), row.text.as_str()));
                    assert!(row.width <= columns, "{:?} in {columns}", row.text);
                }
            }
        }
    }
}

fn live(paper: &Paper) -> Live<Paper> {
    Live::new(paper.clone(), Screen::plain(None), || Size { columns: 80, rows: 24 })
}

#[test]
fn it_is_drawn_ten_times_a_second_however_much_happens() {
    let paper = Paper::default();
    let mut live = live(&paper);
    tell(&mut live, &[(0, planned(vec![job("a", &[])])), (0, started("a"))]);
    for at in 0..1_000 {
        live.happened(&output("a", "more\n"), ms(at));
        live.tick(ms(at));
    }
    assert_eq!(paper.text().matches("\x1b[?2026h").count(), 10);
}

#[test]
fn the_cursor_comes_back_however_it_ends() {
    let hidden = |text: &str| text.rfind("\x1b[?25l") > text.rfind("\x1b[?25h");
    let (finished, dropped) = (Paper::default(), Paper::default());
    let mut live_run = live(&finished);
    tell(&mut live_run, &middle());
    assert!(hidden(&finished.text()));
    tell(&mut live_run, &end());
    assert!(!hidden(&finished.text()));
    let length = finished.text().len();
    live_run.tick(ms(60_000));
    drop(live_run);
    assert_eq!(finished.text().len(), length, "nothing is drawn after the end");

    let mut live_run = live(&dropped);
    tell(&mut live_run, &middle());
    drop(live_run);
    assert!(dropped.text().ends_with("\n\x1b[?25h"));
}

#[test]
fn nothing_a_job_prints_moves_the_cursor() {
    let paper = Paper::default();
    let mut live = live(&paper);
    let evil = "\x1b[2J\x1b[10A\x1b]0;title\x07\u{9b}5B\x08\x08\x1b[?1049h\rover\x1b[31m red";
    tell(&mut live, &[(0, planned(vec![job("a", &[])])), (0, started("a")), (1, output("a", evil))]);
    live.tick(ms(200));
    let drawn = paper.text();
    let last = drawn.rsplit("\x1b[?2026h").next().unwrap();
    assert!(last.contains("│ over red\n"), "{last:?}");
    for sequence in ["\x1b[10A", "\x1b]", "\x07", "\u{9b}", "\x08", "1049", "\x1b[31m"] {
        assert!(!drawn.contains(sequence), "{drawn:?}");
    }
}
