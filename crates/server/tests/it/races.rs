//! Two servers over one store, both of which have loaded before either saves. Whoever saves second sees that the world
//! has moved, and decides again.

use std::sync::Arc;

use decisions::{Answer, Command, Policy, Refusal};
use machines::{Machine, job};
use server::perform::{BATCH_MAX, Failure, Perform};
use store::{Memory, Store, StoreError};
use wire::runner::StaleReason;

use crate::script::block_on;
use crate::stores::{InMemory, Place};
use crate::words::Words;
use crate::world::World;

/// As often as a server decides again before it gives up.
const ROUNDS_MAX: usize = 100;

struct Race {
    world: World<Memory>,
}

impl Race {
    /// A world in which a script's first lines have happened, a second apart.
    async fn after(script: &[&str]) -> Race {
        let mut world = World::begin(InMemory::default().open().await, Policy::default()).await;
        for line in script {
            let (verb, words) = line.split_once(' ').unwrap();
            let words = Words::split(words, ' ');
            let command = world.command(verb, &words).await.unwrap();
            let answer = world.perform_one(command).await;
            world.answered(&words, answer).await.unwrap();
        }
        Race { world }
    }

    async fn command(&mut self, line: &str) -> Command {
        let (verb, words) = line.split_once(' ').unwrap();
        self.world.command(verb, &Words::split(words, ' ')).await.unwrap()
    }

    /// Both load, the first saves, the second saves; conflicts are decided again.
    async fn run(&mut self, first: &str, second: &str) -> [Result<Answer, Failure>; 2] {
        let commands = [self.command(first).await, self.command(second).await];
        let store = &self.world.store;
        let mut cores = [Perform::new(Policy::default()), Perform::new(Policy::default())];
        let mut prepared = Vec::new();
        for (core, command) in cores.iter_mut().zip(commands) {
            core.handle_command(command, ()).unwrap();
            let mut batch = core.poll_batch(BATCH_MAX).unwrap();
            let mut loaded = store.load(&batch.asks(), self.world.now).await.unwrap();
            batch.handle_loaded(&mut loaded.book, loaded.now);
            prepared.push((batch, loaded));
        }
        let mut answers = Vec::new();
        for (core, (batch, loaded)) in cores.iter_mut().zip(prepared) {
            let saved = store.save(loaded.session, loaded.book).await;
            let mut settled = core.handle_saved(batch, saved).answers;
            settled.extend(finish(core, store, self.world.now).await);
            answers.extend(settled.into_iter().map(|((), answer)| answer));
        }
        answers.try_into().expect("each command is answered once")
    }

    async fn expect_sound(&self) {
        let report = server::doctor::examine(&*self.world.store, |_| ()).await.unwrap();
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
    }

    async fn job_state(&self, name: &str) -> &'static str {
        self.world.job_file(self.world.job_named(name).unwrap()).await.job.state.as_str()
    }

    async fn run_state(&self, name: &str) -> String {
        self.world.run_state(self.world.run_named(name).unwrap()).await
    }
}

async fn finish(
    core: &mut Perform<()>,
    store: &Arc<Memory>,
    now: wire::Time,
) -> Vec<((), Result<Answer, Failure>)> {
    let mut answers = Vec::new();
    for _ in 0..ROUNDS_MAX {
        let Some(mut batch) = core.poll_batch(BATCH_MAX) else { return answers };
        let mut loaded = store.load(&batch.asks(), now).await.unwrap();
        batch.handle_loaded(&mut loaded.book, loaded.now);
        let saved: Result<(), StoreError> = store.save(loaded.session, loaded.book).await;
        answers.extend(core.handle_saved(batch, saved).answers);
    }
    panic!("it was decided {ROUNDS_MAX} times and never saved");
}

fn stale(reason: StaleReason) -> Result<Answer, Failure> {
    Err(Failure::Refused(Refusal::StaleLease { reason }))
}

#[test]
fn the_last_two_jobs_of_a_run_finished_at_once_end_it() {
    block_on(async {
        for (first, second) in [("complete A ok", "complete B ok"), ("complete A fail", "complete B ok")] {
            let mut race = Race::after(&["run R a b", "grant A x a", "grant B y b", "ack A", "ack B"]).await;
            let answers = race.run(first, second).await;
            assert_eq!(
                answers,
                [Ok(Answer::Completed { accepted: true }), Ok(Answer::Completed { accepted: true })]
            );
            let expected = if first.ends_with("ok") { "REPORTED SUCCESS" } else { "REPORTED FAILED" };
            assert_eq!(race.run_state("R").await, expected);
            race.expect_sound().await;
        }
    });
}

#[test]
fn a_cancel_and_a_completion_at_once_have_one_winner() {
    block_on(async {
        let begin = ["submit J", "grant A x", "ack A"];
        let mut race = Race::after(&begin).await;
        let answers = race.run("cancel J", "complete A ok").await;
        assert_eq!(
            answers,
            [Ok(Answer::CancelTaken { over: false }), Ok(Answer::Completed { accepted: false })]
        );
        assert_eq!(race.job_state("J").await, job::State::Canceled.as_str());
        race.expect_sound().await;

        let mut race = Race::after(&begin).await;
        let answers = race.run("complete A ok", "cancel J").await;
        assert_eq!(answers[0], Ok(Answer::Completed { accepted: true }));
        assert_eq!(answers[1], Err(Failure::Refused(Refusal::JobOver { state: "SUCCEEDED" })));
        race.expect_sound().await;
    });
}

