//! What was measured, and how it is shown: figures, and the ratio to the limit of the same run.

use std::time::Duration;

use serde::Serialize;

use crate::bench::limit::Limit;
use crate::bench::scale::Scale;

#[derive(Serialize)]
pub struct Report {
    store: &'static str,
    callers: usize,
    #[serde(flatten)]
    limit: Limit,
    #[serde(flatten)]
    pub lifecycles: Measured,
    /// How many raw rows cost as much as one lifecycle; the goal is in docs/benchmarks.md.
    raw_rows_per_lifecycle: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
}

#[derive(Serialize, Default)]
pub struct Measured {
    pub lifecycles: u64,
    pub lifecycles_per_second: f64,
    pub latencies: Vec<(&'static str, Spread)>,
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
    pub fn new(store: &'static str, callers: usize, limit: Limit) -> Report {
        Report {
            store,
            callers,
            limit,
            lifecycles: Measured::default(),
            raw_rows_per_lifecycle: 0.0,
            scale: None,
        }
    }

    pub fn print(&self) {
        println!("store               {:>12}", self.store);
        println!("raw rows/s          {:>12.0}   one-row inserts of 100 bytes, 100 a transaction", self.limit.raw_rows_per_second);
        println!("raw commits/s       {:>12.0}   one row each", self.limit.raw_commits_per_second);
        println!(
            "lifecycles/s        {:>12.0}   {} callers; submit, lease, ack, heartbeat, complete; every answer durable",
            self.lifecycles.lifecycles_per_second, self.callers
        );
        println!(
            "                    {:>12}   of the raw rows/s",
            format!("1/{:.1}", self.limit.raw_rows_per_second / self.lifecycles.lifecycles_per_second)
        );
        for (step, spread) in &self.lifecycles.latencies {
            println!(
                "  {step:<18}{:>12}   p99 {}",
                format!("{:.1} ms", spread.p50_micros as f64 / 1e3),
                format_args!("{:.1} ms", spread.p99_micros as f64 / 1e3)
            );
        }
        if let Some(scale) = &self.scale {
            scale.print();
        }
    }

    pub fn finish(mut self) -> Report {
        self.raw_rows_per_lifecycle = self.limit.raw_rows_per_second / self.lifecycles.lifecycles_per_second;
        self
    }
}
