//! A store that fails: what the caller is told, what has happened, and what the same command does when it comes again.

use std::sync::Arc;

use decisions::tenants::EnsureTenant;
use decisions::{Answer, Command, Policy};
use server::perform::{BATCH_MAX, Failure, Perform, Unavailable, WAITING_MAX};
use store::{Fault, Memory};
use wire::TenantId;

use crate::script::block_on;
use crate::stores::{InMemory, Place};
use crate::words::Words;
use crate::world::World;

/// The code that each failure has towards programs; a new one must be named here.
fn code_of(failure: &Failure) -> &'static str {
    match failure {
        Failure::Refused(refusal) => refusal.code(),
        Failure::Busy => "busy",
        Failure::Unavailable(Unavailable::Store(_)) => "store_unavailable",
        Failure::Unavailable(Unavailable::Stopping) => "stopping",
        Failure::Unknown(_) => "outcome_unknown",
        Failure::Bug(_) => "internal_error",
    }
}

fn expect_failure(answer: &Result<Answer, Failure>, code: &str) {
    let failure = answer.as_ref().expect_err("it must fail");
    assert_eq!((failure.code(), code_of(failure)), (code, code), "{failure}");
}

/// A world in which the lines have happened.
async fn world_after(script: &[&str]) -> World<Memory> {
    let mut world = World::begin(InMemory::default().open().await, Policy::default()).await;
    for line in script {
        say(&mut world, line).await;
    }
    world
}

async fn command(world: &mut World<Memory>, line: &str) -> Command {
    let words = Words::split(line, ' ');
    let verb = words.plain[0];
    let rest = Words::of(line.split_whitespace().skip(1));
    world.command(verb, &rest).await.unwrap_or_else(|problem| panic!("{problem} in: {line}"))
}

/// One line: a command or a question, and what it comes to in words.
async fn say(world: &mut World<Memory>, line: &str) -> String {
    let rest = Words::of(line.split_whitespace().skip(1));
    if let Some(said) = world.asked(line.split_whitespace().next().unwrap_or_default(), &rest).await {
        return said.unwrap();
    }
    let command = command(world, line).await;
    let answer = world.perform_one(command).await;
    world.answered(&rest, answer).await.unwrap()
}

#[test]
fn a_lost_request_changes_nothing_and_may_be_sent_again() {
    block_on(async {
        let mut world = world_after(&["submit J", "grant L a", "ack L"]).await;
        world.log_growth().await;
        let command = command(&mut world, "complete L ok").await;
        world.store.inject([Fault::LoseRequest]);
        expect_failure(&world.perform_one(command.clone()).await, "store_unavailable");
        assert_eq!(world.log_growth().await, 0);
        assert_eq!(world.perform_one(command).await, Ok(Answer::Completed { accepted: true }));
    });
}

/// What happens to a command whose answer was lost, when it comes again.
struct Repeat {
    before: &'static [&'static str],
    line: &'static str,
    /// What the repeat is answered.
    again: &'static str,
}

/// Commands whose repeat must be recognised: the answer is the first one's.
const RECOGNISED: &[Repeat] = &[
    Repeat { before: &[], line: "tenant other", again: "ready" },
    Repeat { before: &[], line: "webhook ci run.finished", again: "put" },
    Repeat { before: &[], line: "run R a", again: "existing QUEUED" },
    Repeat { before: &[], line: "create R", again: "existing PLANNING" },
    Repeat { before: &["create R"], line: "plan R a", again: "QUEUED" },
    Repeat { before: &["create R"], line: "plan-failed R no", again: "REPORTED FAILED" },
    Repeat { before: &["run R a"], line: "cancel R", again: "asked" },
    Repeat { before: &["create R"], line: "cancel R", again: "over" },
    Repeat { before: &["run R a", "cancel a"], line: "rerun S R", again: "existing QUEUED" },
    Repeat { before: &[], line: "submit J", again: "existing PENDING" },
    Repeat { before: &[], line: "submit J key=mine", again: "existing PENDING" },
    Repeat { before: &["submit J"], line: "cancel J", again: "over" },
    Repeat { before: &["submit J", "grant L a", "ack L"], line: "cancel J", again: "asked" },
    Repeat { before: &["submit J", "grant L a"], line: "ack L", again: "ACTIVE" },
    Repeat { before: &["submit J", "grant L a", "ack L"], line: "heartbeat L", again: "RUNNING" },
    Repeat { before: &["submit J", "grant L a", "ack L"], line: "commit L", again: "COMMITTED" },
    Repeat { before: &["submit J", "grant L a", "ack L"], line: "complete L ok", again: "COMPLETED" },
    Repeat { before: &["submit J", "grant L a", "ack L"], line: "complete L fail flaky", again: "COMPLETED" },
    Repeat {
        before: &["submit J", "grant L a", "ack L", "cancel J"],
        line: "complete L ok",
        again: "not_accepted",
    },
    Repeat {
        before: &["submit J", "grant L a", "ack L", "cancel J"],
        line: "cancel-ack L",
        again: "CANCELED",
    },
    Repeat {
        before: &["webhook ci run.finished", "run R", "message M run.finished", "claim M"],
        line: "delivered M",
        again: "nothing",
    },
];

/// Commands that are not recognised, and need not be: the repeat finds that there is nothing left to do.
const SPENT: &[Repeat] = &[
    Repeat { before: &["submit J", "cancel J"], line: "retry J", again: "refused job_not_retryable" },
    Repeat {
        before: &["webhook ci run.finished", "run R", "message M run.finished"],
        line: "claim M",
        again: "nothing",
    },
    Repeat {
        before: &["webhook ci run.finished", "run R", "message M run.finished", "claim M"],
        line: "failed M 503",
        again: "refused claim_lost",
    },
];

