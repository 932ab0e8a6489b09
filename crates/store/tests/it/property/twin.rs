//! The reference in memory and another store, taken through the same steps.

use std::time::Duration;

use decisions::deliveries::DeliveryDue;
use decisions::jobs::ReleaseDependents;
use decisions::leases::{ExecutionDue, Lease, Wanted};
use decisions::runs::{RunDue, SweepRun};
use decisions::{Command, Policy, decide};
use store::{Due, Memory, Postgres, Sqlite, Store};
use tempfile::TempDir;
use wire::Time;

use crate::commands::{START, ensure_tenant, plan_job, run, submit, webhook};
use crate::desk::{asks_of, contents};
use crate::property::generate::{Pace, Step};
use crate::property::world::{World, policy};
use crate::stores::Database;

/// Where the other store is, so that it can be closed and opened again.
pub trait Place {
    type Store: Store;
    fn open(&self) -> impl Future<Output = Self::Store>;
    fn leave(self) -> impl Future<Output = ()>;
}

pub struct SqlitePlace(TempDir);

impl SqlitePlace {
    pub fn make() -> SqlitePlace {
        SqlitePlace(tempfile::tempdir().unwrap())
    }
}

impl Place for SqlitePlace {
    type Store = Sqlite;

    async fn open(&self) -> Sqlite {
        Sqlite::open(&self.0.path().join("deltaci.db")).unwrap()
    }

    async fn leave(self) {}
}

pub struct PostgresPlace(Database);

impl PostgresPlace {
    pub async fn make() -> PostgresPlace {
        PostgresPlace(Database::make().await)
    }
}

impl Place for PostgresPlace {
    type Store = Postgres;

    async fn open(&self) -> Postgres {
        Postgres::open(&self.0.url).await.unwrap()
    }

    async fn leave(self) {
        self.0.drop().await;
    }
}

/// Something to work with from the start, numbered apart from what follows.
const FIRST: u128 = 1 << 32;

pub struct Twin<P: Place> {
    place: P,
    other: P::Store,
    reference: Memory,
    world: World,
    /// As the other store last told it, if it tells the time.
    now: Time,
    may_move_time: bool,
}

impl<P: Place> Twin<P> {
    pub async fn at(place: P, may_move_time: bool) -> Twin<P> {
        let other = place.open().await;
        let (reference, world) = (Memory::default(), World::default());
        let mut twin = Twin { place, other, reference, world, now: START, may_move_time };
        let patient = policy(Pace::Patient);
        twin.perform(&[ensure_tenant().into()], &patient).await;
        twin.perform(&[webhook("hook-0", &["run.finished", "job.finished"]).into()], &patient).await;
        let diamond = vec![
            plan_job("a", &[]),
            plan_job("b", &["a"]),
            plan_job("c", &["a"]),
            plan_job("d", &["b", "c"]),
        ];
        twin.perform(&[run(FIRST, diamond).into(), submit(FIRST).into()], &patient).await;
        twin
    }

    pub async fn take(&mut self, step: &Step) {
        match step {
            Step::Batch { pause_seconds, pace, ops } => {
                self.pass(Duration::from_secs_f64(*pause_seconds));
                self.world.look(contents(&self.reference).await);
                let mut commands: Vec<Command> = ops.iter().map(|op| self.world.command(op)).collect();
                keep_one_search(&mut commands);
                self.perform(&commands, &policy(*pace)).await;
            }
            Step::Tick { pause_seconds } => {
                self.pass(Duration::from_secs_f64(*pause_seconds));
                self.tick().await;
            }
            Step::Reopen => self.other = self.place.open().await,
        }
    }

    fn pass(&mut self, time: Duration) {
        if self.may_move_time {
            self.now = self.now.plus(time);
        }
    }

    /// One load, decisions, one save, on both; nothing may differ.
    async fn perform(&mut self, commands: &[Command], policy: &Policy) {
        let asks = asks_of(commands);
        let mut theirs = self.other.load(&asks, self.now).await.unwrap();
        self.now = theirs.now;
        let mut ours = self.reference.load(&asks, self.now).await.unwrap();
        for command in commands {
            let (our_decision, their_decision) = (
                decide(&ours.book, command, self.now, policy),
                decide(&theirs.book, command, self.now, policy),
            );
            assert_eq!(our_decision, their_decision, "{command:?} in {commands:#?}");
            if let (Ok(our_decision), Ok(their_decision)) = (our_decision, their_decision) {
                ours.book.apply(our_decision.changes);
                theirs.book.apply(their_decision.changes);
            }
        }
        self.reference.save(ours.session, ours.book).await.unwrap();
        self.other
            .save(theirs.session, theirs.book)
            .await
            .unwrap_or_else(|error| panic!("{error}: {commands:#?}"));
    }