#[test]
fn a_run_cancel_and_a_completion_at_once_have_one_winner() {
    block_on(async {
        let begin = ["run R a b", "grant A x a", "ack A"];
        let mut race = Race::after(&begin).await;
        let answers = race.run("cancel R", "complete A ok").await;
        assert_eq!(answers[1], Ok(Answer::Completed { accepted: false }));
        race.world.tick().await;
        assert_eq!(race.run_state("R").await, "REPORTED CANCELED");
        race.expect_sound().await;

        let mut race = Race::after(&begin).await;
        let answers = race.run("complete A ok", "cancel R").await;
        assert_eq!(answers[1], Ok(Answer::CancelTaken { over: false }));
        race.world.tick().await;
        assert_eq!(race.job_state("a").await, job::State::Succeeded.as_str());
        assert_eq!(race.run_state("R").await, "REPORTED CANCELED");
        race.expect_sound().await;
    });
}

/// A commit writes nothing that a cancel of the run writes; it only read the run.
#[test]
fn a_commit_that_was_decided_before_the_cancel_of_its_run_is_decided_again() {
    block_on(async {
        let mut race = Race::after(&["run R a b", "grant A x a", "ack A"]).await;
        let answers = race.run("cancel R", "commit A").await;
        assert_eq!(answers[0], Ok(Answer::CancelTaken { over: false }));
        assert_eq!(answers[1], Err(Failure::Refused(Refusal::CancelRequested)));
        race.expect_sound().await;
    });
}

/// The server that performs the completion has the slower clock: for it the lease is still alive.
#[test]
fn a_rescue_and_a_completion_at_once_have_one_winner() {
    block_on(async {
        let begin = ["submit J", "grant A x", "ack A"];
        let late = Policy::default().lease_ttl;
        let mut race = Race::after(&begin).await;
        race.world.now = race.world.now.plus(late);
        let answers = race.run("look A", "complete A ok").await;
        assert_eq!(answers, [Ok(Answer::Settled { moved: true }), stale(StaleReason::LeaseExpired)]);
        assert_eq!(race.job_state("J").await, job::State::Pending.as_str());
        race.expect_sound().await;

        let mut race = Race::after(&begin).await;
        race.world.now = race.world.now.plus(late - std::time::Duration::from_micros(1));
        let answers = race.run("complete A ok", "look A").await;
        assert_eq!(answers, [Ok(Answer::Completed { accepted: true }), Ok(Answer::Settled { moved: false })]);
        assert_eq!(race.job_state("J").await, job::State::Succeeded.as_str());
        race.expect_sound().await;
    });
}

#[test]
fn two_runners_that_ask_for_one_job_at_once_get_it_once() {
    block_on(async {
        let mut race = Race::after(&["submit J"]).await;
        let answers = race.run("grant A x", "grant B y").await;
        assert!(matches!(answers[0], Ok(Answer::Granted(_))), "{answers:?}");
        assert_eq!(answers[1], Ok(Answer::NoWork { barred_until: None }));
        race.expect_sound().await;
    });
}

#[test]
fn one_trigger_that_arrives_twice_at_once_is_one_run() {
    block_on(async {
        let mut race = Race::after(&["submit J"]).await;
        let answers = race.run("run R trigger=push a", "run S trigger=push a").await;
        match answers {
            [
                Ok(Answer::RunCreated { run, existing: false }),
                Ok(Answer::RunCreated { run: same, existing: true }),
            ] => {
                assert_eq!(run, same);
            }
            other => panic!("{other:?}"),
        }
        race.expect_sound().await;
    });
}

#[test]
fn one_job_key_submitted_twice_at_once_is_one_job() {
    block_on(async {
        let mut race = Race::after(&["submit J"]).await;
        let answers = race.run("submit K key=mine", "submit L key=mine").await;
        match answers {
            [
                Ok(Answer::JobSubmitted { job, existing: false }),
                Ok(Answer::JobSubmitted { job: same, existing: true }),
            ] => {
                assert_eq!(job, same);
            }
            other => panic!("{other:?}"),
        }
        race.expect_sound().await;
    });
}

#[test]
fn one_tenant_made_twice_at_once_is_one_tenant() {
    block_on(async {
        let mut race = Race::after(&["submit J"]).await;
        let answers = race.run("tenant other", "tenant other").await;
        assert_eq!(answers[0], answers[1], "both servers know the tenant by one id");
        let tenants = race.world.store.tenants().await.unwrap();
        assert_eq!(tenants.iter().filter(|tenant| tenant.name == "other").count(), 1, "{tenants:#?}");
    });
}

#[test]
fn two_workers_that_claim_one_message_at_once_get_it_once() {
    block_on(async {
        let mut race = Race::after(&["webhook ci run.finished", "run R"]).await;
        race.world.asked("message", &Words::split("M run.finished", ' ')).await.unwrap().unwrap();
        let answers = race.run("claim M", "claim M").await;
        assert!(matches!(answers[0], Ok(Answer::Claimed(Some(_)))), "{answers:?}");
        assert_eq!(answers[1], Ok(Answer::Claimed(None)));
        race.expect_sound().await;
    });
}

#[test]
fn both_needs_of_a_job_released_at_once_release_it_once() {
    block_on(async {
        let mut race = Race::after(&[
            "run R a b c:needs=a+b",
            "grant A x a",
            "grant B y b",
            "ack A",
            "ack B",
            "complete A ok",
            "complete B ok",
        ])
        .await;
        let answers = race.run("release a", "release b").await;
        assert_eq!(answers, [Ok(Answer::Settled { moved: true }), Ok(Answer::Settled { moved: true })]);
        let file = race.world.job_file(race.world.job_named("c").unwrap()).await;
        assert_eq!(file.ready.len(), 1);
        race.expect_sound().await;
    });
}
