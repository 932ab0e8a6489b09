//! What was measured, and how it is shown: medians over the rounds, and the ratio to the limit of the same rounds.

use std::time::Duration;

use serde::Serialize;

use crate::bench::callers::{STEP_NAMES, Steps};
use crate::bench::scale::Scale;
use crate::bench::told::Rows;

/// What one round came to.
pub struct Round {
    pub lifecycles_per_second: f64,
    pub raw_rows_per_second: f64,
    pub raw_commits_per_second: f64,
    pub steps: Vec<Steps>,
}

#[derive(Serialize)]
pub struct Report {
    store: &'static str,
    callers: usize,
    rounds: usize,
    lifecycles_per_second: f64,
    raw_rows_per_second: f64,
    raw_commits_per_second: f64,
    /// How many raw rows cost as much as one lifecycle: the median of the rounds' own ratios.
    raw_rows_per_lifecycle: f64,
    latencies: Vec<(&'static str, Spread)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<Scale>,
}

/// Half of all took at most `p50`, and so on; in microseconds.
#[derive(Serialize, Clone, Copy, Debug)]
pub struct Spread {
    pub p50_micros: u64,
    pub p99_micros: u64,
}

impl Spread {
    pub fn of(mut durations: Vec<Duration>) -> Spread {
        durations.sort_unstable();
        let at = |part: f64| {
            let index = (durations.len() as f64 * part) as usize;
            durations.get(index.min(durations.len().saturating_sub(1))).map_or(0, |it| it.as_micros() as u64)
        };
        Spread { p50_micros: at(0.5), p99_micros: at(0.99) }
    }
}

impl Report {
    pub fn new(store: &'static str, callers: usize, rounds: Vec<Round>, scale: Option<Scale>) -> Report {
        let step =
            |number: usize| rounds.iter().flat_map(|round| &round.steps).map(|steps| steps[number]).collect();
        let latencies = STEP_NAMES.iter().enumerate().map(|(number, name)| (*name, Spread::of(step(number))));
        Report {
            store,
            callers,
            rounds: rounds.len(),
            lifecycles_per_second: median(&rounds, |round| round.lifecycles_per_second),
            raw_rows_per_second: median(&rounds, |round| round.raw_rows_per_second),
            raw_commits_per_second: median(&rounds, |round| round.raw_commits_per_second),
            raw_rows_per_lifecycle: median(&rounds, |it| it.raw_rows_per_second / it.lifecycles_per_second),
            latencies: latencies.collect(),
            scale,
        }
    }

    pub fn tell(&self, rows: &mut Rows) {
        rows.row("store", self.store, format!("median of {} rounds", self.rounds));
        let raw = "one-row inserts of 100 bytes, 100 a transaction";
        rows.row("raw rows/s", format!("{:.0}", self.raw_rows_per_second), raw);
        rows.row("raw commits/s", format!("{:.0}", self.raw_commits_per_second), "one row each");
        let what = "callers; submit, lease, ack, heartbeat, complete; every answer durable";
        rows.row(
            "lifecycles/s",
            format!("{:.0}", self.lifecycles_per_second),
            format!("{} {what}", self.callers),
        );
        rows.row("", format!("1/{:.1}", self.raw_rows_per_lifecycle), "of the raw rows/s of the same round");
        for (step, spread) in &self.latencies {
            let millis = |micros: u64| format!("{:.1} ms", micros as f64 / 1e3);
            rows.row(
                &format!("  {step}"),
                millis(spread.p50_micros),
                format!("p99 {}", millis(spread.p99_micros)),
            );
        }
        if let Some(scale) = &self.scale {
            scale.tell(rows);
        }
    }
}

fn median(rounds: &[Round], of: fn(&Round) -> f64) -> f64 {
    middle(rounds.iter().map(of).collect())
}

/// The median; zero of nothing.
pub fn middle(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}
