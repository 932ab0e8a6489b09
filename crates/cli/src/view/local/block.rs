//! The rows of a live run: those of jobs that are over, which stay, and those of the others, which move.

use std::collections::HashSet;
use std::time::Duration;

use wire::api::Decision;

use super::board::{Board, Cancel, Entry, Phase};
use super::reasons;
use super::said;
use crate::view::screen::{Screen, Size, Style, fitted, one_line, width};
use crate::view::state::Look;
use crate::view::time::took;
use crate::view::tree::branches;

/// More jobs that wait are only counted.
const WAITING_MAX: usize = 8;
/// Between two columns.
const GAP: usize = 2;
/// The longest word of a state.
const WORD_COLUMNS: usize = 9;
const TIME_COLUMNS: usize = 7;
/// Narrower than this, states are signs only.
const WORDS_FROM: usize = 60;
/// Narrower than this, there is no room for steps and reasons.
const DETAILS_FROM: usize = 40;
const DETAIL_COLUMNS_MIN: usize = 8;
/// Behind the last row stays room for the terminal's echo of Ctrl-C.
const ECHO_COLUMNS: usize = 3;

/// A line of the terminal, never longer than it is wide, and without spaces at its end.
#[derive(Debug)]
pub struct Row {
    pub text: String,
    pub width: usize,
    /// Columns to be left free before whatever comes next.
    gap: usize,
    columns: usize,
    screen: Screen,
}

impl Row {
    fn new(screen: Screen, columns: usize) -> Row {
        Row { text: String::new(), width: 0, gap: 0, columns, screen }
    }

    fn room(&self) -> usize {
        self.columns.saturating_sub(self.width + self.gap)
    }

    fn skip(mut self, columns: usize) -> Row {
        self.gap += columns;
        self
    }

    fn put(mut self, style: Style, text: &str) -> Row {
        let text = fitted(text, self.room());
        if text.is_empty() {
            return self;
        }
        self.width += self.gap + width(&text);
        self.text.push_str(&" ".repeat(std::mem::take(&mut self.gap)));
        self.text.push_str(&self.screen.paint(style, &self.screen.signs(text)));
        self
    }

    /// As wide as the column.
    fn cell(self, style: Style, text: &str, columns: usize) -> Row {
        let text = fitted(text, columns);
        self.put(style, &text).skip(columns - width(&text))
    }
}

/// How the rows of one run are laid out.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    screen: Screen,
    columns: usize,
    name_columns: usize,
}

impl Layout {
    /// `widest`: of the run's names as they stand in the tree.
    pub fn new(screen: Screen, columns: usize, widest: usize) -> Layout {
        let name_columns = match columns {
            0..DETAILS_FROM => columns.saturating_sub(2 + GAP + TIME_COLUMNS),
            _ => columns / 3,
        };
        Layout { screen, columns, name_columns: widest.min(name_columns).max(4) }
    }

    /// Sign, word and name.
    fn head(self, look: &Look, name: &str) -> Row {
        let row = Row::new(self.screen, self.columns).put(look.style, look.sign).skip(1);
        let row = match self.columns {
            0..WORDS_FROM => row,
            _ => row.cell(look.style, &look.words, WORD_COLUMNS).skip(GAP),
        };
        row.cell(Style::Plain, name, self.name_columns).skip(GAP)
    }

    fn with_time(self, row: Row, time: Option<Duration>) -> Row {
        let time = time.map(took).unwrap_or_default();
        row.skip(TIME_COLUMNS.saturating_sub(width(&time))).put(Style::Plain, &time)
    }

    fn with_detail(self, row: Row, style: Style, detail: &str) -> Row {
        let fits = self.columns >= DETAILS_FROM && row.room() >= DETAIL_COLUMNS_MIN + GAP;
        if fits { row.skip(GAP).put(style, detail) } else { row }
    }

