//! A local run on a terminal: what is over scrolls up and stays, what runs and waits moves below it.

use std::collections::HashSet;
use std::io::Write;
use std::time::Duration;

use super::block::{Layout, Row, moving, widest_name};
use super::board::{Board, Phase};
use super::canvas::Canvas;
use super::{report, said};
use crate::local::happening::{Happening, Show};
use crate::view::screen::{Screen, Size, Style};
use crate::view::ways::Ways;

/// Ten times a second is smooth, and costs next to nothing.
const DRAW_EVERY: Duration = Duration::from_millis(100);
/// Jobs that were decided on at once and get a row each; of more only the number is told.
const DECIDED_MAX: usize = 20;

pub struct Live<W: Write> {
    canvas: Canvas<W>,
    /// Asked before each drawing: windows change.
    size: Box<dyn Fn() -> Size + Send>,
    screen: Screen,
    board: Board,
    widest_name: usize,
    /// Lines that wait for the next drawing.
    stays: String,
    drawn_at: Option<Duration>,
    executors: HashSet<String>,
    is_over: bool,
}

impl<W: Write> Live<W> {
    pub fn new(out: W, screen: Screen, size: impl Fn() -> Size + Send + 'static) -> Live<W> {
        Live {
            canvas: Canvas::new(out),
            size: Box::new(size),
            screen,
            board: Board::new(screen.has_colours()),
            widest_name: 0,
            stays: String::new(),
            drawn_at: None,
            executors: HashSet::new(),
            is_over: false,
        }
    }

    pub fn suggesting(mut self, ways: Ways) -> Live<W> {
        self.board.ways = ways;
        self
    }

    fn layout(&self) -> Layout {
        Layout::new(self.screen, (self.size)().columns, self.widest_name)
    }

    fn stay(&mut self, row: &Row) {
        self.stays.push_str(&row.text);
        self.stays.push('\n');
    }

    /// A sentence, which may take more than a line.
    fn tell(&mut self, style: Style, text: &str) {
        let text = self.screen.signs(text.into());
        self.stays.push_str(&(self.screen.paint(style, &text) + "\n"));
    }

    fn is_due(&self, now: Duration) -> bool {
        self.drawn_at.is_none_or(|drawn| now.abs_diff(drawn) >= DRAW_EVERY)
    }

    fn draw(&mut self, now: Duration) {
        if self.board.jobs.is_empty() || self.is_over {
            return; // nothing moves yet, or any more; what there is to say came or comes with something else
        }
        let size = (self.size)();
        let layout = Layout::new(self.screen, size.columns, self.widest_name);
        let rows = moving(layout, &self.board, size, now);
        self.canvas.draw(&std::mem::take(&mut self.stays), &rows, size);
        self.drawn_at = Some(now);
    }

    /// What was decided without running it.
    fn tell_decided(&mut self) {
        let layout = self.layout();
        for phase in [Phase::Reused, Phase::Skipped] {
            let decided: Vec<_> = self.board.jobs.iter().filter(|entry| entry.phase == phase).collect();
            let left = decided.len().saturating_sub(DECIDED_MAX);
            let rows: Vec<Row> =
                decided.iter().take(DECIDED_MAX).map(|entry| layout.over(&self.board, entry)).collect();
            rows.iter().for_each(|row| self.stay(row));
            if left > 0 {
                let word = if phase == Phase::Reused { "reused" } else { "skipped" };
                self.tell(Style::Dim, &format!("… and {left} more {word}; `deltaci plan` names them"));
            }
        }
    }

    fn tell_ended(&mut self, job: &str, state: &str) {
        let Some(entry) = self.board.find(job) else { return };
        let row = match entry.is_over() {
            true => self.layout().over(&self.board, entry),
            false => self.layout().again(entry, state),
        };
        self.stay(&row);
    }
}

impl<W: Write> Show for Live<W> {
    fn happened(&mut self, happening: &Happening, now: Duration) {
        if let Happening::RunEnded { jobs, .. } = happening {
            self.board.untold(jobs).iter().for_each(|ended| self.happened(ended, now));
        }
        self.board.note(happening, now);
        match happening {
            Happening::Interrupted { run, jobs, resumed } => {
                self.tell(Style::Yellow, &said::interrupted(*run, jobs, *resumed));
            }
            Happening::Planned { jobs, source, base, run: _ } => {
                self.widest_name = widest_name(&self.board);
                let base = base.as_ref().map(|base| format!(" · base {}", said::base(base)));
                let head = format!("{} · {}", said::planned(jobs), said::source(*source));
                self.tell(Style::Dim, &(head + &base.unwrap_or_default()));
                self.tell_decided();
            }
            Happening::ExecutorChosen { executor, why, job: _ } => {
                let text = said::executor(executor, why);
                if self.executors.insert(text.clone()) {
                    self.tell(Style::Dim, &text);
                }
            }
            Happening::JobEnded { job, state, .. } => self.tell_ended(job, state),
            Happening::CancelRequested { .. } => return self.draw(now),
            Happening::RunEnded { run, state, jobs: _ } => {
                let size = (self.size)();
                let screen = self.screen.with_columns(size.columns);
                let end = report::end(screen, &self.board, *run, state, now);
                self.is_over = true;
                let stays = std::mem::take(&mut self.stays);
                return self.canvas.finish(&(stays + &end), size);
            }
            Happening::JobStarted { .. } | Happening::StepStarted { .. } | Happening::Output { .. } => {}
        }
        self.tick(now);
    }

    fn tick(&mut self, now: Duration) {
        if self.is_due(now) {
            self.draw(now);
        }
    }
}
