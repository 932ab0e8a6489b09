//! What is tried: steps of several commands each. Targets are small numbers, resolved when they are used, so that a
//! command mostly means something that it fits, and sometimes something that it does not or that does not exist.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

#[derive(Debug, Clone)]
pub enum Step {
    /// Commands that share one save, after some time has passed.
    Batch { pause_seconds: f64, pace: Pace, ops: Vec<Op> },
    /// Everything that is due.
    Tick { pause_seconds: f64 },
    /// The store is closed and opened again.
    Reopen,
}

/// How much time the deadlines give that are set in this step.
#[derive(Debug, Clone, Copy)]
pub enum Pace {
    Patient,
    /// They have passed as soon as they are set.
    Hasty,
}

/// The `n`th of its kind, those that the command fits first; beyond the last, one that does not exist.
pub type Nth = u8;

#[derive(Debug, Clone)]
pub enum Op {
    Tenants(TenantOp),
    Runs(RunOp),
    Jobs(JobOp),
    Leases(LeaseOp),
    Deliveries(DeliveryOp),
}

#[derive(Debug, Clone)]
pub enum TenantOp {
    Ensure { name: u8 },
    Create { name: u8, config: u8 },
    CreateToken { kind: u8, by_stranger: bool, shared: bool },
    RevokeToken { token: Nth, scope: u8 },
    PutWebhook { by_stranger: bool, name: u8, events: u8 },
}

#[derive(Debug, Clone)]
pub enum RunOp {
    Create { by_stranger: bool, key: Option<u8>, fail_fast: bool, plan: Option<PlanOp> },
    PlanAccepted { run: Nth, plan: PlanOp },
    PlanFailed { run: Nth, message: u8 },
    Cancel { run: Nth, by_stranger: bool },
    Rerun { of: Nth, failed_only: bool },
    Due { run: Nth },
    Sweep { run: Nth },
}

#[derive(Debug, Clone)]
pub enum JobOp {
    Submit { by_stranger: bool, key: Option<u8>, payload: u8, like: Planned },
    Cancel { job: Nth, by_stranger: bool },
    Retry { job: Nth, by_stranger: bool },
    Release { job: Nth },
}

#[derive(Debug, Clone)]
pub enum LeaseOp {
    Lease {
        runner: u8,
        wanted: LeaseWanted,
    },
    Ack {
        lease: Nth,
        by_stranger: bool,
    },
    Heartbeat {
        lease: Nth,
        by_stranger: bool,
        phase: Option<bool>,
    },
    Commit {
        lease: Nth,
        by_stranger: bool,
        effects: u8,
    },
    Complete {
        lease: Nth,
        by_stranger: bool,
        succeeded: bool,
        summary: u8,
    },
    CancelAck {
        lease: Nth,
        by_stranger: bool,
    },
    /// From the right place, or so far from it.
    Append {
        lease: Nth,
        off_by: i8,
        bytes: u8,
    },
    /// Of a log that is mostly whole: its upload, or what follows when the bytes are there.
    Archive {
        lease: Nth,
        placed: bool,
    },
    Due {
        lease: Nth,
    },
    Gone {
        lease: Nth,
    },
}

#[derive(Debug, Clone)]
pub enum LeaseWanted {
    /// From the queues of this set.
    Any(u8),
    Job(Nth),
}

#[derive(Debug, Clone)]
pub enum DeliveryOp {
    Claim { delivery: Nth },
    Delivered { delivery: Nth, late: bool },
    Failed { delivery: Nth, late: bool },
    Due { delivery: Nth },
    Redrive { delivery: Nth },
}

/// A job of a plan, or the properties of a standalone one.
#[derive(Debug, Clone)]
pub struct Planned {
    /// Which of the jobs before it are needed, one bit each; the highest values ask for something unsound.
    pub needs: u8,
    pub required: bool,
    pub effect_once: bool,
    pub priority: i32,
    pub runs_on: u8,
    pub attempts_max: Option<u32>,
    pub retry_timeouts: bool,
    pub timeout_seconds: Option<f64>,
    /// Mostly it runs; 1 and 2 are skipped or reused, 3 is reused without saying of whom.
    pub decision: u8,
    pub input_key: Option<u8>,
}

