//! Mistakes with leases, attempts and cancels.

use decisions::draft::Stated;
use decisions::leases::{Complete, Heartbeat};
use decisions::records::{Attempt, Execution};
use decisions::{Changes, Command, Policy, decide};
use machines::{attempt, job};
use sim::models::search::CALM;
use sim::models::work::{Saying, Work, names};
use wire::Time;

use super::altered::{Alter, NOT_BEING_CANCELLED, NOTHING, altered};
use super::{LOST_SAVE, NO_CONFLICT_CHECK, SECOND, deciding, found, spoilt};
use crate::leases::one_job;

/// One server is enough for what has nothing to do with two.
fn one_server() -> Work {
    Work { servers: 1, ..one_job(false) }
}

#[test]
fn a_completion_under_an_old_lease_is_taken_for_the_new_one() {
    let parts = deciding(|book, command, now, policy| {
        let decided = decide(book, command, now, policy);
        let live = book.executions.peek_all().find(|it| it.lease.get().is_live());
        match (command, live) {
            (Command::Complete(complete), Some(live)) if decided.is_err() => {
                let lease = wire::LeaseKey { execution: live.id, hash: live.lease_hash };
                let other = Complete { lease, runner: live.runner.clone(), ..complete.clone() };
                decide(book, &other.into(), now, policy)
            }
            _ => decided,
        }
    });
    found("skip the fence", one_server(), parts, names::STALE);
}

/// As if the message had come a moment before the lease ran out.
fn just_before(book: &decisions::Book, now: Time) -> Time {
    let live = book.executions.peek_all().find(|it| it.lease.get().is_live());
    let last = live.map_or(now, |it| Time::from_micros(it.expires_at.as_micros() - 1));
    last.min(now)
}

#[test]
fn a_completion_after_the_lease_ran_out_is_accepted() {
    let parts = deciding(|book, command, now, policy| match command {
        Command::Complete(_) => decide(book, command, just_before(book, now), policy),
        _ => decide(book, command, now, policy),
    });
    found("complete after expiry", one_server(), parts, names::STALE);
}

#[test]
fn a_retry_does_not_wait_for_who_may_not_have_heard() {
    let parts = deciding(|book, command, now, policy| match command {
        Command::RetryJob(_) => decide(book, command, now.plus(SECOND * 10), policy),
        _ => decide(book, command, now, policy),
    });
    found("a retry that does not wait", Work { retry: true, ..one_server() }, parts, names::ONE_AT_A_TIME);
}

#[test]
fn a_lease_that_ran_out_is_renewed() {
    let parts = deciding(|book, command, now, policy| match command {
        Command::Heartbeat(Heartbeat { .. }) => decide(book, command, just_before(book, now), policy),
        _ => decide(book, command, now, policy),
    });
    found("renew after expiry", one_server(), parts, names::STALE);
}

#[test]
fn a_message_at_the_very_end_of_a_lease_is_in_time() {
    let parts = deciding(|book, command, now, policy| match command {
        Command::Complete(_) | Command::Heartbeat(_) | Command::Ack(_) => {
            decide(book, command, Time::from_micros(now.as_micros() - 1), policy)
        }
        _ => decide(book, command, now, policy),
    });
    found("off by one at the end of the TTL", one_server(), parts, names::STALE);
}

#[test]
fn a_renewal_is_a_second_too_long() {
    let parts = deciding(|book, command, now, policy| {
        let longer = Policy { lease_ttl: policy.lease_ttl + SECOND, ..policy.clone() };
        decide(book, command, now, &longer)
    });
    found("a TTL that is too long", one_server(), parts, names::IN_TIME);
}

#[test]
fn a_tick_comes_a_second_early() {
    let parts = deciding(|book, command, now, policy| match command {
        Command::ExecutionDue(_) => {
            let hasty = altered(book, &Alter { execution: |it| it.expires_at = it.granted_at, ..NOTHING });
            decide(&hasty, command, now, policy)
        }
        _ => decide(book, command, now, policy),
    });
    found("a lease taken away early", one_server(), parts, names::NOT_EARLY);
}

/// One more attempt than was decided.
fn add_attempt(changes: &mut Changes, state: job::State) {
    let Some(latest) = changes.attempts.values().max_by_key(|it| it.key.index).cloned() else { return };
    let mut key = latest.key;
    key.index += 1;
    let state_queued = Stated::stored(attempt::State::Queued);
    changes.attempts.insert(key, Attempt { key, state: state_queued, execution: None, ..latest });
    for job in changes.jobs.values_mut() {
        (job.attempts, job.state) = (key.index, state);
    }
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
    found("double retry", one_server(), parts, names::ATTEMPTS);
}

