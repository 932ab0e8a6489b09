//! What was measured, beside what it is measured against.

use serde::Serialize;

use crate::bench::protocol::jobs::Jobs;
use crate::bench::protocol::pickup::Pickup;
use crate::bench::protocol::processes::Memory;
use crate::bench::protocol::throughput::Throughput;
use crate::bench::told::row;

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
    pub fn print(&self) {
        self.throughput.iter().for_each(Throughput::print);
        self.pickup.iter().for_each(Pickup::print);
        self.jobs.iter().for_each(Jobs::print);
    }
}

impl Throughput {
    fn print(&self) {
        let what = format!("durable; {} connections, median of {} rounds", self.connections, self.rounds);
        row("messages/s", format!("{:.0}", self.messages_per_second), &what);
        row("echoes/s", format!("{:.0}", self.echoes_per_second), "a plain axum server, the same bodies");
        let percent = format!("{:.1} %", self.messages_per_echo * 100.0);
        row("", percent, "of the echo of the same round (at least 25 %, goal 40 %)");
        for (step, spread) in &self.latencies {
            row(
                &format!("  {step}"),
                millis(spread.p50_micros),
                format!("p99 {}", millis(spread.p99_micros)),
            );
        }
    }
}

impl Pickup {
    fn print(&self) {
        let fsync = self.fsync.p50_micros.max(1) as f64;
        let times = |micros: u64| format!("{:.1} x an fsync", micros as f64 / fsync);
        row(
            "fsync",
            millis(self.fsync.p50_micros),
            format!("p99 {}; a page appended", millis(self.fsync.p99_micros)),
        );
        let (p50, p99) = (self.one.p50_micros, self.one.p99_micros);
        row("submit to lease", millis(p50), format!("{} (at most 5 x); one runner waits", times(p50)));
        row("  p99", millis(p99), format!("{} (at most 25 x)", times(p99)));
        let ratio = self.many.p50_micros as f64 / p50.max(1) as f64;
        let what = format!("{ratio:.2} x; {} runners wait", self.idle_runners);
        row("submit to lease", millis(self.many.p50_micros), &what);
        row("  p99", millis(self.many.p99_micros), "");
        memory("  server's memory", self.server_with_many, "");
    }
}

impl Jobs {
    fn print(&self) {
        let what = format!("submit to finished, `true`; {} runners", self.runners);
        row("trivial job", millis(self.submit_to_finished.p50_micros), &what);
        row("  p99", millis(self.submit_to_finished.p99_micros), "");
        let what = format!("jobs/min; {} at once", self.burst);
        row("burst", format!("{:.0}", self.burst_jobs_per_minute), &what);
        memory("server, idle", self.server_idle, "less than 40 MiB");
        memory("runner, idle", self.runner_idle, "less than 15 MiB");
        memory("server, after", self.server_after, "all of these jobs");
        memory("runner, after", self.runner_after, "its half of them");
    }
}

fn memory(name: &str, memory: Memory, note: &str) {
    let mib = |kib: u64| format!("{:.1} MiB", kib as f64 / 1024.0);
    let parts = format!("{} of its own, {} of files", mib(memory.anonymous_kib), mib(memory.file_kib));
    row(name, mib(memory.resident_kib), &if note.is_empty() { parts } else { format!("{parts}; {note}") });
}

fn millis(micros: u64) -> String {
    format!("{:.2} ms", micros as f64 / 1e3)
}