#[derive(Debug, Clone)]
pub struct PlanOp {
    pub jobs: Vec<Planned>,
    pub group: Option<u8>,
    pub supersede: bool,
}

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    vec(step(), 1..40)
}

fn step() -> impl Strategy<Value = Step> {
    let pace = prop_oneof![12 => Just(Pace::Patient), 1 => Just(Pace::Hasty)];
    prop_oneof![
        12 => (pause(), pace, vec(op(), 1..7))
            .prop_map(|(pause_seconds, pace, ops)| Step::Batch { pause_seconds, pace, ops }),
        4 => pause().prop_map(|pause_seconds| Step::Tick { pause_seconds }),
        1 => Just(Step::Reopen),
    ]
}

/// Most deadlines are kept; each of the policy's is missed now and then.
fn pause() -> impl Strategy<Value = f64> {
    prop_oneof![
        20 => Just(0.0),
        5 => Just(0.001),
        5 => Just(11.0),
        2 => Just(31.0),
        1 => Just(61.0),
        1 => Just(121.0),
        1 => Just(8.0 * 3600.0),
    ]
}

fn nth() -> impl Strategy<Value = Nth> {
    prop_oneof![12 => 0..2u8, 4 => 0..6u8, 1 => any::<u8>()]
}

fn rarely() -> impl Strategy<Value = bool> {
    prop_oneof![19 => Just(false), 1 => Just(true)]
}

fn planned() -> impl Strategy<Value = Planned> {
    let priority = prop_oneof![6 => Just(0), 2 => -2..3i32, 1 => Just(i32::MIN), 1 => Just(i32::MAX)];
    let attempts_max = option::weighted(0.3, prop_oneof![20 => 1..4u32, 1 => Just(0)]);
    let seconds = prop_oneof![5 => Just(0.000001), 5 => Just(1.0 / 3.0), 5 => Just(90.0), 1 => Just(-1.0), 5 => Just(1e8)];
    let timeout = option::weighted(0.2, seconds);
    let decision = prop_oneof![30 => Just(0u8), 5 => 1..3u8, 1 => Just(3u8)];
    let rest = (decision, option::weighted(0.6, 0..3u8));
    (any::<u8>(), any::<bool>(), rarely(), priority, 0..3u8, attempts_max, any::<bool>(), timeout, rest)
        .prop_map(
            |(
                needs,
                required,
                effect_once,
                priority,
                runs_on,
                attempts_max,
                retry_timeouts,
                timeout_seconds,
                rest,
            )| {
                let (decision, input_key) = rest;
                Planned {
                    needs,
                    required,
                    effect_once,
                    priority,
                    runs_on,
                    attempts_max,
                    retry_timeouts,
                    timeout_seconds,
                    decision,
                    input_key,
                }
            },
        )
}

fn plan() -> impl Strategy<Value = PlanOp> {
    (vec(planned(), 0..5), option::weighted(0.5, 0..2u8), any::<bool>())
        .prop_map(|(jobs, group, supersede)| PlanOp { jobs, group, supersede })
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        10 => of_runs().prop_map(Op::Runs),
        8 => of_jobs().prop_map(Op::Jobs),
        30 => of_leases().prop_map(Op::Leases),
        8 => of_deliveries().prop_map(Op::Deliveries),
        2 => of_tenants().prop_map(Op::Tenants),
    ]
}

fn of_tenants() -> impl Strategy<Value = TenantOp> {
    prop_oneof![
        (0..4u8).prop_map(|name| TenantOp::Ensure { name }),
        (0..4u8, 0..3u8).prop_map(|(name, config)| TenantOp::Create { name, config }),
        (0..3u8, rarely(), any::<bool>()).prop_map(|(kind, by_stranger, shared)| TenantOp::CreateToken {
            kind,
            by_stranger,
            shared
        }),
        (nth(), 0..4u8).prop_map(|(token, scope)| TenantOp::RevokeToken { token, scope }),
        (rarely(), 0..2u8, 0..4u8).prop_map(|(by_stranger, name, events)| TenantOp::PutWebhook {
            by_stranger,
            name,
            events
        }),
    ]
}

