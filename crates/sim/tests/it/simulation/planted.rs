//! Mistakes planted around decisions, the store, runners and workers: each is found within the seeds that CI plays, by a rule
//! that it breaks. What is planted is a wrapper; the code itself stays as it is.

use std::mem::take;
use std::time::Duration;

use decisions::draft::Stated;
use decisions::records::{Attempt, Execution};
use decisions::{Book, Changes, Command, Decision, Policy, Refusal, decide};
use machines::{attempt, delivery, execution, job};
use sim::simulation::parts::{Parts, now as at_once, save};
use sim::simulation::shrink::shrink;
use sim::simulation::{Profile, rules, run_with};
use store::Store;
use wire::{MessageId, Time};

use super::seeds;
use crate::planted::altered::{NOT_BEING_CANCELLED, altered};

type Decided = Result<Decision, Refusal>;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

fn deciding(decide: fn(&Book, &Command, Time, &Policy) -> Decided) -> Parts {
    Parts { decide, ..Parts::REAL }
}

/// The decision as it should be, and then spoilt.
fn spoilt(
    (book, command, now, policy): (&Book, &Command, Time, &Policy),
    spoil: impl FnOnce(&Book, &mut Changes),
) -> Decided {
    let mut decision = decide(book, command, now, policy)?;
    spoil(book, &mut decision.changes);
    Ok(decision)
}

/// Some seed breaks a rule, and it is one of these; of none, where nearly everything may break first: without the mistake none
/// of the seeds breaks any.
fn found(mistake: &str, parts: Parts, rules: &[&str]) -> u64 {
    found_from(0, mistake, parts, rules)
}

/// Where few seeds meet it, those before are not played: they would take a minute.
fn found_from(first: u64, mistake: &str, parts: Parts, rules: &[&str]) -> u64 {
    for seed in first..seeds() {
        let outcome = run_with(seed, &Profile::usual(), parts);
        if let Some(violation) = outcome.violations.first() {
            println!("{mistake}: seed {seed}, {violation}");
            let expected = rules.is_empty() || rules.contains(&violation.rule);
            assert!(expected, "{mistake}: another rule broke, {violation}");
            return seed;
        }
    }
    panic!("not found: {mistake}");
}

/// As if the message had come a moment before the lease ran out.
fn just_before(book: &Book, execution: wire::ExecId, now: Time) -> Time {
    let live = book.executions.peek(&execution).filter(|it| it.lease.get().is_live());
    live.map_or(now, |it| Time::from_micros(it.expires_at.as_micros() - 1)).min(now)
}

#[test]
fn a_completion_that_no_fence_stops() {
    let parts = deciding(|book, command, now, policy| match command {
        Command::Complete(it) => decide(book, command, just_before(book, it.lease.execution, now), policy),
        _ => decide(book, command, now, policy),
    });
    found_from(370, "skip the fence", parts, &[]);
}

#[test]
fn a_lease_that_ran_out_is_renewed() {
    let parts = deciding(|book, command, now, policy| match command {
        Command::Heartbeat(it) => decide(book, command, just_before(book, it.lease.execution, now), policy),
        _ => decide(book, command, now, policy),
    });
    found("renew after expiry", parts, &[]);
}

#[test]
fn a_log_goes_on_after_the_lease() {
    let parts = deciding(|book, command, now, policy| match command {
        Command::AppendLog(it) => decide(book, command, just_before(book, it.lease.execution, now), policy),
        _ => decide(book, command, now, policy),
    });
    found_from(50, "a log without a lease", parts, &[]);
}

#[test]
fn a_renewal_is_a_second_too_long() {
    let parts = deciding(|book, command, now, policy| {
        let longer = Policy { lease_ttl: policy.lease_ttl + SECOND, ..policy.clone() };
        decide(book, command, now, &longer)
    });
    found("a TTL that is too long", parts, &[rules::IN_TIME]);
}

#[test]
fn a_retry_does_not_wait_for_who_may_not_have_heard() {
    let parts = deciding(|book, command, now, policy| match command {
        Command::RetryJob(_) => decide(book, command, now.plus(HOUR), policy),
        _ => decide(book, command, now, policy),
    });
    found("a retry that does not wait", parts, &[rules::ONE_AT_A_TIME]);
}

