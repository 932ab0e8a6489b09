//! A plan as text: what would run, what would not, and why.

use decisions::records::Source;
use wire::Time;
use wire::api::Decision;

use super::{reasons, said};
use crate::local::happening::PlannedJob;
use crate::view::screen::{Screen, Style, one_line};
use crate::view::table::{Cell, Table};
use crate::view::tree::branches;

pub fn plan(screen: Screen, source: Source, base: Option<&str>, jobs: &[PlannedJob], now: Time) -> String {
    let base = base.map_or("no base".into(), |base| format!("base {}", said::base(base)));
    let head = format!("{}\n{} · {base}", said::planned(jobs), said::source(source));
    let mut text: String = head.lines().map(|line| screen.paint(Style::Dim, line) + "\n").collect();
    if !jobs.is_empty() {
        text.push('\n');
        text.push_str(&table(jobs, now).text(screen));
    }
    screen.signs(text)
}

fn table(jobs: &[PlannedJob], now: Time) -> Table {
    let given: Vec<(&str, &[String])> =
        jobs.iter().map(|job| (job.name.as_str(), job.needs.as_slice())).collect();
    let mut table = Table::headed(&["JOB", "DECISION", "WHY"]).wrapping();
    for branch in branches(&given) {
        let job = &jobs[branch.index];
        let style = match job.decision {
            Decision::Run => Style::Yellow,
            Decision::Skip => Style::Dim,
            Decision::Reuse => Style::Green,
        };
        let optional = if job.required { "" } else { " (optional)" };
        table.row(vec![
            Cell::new(format!("{}{}{optional}", branch.lines, one_line(&job.name))),
            Cell::styled(style, job.decision.as_str()),
            Cell::new(reasons::words(job.decision, &job.reasons, now)),
        ]);
    }
    table
}
