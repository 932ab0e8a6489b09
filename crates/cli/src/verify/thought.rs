//! What needs no process: the models, in every order, and whole systems on a simulated clock, seed after seed.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use server::Clock;
use sim::models::outbox::Outbox;
use sim::models::story::Story;
use sim::models::work::{Saying, Setup, Work};
use sim::simulation::{Profile, many};

use super::report::Part;
use crate::output::progress;

/// Every order of messages, ticks and crashes around one job and one message of the outbox.
pub fn models() -> Part {
    progress("models: every order of messages, ticks and crashes");
    let clock = Clock::start();
    let begun = clock.now();
    let job = Work {
        setup: Setup::Job { effect_once: true },
        asks: vec![1, 1],
        servers: 2,
        sayings: vec![Saying::Heartbeat, Saying::Succeed, Saying::Fail, Saying::CancelAck],
        cancel: true,
        retry: false,
        policy: Work::policy(),
    };
    let message = Outbox { workers: 2, servers: 2, redrives: 1, policy: Outbox::policy() };
    let (mut tried, mut found) = (Vec::new(), Vec::new());
    let mut note = |what: &str, worlds: Result<usize, Story>| match worlds {
        Ok(worlds) => tried.push((format!("worlds of {what}, each looked at"), worlds as u64)),
        Err(story) => found.push(format!("{what}: {story}")),
    };
    note("a job, two runners, two servers and a cancel", job.explore());
    note("a message, two workers and two servers", message.explore());
    Part {
        name: "models".into(),
        tried,
        measured: Vec::new(),
        found,
        took: clock.now().since(begun),
        picture: None,
    }
}

/// So many threads play seeds at a time.
const THREADS: usize = 2;

/// Whole systems, each decided by its number.
pub fn simulation(seeds: Range<u64>) -> Part {
    let clock = Clock::start();
    let (begun, count, played) = (clock.now(), seeds.end - seeds.start, AtomicU64::new(0));
    let total = many(seeds, &Profile::usual(), THREADS, &|_| {
        let played = played.fetch_add(1, Ordering::Relaxed) + 1;
        if played % 20 == 0 {
            progress(&format!("simulation: {played} of {count} systems"));
        }
    });
    let mut tried = vec![
        ("systems played to their end".to_owned(), total.seeds),
        ("simulated hours".to_owned(), total.simulated.as_secs() / 3_600),
    ];
    tried.extend(total.faults.iter().map(|(class, count)| (class.to_string(), *count)));
    let found = total.failed.iter().flat_map(|(seed, broken)| {
        let seed = *seed;
        broken.iter().map(move |violation| format!("seed {seed}: {violation}"))
    });
    Part {
        name: "simulation".into(),
        tried,
        measured: Vec::new(),
        found: found.collect(),
        took: clock.now().since(begun),
        picture: None,
    }
}
