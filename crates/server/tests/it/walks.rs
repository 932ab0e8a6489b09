//! Walks: any steps, in any order, in any batches, at any time. The doctor looks after every batch, no step may meet a
//! mistake of ours, and memory and SQLite answer alike. A walk that fails prints its seed and every step.

use std::time::Duration;

use decisions::Policy;
use server::perform::Failure;
use store::Store;

use crate::script::block_on;
use crate::stores::{InFile, InMemory, Place};
use crate::words::Words;
use crate::world::{BEGIN, Named, World};

const BATCHES: usize = 60;
const BATCH_MAX: usize = 4;

/// Above this many jobs no more are made, so that steps meet each other.
const JOBS_MAX: usize = 6;

/// Words in capitals are drawn; a step that is listed twice is drawn twice as often. The first ones make something new.
const MAKING: usize = 6;
const STEPS: &[&str] = &[
    "submit NEW",
    "submit NEW once attempts=1",
    "run NEW PLAN",
    "create NEW",
    "rerun NEW RUN",
    "rerun NEW RUN failed",
    "plan RUN a b:needs=a",
    "plan-failed RUN no",
    "cancel RUN",
    "cancel JOB",
    "retry JOB",
    "grant NEW RUNNER",
    "grant NEW RUNNER",
    "grant NEW RUNNER",
    "grant NEW RUNNER JOB",
    "ack LEASE",
    "ack LEASE",
    "ack LEASE",
    "heartbeat LEASE",
    "heartbeat LEASE uploading",
    "commit LEASE",
    "complete LEASE ok",
    "complete LEASE ok",
    "complete LEASE fail",
    "complete LEASE fail flaky",
    "cancel-ack LEASE",
    "claim MESSAGE",
    "delivered MESSAGE",
    "failed MESSAGE 503",
    "look LEASE",
    "sweep RUN",
    "release JOB",
];

const PLANS: &[&str] = &[
    "",
    "a b c:needs=a+b",
    "fail=fast a b c",
    "a:optional b:needs=a:attempts=1 c:once",
    "fail=fast a:attempts=2 b:needs=a c:needs=b d:timeout=60s:retry=timeout",
    "a d:timeout=60s:attempts=2:retry=timeout+infra e:once:needs=d f:optional:needs=a",
];

/// Mostly none, often a second, sometimes a deadline.
const PAUSES: &[u64] = &[0, 0, 0, 0, 0, 0, 1, 1, 1, 10, 30, 31, 60, 90, 120, 3600];

/// The same seed falls the same way (xorshift).
struct Dice(u64);

impl Dice {
    fn with_seed(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides
    }

    fn draw<'a>(&mut self, from: &[&'a str]) -> &'a str {
        if from.is_empty() { "unknown" } else { from[self.roll(from.len())] }
    }
}

struct Walk<S> {
    world: World<S>,
    dice: Dice,
    made: usize,
    log: Vec<String>,
}

impl<S: Store> Walk<S> {
    async fn begin(store: std::sync::Arc<S>, seed: u64) -> Walk<S> {
        let policy = Policy { delivery_tries_max: 2, ..Policy::default() };
        let world = World::begin(store, policy).await;
        let mut walk = Walk { world, dice: Dice::with_seed(seed), made: 0, log: Vec::new() };
        if walk.dice.roll(2) == 0 {
            walk.batch(vec!["webhook ci run.finished job.finished".into()]).await;
        }
        walk
    }

    async fn go(&mut self) {
        for _ in 0..BATCHES {
            let pause = PAUSES[self.dice.roll(PAUSES.len())];
            self.world.now = self.world.now.plus(Duration::from_secs(pause));
            if self.dice.roll(6) == 0 {
                let moved = self.world.tick().await;
                self.note(&format!("tick -> {moved}"));
            }
            let count = 1 + self.dice.roll(BATCH_MAX);
            let lines = (0..count).map(|_| self.line()).collect();
            self.batch(lines).await;
            self.name_messages().await;
            let report =
                server::doctor::examine(&*self.world.store, |_| ()).await.expect("the store answers");
            assert!(report.findings.is_empty(), "{:#?}\n{}", report.findings, self.log.join("\n"));
        }
    }

    /// A step with everything drawn.
    fn line(&mut self) -> String {
        let from = if self.names(|it| matches!(it, Named::Job(_))).len() < JOBS_MAX { 0 } else { MAKING };
        let step = STEPS[from + self.dice.roll(STEPS.len() - from)];
        let words: Vec<String> = step.split(' ').map(|word| self.drawn(word)).collect();
        words.join(" ")
    }

    fn drawn(&mut self, word: &str) -> String {
        let names = match word {
            "NEW" => {
                self.made += 1;
                return format!("N{}", self.made);
            }
            "RUNNER" => vec!["x".to_owned(), "y".to_owned(), "z".to_owned()],
            "PLAN" => return self.dice.draw(PLANS).to_owned(),
            "RUN" => self.names(|it| matches!(it, Named::Run(_))),
            "JOB" => self.names(|it| matches!(it, Named::Job(_))),
            "LEASE" => self.names(|it| matches!(it, Named::Lease(_))),
            "MESSAGE" => self.names(|it| matches!(it, Named::Message(..))),
            plain => return plain.to_owned(),
        };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.dice.draw(&names).to_owned()
    }

    fn names(&self, kind: fn(&Named) -> bool) -> Vec<String> {
        self.world.names.iter().filter(|(_, it)| kind(it)).map(|(name, _)| name.clone()).collect()
    }

    async fn batch(&mut self, lines: Vec<String>) {
        let (mut said, mut commands) = (Vec::new(), Vec::new());
        for line in lines {
            let mut words = line.split_whitespace();
            let verb = words.next().expect("a step has a verb");
            // A step about something that does not exist yet is none.
            if let Ok(command) = self.world.command(verb, &Words::of(words)).await {
                commands.push(command);
                said.push(line);
            }
        }
        let answers = self.world.perform(commands).await;
        for (line, answer) in said.iter().zip(answers) {
            let failed = matches!(answer, Err(Failure::Bug(_) | Failure::Busy));
            let words = Words::of(line.split_whitespace().skip(1));
            let text = self.world.answered(&words, answer).await.expect("an answer can be said");
            self.note(&format!("{line} -> {text}"));
            assert!(!failed, "{}", self.log.join("\n"));
        }
    }

    async fn name_messages(&mut self) {
        for delivery in self.world.deliveries().await {
            let named = Named::Message(delivery.id, delivery.tries);
            self.world.names.entry(delivery.id.to_string()).or_insert(named);
        }
    }

    fn note(&mut self, text: &str) {
        self.log.push(format!("{:?} {text}", self.world.now.since(BEGIN)));
    }
}

/// What a walk said, step by step.
async fn walked<P: Place>(place: P, seed: u64) -> Vec<String> {
    let mut walk = Walk::begin(place.open().await, seed).await;
    walk.log.push(format!("seed {seed}"));
    walk.go().await;
    walk.log
}

#[test]
fn wherever_a_walk_goes_the_doctor_finds_nothing() {
    block_on(async {
        for seed in 1..=20 {
            walked(InMemory::default(), seed).await;
        }
    });
}

#[test]
fn memory_and_sqlite_answer_alike_all_along_a_walk() {
    block_on(async {
        for seed in 101..=102 {
            assert_eq!(walked(InMemory::default(), seed).await, walked(InFile::new(), seed).await);
        }
    });
}