    /// A job that is over.
    pub fn over(self, board: &Board, entry: &Entry) -> Row {
        let look = look(entry);
        let row = self.head(&look, &entry.name);
        match &entry.phase {
            Phase::Reused | Phase::Skipped => {
                let (job, now) = (&entry.planned, board.began());
                let why = reasons::words(job.decision, &job.reasons, now);
                let short = reasons::few_words(job.decision, &job.reasons, now);
                let why = if width(&why) <= row.room() { why } else { short };
                if self.columns < DETAILS_FROM { row } else { row.put(Style::Dim, &why) }
            }
            Phase::NotRun => {
                let why = said::not_run(board, entry);
                if self.columns < DETAILS_FROM { row } else { row.put(Style::Dim, &why) }
            }
            Phase::Ended { took, .. } => {
                let failure = entry.failure.as_ref().map(said::failure).unwrap_or_default();
                let optional = if entry.planned.required || !entry.has_failed() { "" } else { "optional, " };
                let row = self.with_time(row, *took);
                self.with_detail(row, Style::Dim, (optional.to_owned() + &failure).trim_end_matches(", "))
            }
            Phase::Waiting | Phase::Running { .. } => row,
        }
    }

    /// An attempt that is over, and another one follows.
    pub fn again(self, entry: &Entry, state: &str) -> Row {
        let mut look = Look::of(state);
        look.style = Style::Yellow;
        let row = self.with_time(self.head(&look, &entry.name), entry.attempt_took);
        let why = entry.failure.as_ref().map(said::class).unwrap_or_default();
        self.with_detail(row, Style::Dim, format!("trying again; {why}").trim_end_matches("; "))
    }

    fn running(self, entry: &Entry, rail: &str, now: Duration) -> Row {
        let row = self.head(&look(entry), &format!("{rail}{}", entry.name));
        let row = self.with_time(row, said::elapsed(entry, now));
        let Some(step) = &entry.step else { return row };
        let step = format!("{} {}", entry.step_count(step.index), step.text);
        self.with_detail(row, Style::Plain, step.trim_start())
    }

    /// What a running job printed last.
    fn printed(self, entry: &Entry, rail: &str) -> Option<Row> {
        let line = entry.last_line().map(plain).filter(|line| !line.is_empty())?;
        let indent = if self.columns < WORDS_FROM { 2 } else { 2 + WORD_COLUMNS + 2 };
        let row = Row::new(self.screen, self.columns).skip(indent);
        Some(row.put(Style::Plain, rail).put(Style::Dim, &format!("│ {line}")))
    }

    fn quiet(self, text: &str) -> Row {
        Row::new(self.screen, self.columns).put(Style::Dim, text)
    }

    fn footer(self, board: &Board, now: Duration) -> Row {
        let row = Row::new(self.screen, self.columns.saturating_sub(ECHO_COLUMNS));
        let row = match board.cancel {
            Some(Cancel::Requested) => row.put(Style::Yellow, "canceling, Ctrl-C again kills").skip(GAP),
            Some(Cancel::Forced) => row.put(Style::Yellow, "killing what runs").skip(GAP),
            None => row,
        };
        let mut row = row.put(Style::Plain, &took(now));
        for (place, (number, word)) in said::counts(board).into_iter().enumerate() {
            let style = if word == "failed" { Style::Red } else { Style::Dim };
            row = if place == 0 { row.skip(GAP) } else { row.put(Style::Dim, ",").skip(1) };
            row = row.put(style, &format!("{number} {word}"));
        }
        row
    }
}

