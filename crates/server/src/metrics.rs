//! Metrics, in the text format that Prometheus reads. Labels are names of ours (machines, commands, routes), never ids.

use std::time::Duration;

use decisions::records::Transition;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use store::OutboxCounts;

use crate::perform::Failure;

/// What the text is, for a `Content-Type`.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Step {
    machine: &'static str,
    /// Empty when the entity was created.
    from: &'static str,
    to: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Performed {
    command: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    route: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Sent {
    result: &'static str,
}

/// Everything that is counted. One per engine; whoever has something to count holds a reference.
pub struct Metrics {
    registry: Registry,
    transitions: Family<Step, Counter>,
    commands: Family<Performed, Counter>,
    command_duration: Histogram,
    batch_size: Histogram,
    errors: Family<Kind, Counter>,
    requests: Family<Request, Counter>,
    pub leases_waiting: Gauge,
    outbox_deliveries: Family<Sent, Counter>,
    outbox_pending: Gauge,
    outbox_dead_letters: Gauge,
    resident_memory: Gauge,
}

impl Default for Metrics {
    fn default() -> Metrics {
        let mut registry = Registry::with_prefix("deltaci");
        let transitions = Family::default();
        let commands = Family::default();
        let command_duration = Histogram::new(exponential_buckets(0.000_1, 2.0, 18));
        let batch_size = Histogram::new(exponential_buckets(1.0, 2.0, 10));
        let errors = Family::default();
        let requests = Family::default();
        let leases_waiting = Gauge::default();
        let outbox_deliveries = Family::default();
        let outbox_pending = Gauge::default();
        let outbox_dead_letters = Gauge::default();
        let resident_memory = Gauge::default();
        registry.register("state_transitions", "Durable state transitions", transitions.clone());
        registry.register("commands", "Commands by what they came to", commands.clone());
        registry.register_with_unit(
            "command_duration",
            "From a command's arrival to its answer",
            Unit::Seconds,
            command_duration.clone(),
        );
        registry.register("batch_size", "Commands that shared a commit", batch_size.clone());
        registry.register("errors", "Failures that are ours or the store's", errors.clone());
        registry.register("http_requests", "Requests by route and status", requests.clone());
        registry.register("leases_waiting", "Long polls that wait for work", leases_waiting.clone());
        let tries = "Tries to deliver a message, by how they went";
        registry.register("outbox_deliveries", tries, outbox_deliveries.clone());
        registry.register("outbox_pending", "Messages that are not over", outbox_pending.clone());
        let dead = "Messages that were given up: somebody should look";
        registry.register("outbox_dead_letters", dead, outbox_dead_letters.clone());
        registry.register_with_unit(
            "process_resident_memory",
            "Memory of this process",
            Unit::Bytes,
            resident_memory.clone(),
        );
        Metrics {
            registry,
            transitions,
            commands,
            command_duration,
            batch_size,
            errors,
            requests,
            leases_waiting,
            outbox_deliveries,
            outbox_pending,
            outbox_dead_letters,
            resident_memory,
        }
    }
}

/// Transitions of a batch, counted before its book is handed to the store and added once they are durable.
#[derive(Debug, Default)]
pub struct Steps(Vec<(Step, u64)>);

impl Steps {
    /// There are few kinds of them, so that looking along the list is the quickest way to count.
    pub fn of(transitions: &[Transition]) -> Steps {
        let mut counted: Vec<(Step, u64)> = Vec::new();
        for Transition { machine, from, to, .. } in transitions {
            let step = Step { machine, from: from.unwrap_or(""), to };
            match counted.iter_mut().find(|(known, _)| *known == step) {
                Some((_, times)) => *times += 1,
                None => counted.push((step, 1)),
            }
        }
        Steps(counted)
    }
}

impl Metrics {
    /// A batch is durable.
    pub fn saved(&self, commands: usize, steps: Steps) {
        self.batch_size.observe(commands as f64);
        for (step, times) in steps.0 {
            self.transitions.get_or_create(&step).inc_by(times);
        }
    }

    pub fn performed<T>(&self, command: &'static str, answer: &Result<T, Failure>, took: Duration) {
        let outcome = match answer {
            Ok(_) => "ok",
            Err(Failure::Refused(_)) => "refused",
            Err(Failure::Busy) => "busy",
            Err(Failure::Unavailable(_)) => "unavailable",
            Err(Failure::Unknown(_)) => "unknown",
            Err(Failure::Bug(_)) => "bug",
        };
        self.commands.get_or_create(&Performed { command, outcome }).inc();
        self.command_duration.observe(took.as_secs_f64());
    }

    pub fn failed(&self, kind: &'static str) {
        self.errors.get_or_create(&Kind { kind }).inc();
    }

    /// One try to deliver a message: `delivered` or `failed`.
    pub fn sent(&self, result: &'static str) {
        self.outbox_deliveries.get_or_create(&Sent { result }).inc();
    }

    pub fn outbox(&self, counts: OutboxCounts) {
        self.outbox_pending.set(counts.open as i64);
        self.outbox_dead_letters.set(counts.dead as i64);
    }

    pub fn answered(&self, route: &str, status: u16) {
        self.requests.get_or_create(&Request { route: route.into(), status }).inc();
    }

    /// All of it, as text.
    pub fn text(&self) -> String {
        self.resident_memory.set(resident_bytes().unwrap_or(0));
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a String takes everything");
        text
    }
}

/// What the kernel says of this process, where it says so.
fn resident_bytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
