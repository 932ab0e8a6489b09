//! Seeds: many of them hold every rule, the same one gives the same trace, and planted mistakes are found.

mod planted;

use std::collections::BTreeMap;

use machines::ROSTER;
use sim::simulation::parts::Parts;
use sim::simulation::shrink::shrink;
use sim::simulation::{Class, Profile, Row, Total, many, run};

/// Seeds that broke a rule once, one a line; what follows the number says which.
const REGRESSIONS: &str = include_str!("regressions.txt");

/// CI has two cores.
const THREADS: usize = 2;

/// The number of seeds that CI plays. `DELTACI_SIM_SEEDS=60000` makes a night of it.
fn seeds() -> u64 {
    std::env::var("DELTACI_SIM_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(1_000)
}

/// Tells the story of the first seed that failed, made shorter.
fn must_hold(total: &Total) {
    if let Some((seed, violations)) = total.failed.first_key_value() {
        let story = shrink(*seed, &Profile::usual(), Parts::REAL);
        let story = story.map_or_else(|| format!("{violations:?}, but not again"), |story| story.to_string());
        panic!("{} seeds failed: {:?}\n{story}", total.failed.len(), total.failed.keys());
    }
}

/// Rows without which nothing would be tried.
const COMMON: &[Row] = &[
    ("attempt", "CANCEL_REQUESTED", "FinishCancel"),
    ("attempt", "LEASED", "LoseLease"),
    ("attempt", "RUNNING", "LoseLease"),
    ("attempt", "RUNNING", "RequestCancel"),
    ("attempt", "STARTING", "LoseLeaseForGood"),
    ("attempt", "UPLOADING", "Fail"),
    ("attempt", "UPLOADING", "Succeed"),
    ("delivery", "dead_letter", "Redrive"),
    ("delivery", "delivering", "FailForGood"),
    ("delivery", "delivering", "FailWithTriesLeft"),
    ("execution", "IN_PROGRESS", "Abort"),
    ("execution", "IN_PROGRESS", "Commit"),
    ("lease", "ACTIVE", "CancelAck"),
    ("lease", "ACTIVE", "Complete"),
    ("lease", "ACTIVE", "Expire"),
    ("lease", "ACTIVE", "Revoke"),
    ("lease", "GRANTED", "Revoke"),
    ("upload", "initiated", "FastPathDedupe"),
    ("upload", "pending_commit", "AbortUpload"),
    ("upload", "pending_commit", "CommitVerified"),
    ("version", "draft", "PublishQuarantined"),
    ("version", "published", "Tombstone"),
    ("version", "tombstoned", "Restore"),
];

/// Rows that a simulation cannot take, each with its reason.
fn is_beyond(machine: &str, state: &str, event: &str) -> bool {
    match (machine, state, event) {
        // Derived from attempts and executions, never moved by an event.
        ("job", ..) => true,
        // Tenants are made before it begins, and nothing is provisioned for them.
        ("tenant" | "workflow", ..) => true,
        // Both are left in the command that enters them.
        ("blob", "tombstoned", "Reference") | ("run", "CREATED", "RequestCancel") => true,
        // The window's end is a revocation, and nobody says that a runner is dead.
        ("lease", "GRANTED", "Expire") => true,
        // Nothing is sent in parts.
        ("upload", "parts_uploading", "AbortUpload") => true,
        _ => false,
    }
}

#[test]
fn many_seeds_hold_every_rule() {
    let total = many(0..seeds(), &Profile::usual(), THREADS, &|_| {});
    println!("{total}");
    for (row, count) in &total.rows {
        println!("  {count:>9} {} {} + {}", row.0, row.1, row.2);
    }
    must_hold(&total);
    assert!(total.faults_total() >= seeds() * 500, "too few faults: {}", total.faults_total());
    let rare: Vec<_> = Class::ALL.iter().filter(|class| total.faults[*class] < 10).collect();
    assert!(rare.is_empty(), "hardly ever happened: {rare:?}");
    println!("rows that were hardly ever taken: {:?}", rows_rarely_taken(&total));
    let rare: Vec<_> = COMMON.iter().filter(|row| total.rows.get(*row).copied().unwrap_or(0) < 10).collect();
    assert!(rare.is_empty(), "rows that must be common: {rare:?}");
}

fn rows_rarely_taken(total: &Total) -> Vec<String> {
    let mut taken: BTreeMap<(String, String, String), u64> = BTreeMap::new();
    for ((machine, from, event), count) in &total.rows {
        taken.insert((machine.to_string(), from.to_string(), event.to_string()), *count);
    }
    let mut rare = Vec::new();
    for machine in ROSTER {
        for (from, row) in machine.steps().filter(|(from, row)| !is_beyond(machine.name, from, row.event)) {
            let key = (machine.name.to_owned(), from.to_owned(), row.event.to_owned());
            if taken.get(&key).copied().unwrap_or(0) < 10 {
                rare.push(format!("{} {} + {}", key.0, key.1, key.2));
            }
        }
    }
    rare
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let profile = Profile::usual();
    let traces: Vec<u64> = (0..50).map(|seed| run(seed, &profile).trace).collect();
    let again: Vec<u64> = (0..50).map(|seed| run(seed, &profile).trace).collect();
    assert_eq!(traces, again);
    let different: std::collections::BTreeSet<u64> = traces.iter().copied().collect();
    assert_eq!(different.len(), 50);
    let (one, two) = (many(0..20, &profile, 1, &|_| {}), many(0..20, &profile, 2, &|_| {}));
    assert_eq!(one, two, "threads share nothing");
}

#[test]
fn seeds_that_broke_a_rule_once_hold_it_now() {
    for line in REGRESSIONS.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        let seed = line.split_whitespace().next().and_then(|number| number.parse().ok());
        let seed = seed.unwrap_or_else(|| panic!("a line begins with a seed: {line}"));
        let outcome = run(seed, &Profile::usual());
        assert_eq!(outcome.violations, [], "{line}");
    }
}

/// `DELTACI_SIM_SEED=17 cargo test -p sim --test it simulation::replay -- --nocapture`
#[test]
fn replay() {
    let Some(seed) = std::env::var("DELTACI_SIM_SEED").ok().and_then(|seed| seed.parse().ok()) else {
        return;
    };
    match shrink(seed, &Profile::usual(), Parts::REAL) {
        Some(story) => panic!("{story}"),
        None => println!("seed {seed} holds every rule"),
    }
}