    /// What a tick of the server does. Returns whether anything was due.
    async fn tick(&mut self) -> bool {
        const LIMIT: usize = 7;
        let theirs = self.other.due(self.now, LIMIT).await.unwrap();
        // Asked after the other, whose clock may have gone on since the last step; what is due there is due here.
        let ours = self.reference.due(self.now, LIMIT).await.unwrap();
        assert_eq!(ours, theirs);
        let commands = commands_of(&ours);
        self.perform(&commands, &policy(Pace::Patient)).await;
        !commands.is_empty()
    }

    /// Both hold the same, and it is sound.
    pub async fn compare(&self) {
        let (ours, theirs) = (contents(&self.reference).await, contents(&self.other).await);
        assert_eq!(ours.problems(), [] as [&str; 0]);
        assert_eq!(ours.tenants, theirs.tenants);
        assert_eq!(ours.queues, theirs.queues);
        assert_eq!(ours.runs, theirs.runs);
        assert_eq!(ours.jobs, theirs.jobs);
        assert_eq!(ours.deliveries, theirs.deliveries);
        assert_eq!(ours.events, theirs.events);
        assert_eq!(ours.tokens, theirs.tokens);
        assert_eq!(ours.runners, theirs.runners);
        assert_eq!(ours.queues_ready, theirs.queues_ready);
        assert_eq!(ours.live, theirs.live);
        assert_eq!(ours.logs, theirs.logs);
        assert_eq!(ours.blobs, theirs.blobs);
        assert_eq!(ours.usages, theirs.usages);
        assert_eq!(ours.versions, theirs.versions);
        assert_eq!(ours.uploads, theirs.uploads);
        assert_eq!(ours.collector, theirs.collector);
        assert_eq!(ours.successes, theirs.successes);
        assert_eq!(self.other.integrity().await.unwrap(), [] as [&str; 0]);
    }

    /// Nobody speaks any more: time alone must bring every run to its end and take every lease back.
    pub async fn settle(&mut self) {
        const ROUNDS_MAX: u32 = 200;
        for _ in 0..ROUNDS_MAX {
            self.pass(Duration::from_secs(8 * 3600));
            if !self.tick().await {
                break;
            }
        }
        let contents = contents(&self.reference).await;
        for file in &contents.runs {
            assert!(file.run.is_over() && file.run.jobs_open == 0, "it never ends: {:#?}", file.run);
        }
        for execution in contents.jobs.iter().flat_map(|file| &file.executions) {
            assert!(!execution.lease.get().is_live(), "it is never taken back: {execution:#?}");
        }
    }

    pub async fn leave(self) {
        drop(self.other);
        self.place.leave().await;
    }
}

/// Stores may bring more candidates than a search needs, and not all bring the same; a second search in a batch could
/// see the difference.
fn keep_one_search(commands: &mut Vec<Command>) {
    let is_search =
        |command: &Command| matches!(command, Command::Lease(Lease { wanted: Wanted::Any(_), .. }));
    let mut searches = 0;
    commands.retain(|command| {
        searches += usize::from(is_search(command));
        !is_search(command) || searches == 1
    });
}

fn commands_of(due: &Due) -> Vec<Command> {
    let runs = due.runs.iter().map(|run| RunDue { run: *run }.into());
    let executions = due.executions.iter().map(|execution| ExecutionDue { execution: *execution }.into());
    let sweeps = due.sweeps.iter().map(|run| SweepRun { run: *run }.into());
    let releases = due.releases.iter().map(|job| ReleaseDependents { job: *job }.into());
    let claims = due.claims.iter().map(|delivery| DeliveryDue { delivery: *delivery, jitter: 0.5 }.into());
    runs.chain(executions).chain(sweeps).chain(releases).chain(claims).collect()
}
