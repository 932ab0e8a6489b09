//! What was measured, beside what it is measured against.

use serde::Serialize;

use crate::bench::protocol::jobs::Jobs;
use crate::bench::protocol::pickup::Pickup;
use crate::bench::protocol::processes::Memory;
use crate::bench::protocol::throughput::Throughput;
use crate::bench::told::Rows;

#[derive(Serialize, Default)]
pub struct Report {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Throughput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pickup: Option<Pickup>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<Jobs>,
}

impl Report {
    pub fn tell(&self, rows: &mut Rows) {
        self.throughput.iter().for_each(|it| it.tell(rows));
        self.pickup.iter().for_each(|it| it.tell(rows));
        self.jobs.iter().for_each(|it| it.tell(rows));
    }
}

impl Throughput {
    fn tell(&self, rows: &mut Rows) {
        let what = format!("durable; {} connections, median of {} rounds", self.connections, self.rounds);
        rows.row("messages/s", format!("{:.0}", self.messages_per_second), &what);
        rows.row(
            "echoes/s",
            format!("{:.0}", self.echoes_per_second),
            "a plain axum server, the same bodies",
        );
        let percent = format!("{:.1} %", self.messages_per_echo * 100.0);
        rows.row("", percent, "of the echo of the same round (at least 25 %, goal 40 %)");
        for (step, spread) in &self.latencies {
            rows.row(
                &format!("  {step}"),
                millis(spread.p50_micros),
                format!("p99 {}", millis(spread.p99_micros)),
            );
        }
    }
}

impl Pickup {
    fn tell(&self, rows: &mut Rows) {
        let fsync = self.fsync.p50_micros.max(1) as f64;
        let times = |micros: u64| format!("{:.1} x an fsync", micros as f64 / fsync);
        rows.row(
            "fsync",
            millis(self.fsync.p50_micros),
            format!("p99 {}; a page appended", millis(self.fsync.p99_micros)),
        );
        let (p50, p99) = (self.one.p50_micros, self.one.p99_micros);
        rows.row("submit to lease", millis(p50), format!("{} (at most 5 x); one runner waits", times(p50)));
        rows.row("  p99", millis(p99), format!("{} (at most 25 x)", times(p99)));
        let ratio = self.many.p50_micros as f64 / p50.max(1) as f64;
        let what = format!("{ratio:.2} x; {} runners wait", self.idle_runners);
        rows.row("submit to lease", millis(self.many.p50_micros), &what);
        rows.row("  p99", millis(self.many.p99_micros), "");
        memory(rows, "  server's memory", self.server_with_many, "");
    }
}

impl Jobs {
    fn tell(&self, rows: &mut Rows) {
        let what = format!("submit to finished, `true`; {} runners", self.runners);
        rows.row("trivial job", millis(self.submit_to_finished.p50_micros), &what);
        rows.row("  p99", millis(self.submit_to_finished.p99_micros), "");
        let what = format!("jobs/min; {} at once", self.burst);
        rows.row("burst", format!("{:.0}", self.burst_jobs_per_minute), &what);
        memory(rows, "server, idle", self.server_idle, "less than 40 MiB");
        memory(rows, "runner, idle", self.runner_idle, "less than 15 MiB");
        memory(rows, "server, after", self.server_after, "all of these jobs");
        memory(rows, "runner, after", self.runner_after, "its half of them");
    }
}

fn memory(rows: &mut Rows, name: &str, memory: Memory, note: &str) {
    let mib = |kib: u64| format!("{:.1} MiB", kib as f64 / 1024.0);
    let parts = format!("{} of its own, {} of files", mib(memory.anonymous_kib), mib(memory.file_kib));
    rows.row(
        name,
        mib(memory.resident_kib),
        &if note.is_empty() { parts } else { format!("{parts}; {note}") },
    );
}

fn millis(micros: u64) -> String {
    format!("{:.2} ms", micros as f64 / 1e3)
}