async fn check_repeat(repeat: &Repeat) {
    let mut world = world_after(repeat.before).await;
    let command = command(&mut world, repeat.line).await;
    world.log_growth().await;
    world.store.inject([Fault::LoseAnswer]);
    expect_failure(&world.perform_one(command.clone()).await, "outcome_unknown");
    world.log_growth().await;
    let answer = world.perform_one(command).await;
    let words = Words::of(repeat.line.split_whitespace().skip(1));
    let said = world.answered(&words, answer).await.unwrap();
    assert!(said.starts_with(repeat.again), "{}: expected {}, found {said}", repeat.line, repeat.again);
    assert_eq!(world.log_growth().await, 0, "{} happened twice", repeat.line);
    let report = server::doctor::examine(&*world.store, |_| ()).await.unwrap();
    assert!(report.findings.is_empty(), "{}: {:#?}", repeat.line, report.findings);
}

#[test]
fn a_command_whose_answer_was_lost_is_recognised_when_it_comes_again() {
    block_on(async {
        for repeat in RECOGNISED {
            check_repeat(repeat).await;
        }
    });
}

#[test]
fn a_command_that_is_spent_does_nothing_twice() {
    block_on(async {
        for repeat in SPENT {
            check_repeat(repeat).await;
        }
    });
}

/// The runner's first request was granted and it never heard of it: the same request grants nothing a second time. The
/// acknowledgement window brings the attempt back.
#[test]
fn a_lease_whose_answer_was_lost_is_not_granted_twice() {
    block_on(async {
        let line = "grant L a";
        check_repeat(&Repeat { before: &["submit J", "submit K"], line, again: "nothing" }).await;
    });
}

#[test]
fn a_conflict_is_decided_again() {
    block_on(async {
        let mut world = world_after(&["submit J", "grant L a", "ack L"]).await;
        world.store.inject([Fault::Conflict; 5]);
        assert_eq!(say(&mut world, "complete L ok").await, "COMPLETED");
        assert_eq!(say(&mut world, "commits J").await, "1");
    });
}

#[test]
fn a_batch_that_conflicts_again_and_again_is_split_and_everyone_is_answered() {
    block_on(async {
        let mut world = world_after(&[]).await;
        let commands = submissions(&mut world, 20).await;
        world.store.inject([Fault::Conflict; 30]);
        let answers = world.perform(commands).await;
        assert_eq!(answers.len(), 20);
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    });
}

#[test]
fn a_command_that_conflicts_for_ever_is_told_that_we_are_busy() {
    block_on(async {
        let mut world = world_after(&["submit J"]).await;
        world.log_growth().await;
        world.store.inject([Fault::Conflict; 65]);
        let command = command(&mut world, "cancel J").await;
        expect_failure(&world.perform_one(command).await, "busy");
        assert_eq!(world.log_growth().await, 0);
        assert_eq!(say(&mut world, "cancel J").await, "over");
    });
}

async fn submissions(world: &mut World<Memory>, count: usize) -> Vec<Command> {
    let mut commands = Vec::new();
    for number in 0..count {
        commands.push(command(world, &format!("submit J{number}")).await);
    }
    commands
}

#[test]
fn beyond_what_may_wait_a_caller_gets_its_ticket_back() {
    let mut perform = Perform::new(Policy::default());
    let ensure = || EnsureTenant { id: TenantId::FIRST, name: "default".into() };
    for ticket in 0..WAITING_MAX {
        perform.handle_command(ensure().into(), ticket).expect("there is room");
    }
    assert_eq!(perform.handle_command(ensure().into(), usize::MAX), Err(usize::MAX));
    let batch = perform.poll_batch(BATCH_MAX).expect("much is waiting");
    assert_eq!(perform.handle_command(ensure().into(), usize::MAX), Ok(()), "a batch makes room");
    drop(batch);
}

/// A record that no decision of ours would have left behind: the command that meets it fails alone.
#[test]
fn a_mistake_of_ours_fails_only_the_command_that_meets_it() {
    block_on(async {
        let mut world = world_after(&["run R a", "run S b"]).await;
        spoil(&world, "R").await;
        world.log_growth().await;
        let commands = vec![
            command(&mut world, "cancel S").await,
            command(&mut world, "look R").await,
            command(&mut world, "submit J").await,
        ];
        let answers = world.perform(commands).await;
        assert_eq!(answers[0], Ok(Answer::CancelTaken { over: false }));
        expect_failure(&answers[1], "internal_error");
        assert!(matches!(answers[2], Ok(Answer::JobSubmitted { .. })), "{answers:?}");
        assert_eq!(say(&mut world, "state S").await, "CANCEL_REQUESTED");
    });
}

/// Gives a run that is over a deadline, which has passed.
async fn spoil(world: &World<Memory>, name: &str) {
    use decisions::draft::Stated;
    use decisions::records::Run;
    use decisions::{Ask, Changes};
    use store::Store;

    let id = world.run_named(name).unwrap();
    let store: &Arc<Memory> = &world.store;
    let mut loaded = store.load(&[Ask::Run(id)], world.now).await.unwrap();
    let run = loaded.book.runs.peek(&id).unwrap().clone();
    let run = Run { state: Stated::stored(machines::run::State::Success), due_at: Some(world.now), ..run };
    loaded.book.apply(Changes { runs: [(id, run)].into(), ..Changes::default() });
    store.save(loaded.session, loaded.book).await.unwrap();
}