fn of_runs() -> impl Strategy<Value = RunOp> {
    let key = option::weighted(0.3, 0..3u8);
    let create = (rarely(), key, any::<bool>(), option::weighted(0.8, plan()));
    prop_oneof![
        6 => create
            .prop_map(|(by_stranger, key, fail_fast, plan)| RunOp::Create { by_stranger, key, fail_fast, plan }),
        2 => (nth(), plan()).prop_map(|(run, plan)| RunOp::PlanAccepted { run, plan }),
        1 => (nth(), 0..3u8).prop_map(|(run, message)| RunOp::PlanFailed { run, message }),
        2 => (nth(), rarely()).prop_map(|(run, by_stranger)| RunOp::Cancel { run, by_stranger }),
        1 => (nth(), any::<bool>()).prop_map(|(of, failed_only)| RunOp::Rerun { of, failed_only }),
        1 => nth().prop_map(|run| RunOp::Due { run }),
        2 => nth().prop_map(|run| RunOp::Sweep { run }),
    ]
}

fn of_jobs() -> impl Strategy<Value = JobOp> {
    let key = option::weighted(0.5, prop_oneof![9 => 0..3u8, 1 => Just(3)]);
    prop_oneof![
        4 => (rarely(), key, 0..2u8, planned())
            .prop_map(|(by_stranger, key, payload, like)| JobOp::Submit { by_stranger, key, payload, like }),
        1 => (nth(), rarely()).prop_map(|(job, by_stranger)| JobOp::Cancel { job, by_stranger }),
        4 => (nth(), rarely()).prop_map(|(job, by_stranger)| JobOp::Retry { job, by_stranger }),
        2 => nth().prop_map(|job| JobOp::Release { job }),
    ]
}

fn of_leases() -> impl Strategy<Value = LeaseOp> {
    let wanted = prop_oneof![4 => (1..8u8).prop_map(LeaseWanted::Any), 2 => nth().prop_map(LeaseWanted::Job)];
    let phase = option::of(any::<bool>());
    prop_oneof![
        8 => (0..3u8, wanted).prop_map(|(runner, wanted)| LeaseOp::Lease { runner, wanted }),
        6 => (nth(), rarely()).prop_map(|(lease, by_stranger)| LeaseOp::Ack { lease, by_stranger }),
        2 => (nth(), rarely(), phase)
            .prop_map(|(lease, by_stranger, phase)| LeaseOp::Heartbeat { lease, by_stranger, phase }),
        1 => (nth(), rarely(), 0..4u8)
            .prop_map(|(lease, by_stranger, effects)| LeaseOp::Commit { lease, by_stranger, effects }),
        5 => (nth(), rarely(), any::<bool>(), 0..4u8).prop_map(
            |(lease, by_stranger, succeeded, summary)| LeaseOp::Complete { lease, by_stranger, succeeded, summary }
        ),
        1 => (nth(), rarely()).prop_map(|(lease, by_stranger)| LeaseOp::CancelAck { lease, by_stranger }),
        3 => (nth(), prop_oneof![8 => Just(0), 1 => -3..4i8], 0..14u8)
            .prop_map(|(lease, off_by, bytes)| LeaseOp::Append { lease, off_by, bytes }),
        2 => (nth(), any::<bool>()).prop_map(|(lease, placed)| LeaseOp::Archive { lease, placed }),
        1 => nth().prop_map(|lease| LeaseOp::Due { lease }),
        1 => nth().prop_map(|lease| LeaseOp::Gone { lease }),
    ]
}

fn of_deliveries() -> impl Strategy<Value = DeliveryOp> {
    prop_oneof![
        4 => nth().prop_map(|delivery| DeliveryOp::Claim { delivery }),
        1 => (nth(), rarely()).prop_map(|(delivery, late)| DeliveryOp::Delivered { delivery, late }),
        4 => (nth(), rarely()).prop_map(|(delivery, late)| DeliveryOp::Failed { delivery, late }),
        1 => nth().prop_map(|delivery| DeliveryOp::Due { delivery }),
        2 => nth().prop_map(|delivery| DeliveryOp::Redrive { delivery }),
    ]
}