/// The rows that move, within the terminal.
pub fn moving(layout: Layout, board: &Board, size: Size, now: Duration) -> Vec<Row> {
    // One row stays free, so that what stands above is never wholly gone.
    let room = size.rows.saturating_sub(2);
    let active: Vec<usize> = (0..board.jobs.len()).filter(|place| !board.jobs[*place].is_over()).collect();
    let is_running = |place: &usize| matches!(board.jobs[*place].phase, Phase::Running { .. });
    let ordered = in_order(board, &active);
    let running: Vec<usize> = ordered.iter().map(|found| found.0).filter(is_running).collect();
    let waiting: Vec<usize> =
        ordered.iter().map(|found| found.0).filter(|place| !is_running(place)).collect();

    let runs_fit = running.len() <= room;
    let runs_shown = if runs_fit { running.len() } else { room.saturating_sub(1) };
    let prints = running.len() * 2 < room;
    let used = if prints { runs_shown * 2 } else { runs_shown };
    let left = room.saturating_sub(used);
    let waits_fit = waiting.len() <= left.min(WAITING_MAX);
    let waits_shown = if waits_fit { waiting.len() } else { left.saturating_sub(1).min(WAITING_MAX) };

    let shown: HashSet<usize> =
        running.iter().take(runs_shown).chain(waiting.iter().take(waits_shown)).copied().collect();
    let shown: Vec<usize> = active.into_iter().filter(|place| shown.contains(place)).collect();
    let mut rows = Vec::new();
    for (place, rail) in in_order(board, &shown) {
        let entry = &board.jobs[place];
        rows.push(layout.running(entry, &rail, now));
        if prints && is_running(&place) {
            rows.extend(layout.printed(entry, &below(&rail)));
        }
    }
    let more = left_out(running.len() - runs_shown, waiting.len() - waits_shown);
    if !more.is_empty() && room > rows.len() {
        rows.push(layout.quiet(&more));
    }
    rows.push(layout.footer(board, now));
    rows
}

fn left_out(running: usize, waiting: usize) -> String {
    match (running, waiting) {
        (0, 0) => String::new(),
        (0, waiting) => format!("… and {waiting} more waiting"),
        (running, 0) => format!("… and {running} more running"),
        (running, waiting) => format!("… and {running} more running, {waiting} waiting"),
    }
}

/// Columns of the widest name in the tree of all jobs.
pub fn widest_name(board: &Board) -> usize {
    let running: Vec<usize> =
        (0..board.jobs.len()).filter(|place| board.jobs[*place].planned.decision == Decision::Run).collect();
    let in_tree = in_order(board, &running)
        .into_iter()
        .map(|(place, rail)| width(&rail) + width(&board.jobs[place].name));
    let alone = board.jobs.iter().map(|entry| width(&entry.name));
    in_tree.chain(alone).max().unwrap_or(0)
}

/// As a tree of these jobs alone, with what is drawn before each name.
fn in_order(board: &Board, places: &[usize]) -> Vec<(usize, String)> {
    let jobs: Vec<(&str, &[String])> = places
        .iter()
        .map(|place| &board.jobs[*place].planned)
        .map(|job| (job.name.as_str(), job.needs.as_slice()))
        .collect();
    branches(&jobs).into_iter().map(|branch| (places[branch.index], branch.lines)).collect()
}

/// What goes on below a row that stands at the rail.
fn below(rail: &str) -> String {
    rail.replace("├─ ", "│  ").replace("└─ ", "   ")
}

fn look(entry: &Entry) -> Look {
    match &entry.phase {
        Phase::Waiting => Look { words: "waiting".into(), ..Look::of("PENDING") },
        Phase::Running { .. } => Look::of("RUNNING"),
        Phase::Reused => Look { words: "reused".into(), ..Look::of("SUCCEEDED") },
        Phase::Skipped => Look { sign: "–", words: "skipped".into(), style: Style::Dim },
        Phase::NotRun => Look { sign: "–", words: "not run".into(), style: Style::Dim },
        Phase::Ended { state, .. } => Look::of(state),
    }
}

/// Without the colours that the line of a job may have.
fn plain(line: &str) -> String {
    one_line(&crate::view::clean::Cleaner::new(false).clean(line.as_bytes()))
}