#[test]
fn a_tick_comes_a_second_early() {
    let parts = deciding(|book, command, now, policy| match command {
        Command::ExecutionDue(_) => decide(book, command, now.plus(SECOND), policy),
        _ => decide(book, command, now, policy),
    });
    found("a lease taken away early", parts, &[]);
}

#[test]
fn an_end_is_not_announced_and_its_story_is_short() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| {
            if matches!(command, Command::Complete(_)) {
                changes.deliveries.clear();
            }
        })
    });
    let seed = found("drop an outbox row", parts, &[rules::ANNOUNCED]);
    let story = shrink(seed, &Profile::usual(), parts).expect("it was found");
    assert!(
        story.outcome.struck.len() * 2 < story.faults_before,
        "faults that do not matter are in it:\n{story}"
    );
    assert!(story.to_string().contains(&format!("DELTACI_SIM_SEED={seed}")));
}

/// One more attempt than was decided.
fn add_attempt(changes: &mut Changes, state: job::State) {
    let Some(latest) = changes.attempts.values().max_by_key(|it| it.key.index).cloned() else { return };
    let mut key = latest.key;
    key.index += 1;
    let queued = Stated::stored(attempt::State::Queued);
    changes.attempts.insert(key, Attempt { key, state: queued, execution: None, ..latest });
    changes.jobs.values_mut().for_each(|job| (job.attempts, job.state) = (key.index, state));
}

#[test]
fn a_failure_is_retried_twice() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |book, changes| {
            let retried = changes.attempts.keys().any(|key| !book.attempts.has(key));
            if retried && matches!(command, Command::Complete(_)) {
                add_attempt(changes, job::State::Pending);
            }
        })
    });
    found("double retry", parts, &[]);
}

#[test]
fn a_success_is_tried_again() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| {
            if changes.jobs.values().any(|job| job.state == job::State::Succeeded && job.run.is_none()) {
                add_attempt(changes, job::State::Pending);
            }
        })
    });
    found("retry after success", parts, &[rules::ATTEMPTS, rules::ANNOUNCED]);
}

#[test]
fn a_completion_overtakes_a_cancel() {
    let parts = deciding(|book, command, now, policy| match command {
        Command::Complete(it) if it.stored.is_none() => {
            decide(&altered(book, &NOT_BEING_CANCELLED), command, now, policy)
        }
        _ => decide(book, command, now, policy),
    });
    found("complete after cancel", parts, &[rules::ONE_WINS]);
}

#[test]
fn a_token_is_given_out_again() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| {
            if matches!(command, Command::Lease(_)) {
                changes.jobs.values_mut().for_each(|job| job.tokens = 1);
                changes.executions.values_mut().for_each(|it| it.token = 1);
            }
        })
    });
    found("tokens that do not rise", parts, &[rules::TOKENS, rules::CONSTRAINT]);
}

#[test]
fn an_acknowledgement_forgets_the_deadlines() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| {
            if matches!(command, Command::Ack(_)) {
                changes.executions.values_mut().for_each(|it: &mut Execution| it.due_at = None);
            }
        })
    });
    found("a lease that nobody looks at", parts, &[]);
}

#[test]
fn a_success_is_acknowledged_and_not_saved() {
    let lost: fn(&store::Memory, sim::simulation::parts::Saving, Option<store::Fault>) -> _ =
        |store, saving, fault| {
            let done = |it: &Execution| it.status.get() == execution::State::Done;
            let succeeds = saving.book.executions.writes().any(|(_, it)| done(it));
            if succeeds && fault.is_none() { Ok(()) } else { save(store, saving, fault) }
        };
    let parts = Parts { save: lost, ..Parts::REAL };
    let rules =
        [rules::SAME, rules::KEPT, rules::FINAL, rules::STALE, rules::ENDS, rules::FOLDED, rules::ANNOUNCED];
    found("ack without save", parts, &rules);
}

#[test]
fn a_save_looks_at_nothing() {
    let blind: fn(&store::Memory, sim::simulation::parts::Saving, Option<store::Fault>) -> _ =
        |store, mut saving, fault| {
            // As if it had been loaded this very moment.
            let fresh = at_once(store.load(&saving.asks, saving.decided_at));
            saving.seen = fresh.expect("memory can be read").session;
            save(store, saving, fault)
        };
    let parts = Parts { save: blind, ..Parts::REAL };
    found("no conflict check", parts, &[]);
}

