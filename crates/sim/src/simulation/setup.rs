//! Who takes part and under which timings, drawn from the seed; and how far a profile lets it go.

use std::time::Duration;

use decisions::Policy;

use super::dice::Dice;
use super::faults::Limits;

/// How large worlds may become and how bad it may get. Not part of the seed: the same seed under another profile is another
/// story.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    pub servers_max: usize,
    pub runners_max: usize,
    /// Jobs that are handed in alone.
    pub jobs_max: usize,
    pub runs_max: usize,
    /// Those who upload, publish, withdraw and restore.
    pub publishers_max: usize,
    /// How long things go wrong.
    pub storm: Duration,
    /// Of every rate that a seed draws.
    pub faults_scale: f64,
    /// Left out, to make a story shorter.
    pub limits: Limits,
    /// Keep what happened in words.
    pub telling: bool,
}

impl Profile {
    /// Small worlds, many of them: where things are few they meet.
    pub fn usual() -> Profile {
        Profile {
            servers_max: 3,
            runners_max: 4,
            jobs_max: 20,
            runs_max: 4,
            publishers_max: 2,
            storm: Duration::from_secs(1_200),
            faults_scale: 1.0,
            limits: Limits::default(),
            telling: false,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Setup {
    pub servers: usize,
    pub runners: usize,
    pub jobs: usize,
    pub runs: usize,
    pub publishers: usize,
    pub policy: Policy,
    /// How often servers look for what is due.
    pub tick: Duration,
    pub collect_every: Duration,
    /// How long withdrawn versions can be brought back.
    pub retention: Duration,
    /// Between two things that people or the world do.
    pub meddle_every: Duration,
    pub nemesis_every: Duration,
}

impl Setup {
    pub fn draw(seed: u64, profile: &Profile) -> Setup {
        let dice = &mut Dice::new(seed, "setup");
        // Drawn without the profile's bounds, so that a smaller profile keeps what it leaves.
        let mut count = |least: u64, usual: u64, most: usize| (dice.between(least, usual) as usize).min(most);
        let servers = count(1, 3, profile.servers_max);
        let runners = count(1, 4, profile.runners_max);
        let jobs = count(6, 20, profile.jobs_max);
        let runs = count(0, 4, profile.runs_max);
        let publishers = count(0, 2, profile.publishers_max);
        Setup {
            servers,
            runners,
            jobs,
            runs,
            publishers,
            policy: policy(dice),
            tick: dice.millis(500, 3_000),
            collect_every: dice.millis(20_000, 120_000),
            retention: dice.millis(20_000, 120_000),
            meddle_every: dice.millis(3_000, 20_000),
            nemesis_every: dice.millis(2_000, 10_000),
        }
    }
}

/// Shorter than in real life, in the same proportions, so that every deadline passes many times.
fn policy(dice: &mut Dice) -> Policy {
    let lease_ttl = dice.millis(12_000, 40_000);
    Policy {
        lease_ttl,
        heartbeat_interval: lease_ttl / dice.between(3, 6) as u32,
        ack_timeout: dice.millis(3_000, 10_000),
        cancel_deadline: dice.millis(4_000, 15_000),
        plan_timeout: dice.millis(5_000, 20_000),
        run_timeout: dice.millis(200_000, 900_000),
        job_timeout: dice.millis(12_000, 120_000),
        timeout_buffer: dice.millis(2_000, 5_000),
        runner_bar: dice.millis(5_000, 15_000),
        last_seen_step: dice.millis(1_000, 10_000),
        attempts_max: dice.between(1, 3) as u32,
        lost_leases_max: dice.between(0, 2) as u32,
        delivery_tries_max: dice.between(2, 5) as u32,
        delivery_claim_ttl: dice.millis(4_000, 12_000),
        delivery_backoff_first: dice.millis(200, 1_000),
        delivery_backoff_max: dice.millis(3_000, 15_000),
        log_head_bytes_max: dice.between(500, 3_000),
        log_tail_bytes_max: dice.between(500, 3_000),
        upload_ttl: dice.millis(30_000, 120_000),
        blob_grace: dice.millis(10_000, 60_000),
        collection_hold: dice.millis(3_000, 10_000),
        ..Policy::default()
    }
}