#[test]
fn a_success_is_tried_again() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| {
            if changes.jobs.values().any(|job| job.state == job::State::Succeeded) {
                add_attempt(changes, job::State::Succeeded);
            }
        })
    });
    found("retry after success", one_server(), parts, names::ATTEMPTS);
}

#[test]
fn a_completion_overtakes_a_cancel() {
    let parts = deciding(|book, command, now, policy| match command {
        Command::Complete(_) => decide(&altered(book, &NOT_BEING_CANCELLED), command, now, policy),
        _ => decide(book, command, now, policy),
    });
    found("complete after cancel", one_server(), parts, names::ONE_WINS);
}

#[test]
fn an_end_is_not_announced() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| changes.deliveries.clear())
    });
    found("drop the outbox row", one_server(), parts, names::ANNOUNCED);
}

#[test]
fn a_lost_save_is_acknowledged() {
    found("lost save", one_server(), LOST_SAVE, names::KEPT);
}

#[test]
fn two_servers_save_what_both_decided() {
    found("no conflict check", one_job(false), NO_CONFLICT_CHECK, names::ONE_LIVE_LEASE);
}

#[test]
fn a_timeout_leaves_the_lease_alive() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| {
            if changes.attempts.values().any(|it| it.state.get() == attempt::State::TimedOut) {
                changes.executions.clear();
            }
        })
    });
    found("forget to revoke on timeout", one_server(), parts, names::LEASED);
}

#[test]
fn a_token_is_given_out_again() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| {
            changes.jobs.values_mut().for_each(|job| job.tokens = job.tokens.min(1));
            changes.executions.values_mut().for_each(|it| it.token = 1);
        })
    });
    found("tokens that do not rise", one_server(), parts, names::TOKENS);
}

#[test]
fn a_lost_effect_is_tried_again() {
    let parts = deciding(|book, command, now, policy| match command {
        Command::ExecutionDue(_) => {
            let twice = altered(book, &Alter { job: |it| it.effect_once = false, ..NOTHING });
            let mut decision = decide(&twice, command, now, policy)?;
            decision.changes.jobs.values_mut().for_each(|it| it.effect_once = true);
            Ok(decision)
        }
        _ => decide(book, command, now, policy),
    });
    found("an effect that happens twice", Work { servers: 1, ..one_job(true) }, parts, names::ONCE);
}

#[test]
fn an_acknowledgement_forgets_the_deadlines() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| {
            if matches!(command, Command::Ack(_)) {
                changes.executions.values_mut().for_each(|it| it.due_at = None);
            }
        })
    });
    found("a lease that nobody looks at", one_server(), parts, names::LOOKED_AT);
}

#[test]
fn a_jobs_state_is_left_behind() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| {
            if matches!(command, Command::Lease(_)) {
                changes.jobs.values_mut().for_each(|job| job.state = job::State::Pending);
            }
        })
    });
    found("a projection that is forgotten", one_server(), parts, names::DERIVED);
}

#[test]
fn a_lost_attempt_never_comes_back_to_its_queue() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| {
            let created = Stated::stored(attempt::State::Created);
            let requeued = changes.attempts.values_mut().filter(|it| it.ready_key().is_some());
            requeued.for_each(|it| it.state = created);
        })
    });
    found("an attempt that nobody can lease", one_server(), parts, CALM);
}

#[test]
fn a_commit_is_stopped_by_no_fence() {
    let parts = deciding(|book, command, now, policy| {
        let revive: fn(&mut Execution) = |it| {
            if !it.status.get().has_committed() {
                (it.lease, it.due_at) = (Stated::stored(machines::lease::State::Active), Some(it.expires_at));
                it.status = Stated::stored(machines::execution::State::InProgress);
            }
        };
        match command {
            Command::Commit(_) => {
                let alter = Alter {
                    execution: revive,
                    attempt: |it| it.state = Stated::stored(attempt::State::Running),
                    ..NOTHING
                };
                decide(&altered(book, &alter), command, just_before(book, now), policy)
            }
            _ => decide(book, command, now, policy),
        }
    });
    let sayings = vec![Saying::Commit, Saying::Succeed];
    found("a commit that no fence stops", Work { sayings, ..one_server() }, parts, names::STALE);
}