#[test]
fn a_part_of_a_log_is_forgotten() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| {
            if matches!(command, Command::AppendLog(it) if it.offset > 1_000) {
                changes.appended.log_chunks.clear();
            }
        })
    });
    found("forget a log chunk", parts, &[rules::LOG]);
}

#[test]
fn a_message_is_told_again_under_another_id() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| {
            let Command::DeliveryFailed(failed) = command else { return };
            let Some(mut twin) = changes.deliveries.get(&failed.delivery).cloned() else { return };
            twin.id = MessageId::from_u128(twin.id.as_u128() + 1);
            (twin.state, twin.turn, twin.reports) = (Stated::stored(delivery::State::Pending), 0, None);
            twin.due_at = Some(now);
            changes.deliveries.insert(twin.id, twin);
        })
    });
    found("deliver twice with a new id", parts, &[rules::ONCE, rules::ANNOUNCED]);
}

#[test]
fn a_worker_says_delivered_and_has_not_sent() {
    let parts = Parts { sends: |tries| tries < 2, ..Parts::REAL };
    found("delivered without sending", parts, &[rules::TOLD]);
}

#[test]
fn a_collection_takes_what_was_promised() {
    let parts = deciding(|book, command, now, policy| match command {
        Command::MarkBlobs(_) | Command::ClaimBlobs(_) => decide(book, command, now.plus(HOUR), policy),
        _ => decide(book, command, now, policy),
    });
    found("sweep without a barrier", parts, &[rules::REACHABLE, rules::ENDS]);
}

#[test]
fn a_collection_claims_what_its_mark_did_not_find() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |book, changes| {
            let Command::MarkBlobs(mark) = command else { return };
            for blob in book.blobs.peek_all().filter(|it| it.refs == 0 && it.is_here()) {
                let mut blob = changes.blobs.get(&blob.id).unwrap_or(blob).clone();
                blob.claimed_by = Some(mark.collection);
                changes.blobs.insert(blob.id, blob);
            }
        })
    });
    found("sweep without mark", parts, &[rules::MARKED, rules::REACHABLE, rules::NO_PANIC]);
}

#[test]
fn bytes_go_before_their_claim_is_known() {
    let parts = Parts { awaits_claim: false, ..Parts::REAL };
    found("delete on an unknown claim", parts, &[]);
}

#[test]
fn a_reference_is_not_counted() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| {
            if matches!(command, Command::CreateVersion(_)) {
                changes.blobs.values_mut().for_each(|blob| blob.refs = blob.refs.saturating_sub(1));
            }
        })
    });
    found("a reference that is not counted", parts, &[rules::COUNTED]);
}

#[test]
fn a_tenant_pays_for_what_is_gone() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| {
            if matches!(command, Command::ClaimBlobs(_)) {
                changes.usages.clear();
            }
        })
    });
    found("a usage that only grows", parts, &[]);
}

#[test]
fn a_runner_counts_its_lease_by_the_wall_clock() {
    let parts = Parts {
        uptime: |uptime, wrong_by| Duration::from_secs_f64(uptime.as_secs_f64() + wrong_by as f64),
        ..Parts::REAL
    };
    found_from(60, "a lease by the wall clock", parts, &[]);
}

#[test]
fn a_keeper_outlives_its_lease() {
    let parts = Parts { until: |until| until + HOUR, ..Parts::REAL };
    found("a keeper without a deadline", parts, &[]);
}

#[test]
fn a_dependent_is_never_told() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |book, changes| {
            if let Command::ReleaseDependents(release) = command {
                let of_it = |job: &wire::JobId| *job == release.job;
                changes.attempts =
                    take(&mut changes.attempts).into_iter().filter(|(key, _)| of_it(&key.job)).collect();
                changes.jobs = take(&mut changes.jobs).into_iter().filter(|(job, _)| of_it(job)).collect();
                changes.deliveries.clear();
                let _ = book;
            }
        })
    });
    found("a dependent that is forgotten", parts, &[]);
}
