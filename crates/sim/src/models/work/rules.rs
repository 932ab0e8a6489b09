//! What must hold of jobs, leases and runs, read off the records and off every step.

use std::collections::BTreeSet;

use decisions::Decision;
use decisions::failures::FailureClass;
use decisions::records::job::derived_state;
use decisions::records::{Execution, Job, Run};
use machines::{Machine, attempt, execution, job, lease, run};
use stateright::Property;

use super::cast::{Cancel, Memory, Message};
use super::{Setup, Work};
use crate::models::records::{Records, is_empty};
use crate::models::search::Stage;
use crate::models::world::World;

/// The rules, by the names under which a test finds them.
pub mod names {
    pub const ONE_LIVE_LEASE: &str = "at most one lease of a job is live";
    pub const ONE_COMMIT: &str = "at most one execution of a job has committed";
    pub const DERIVED: &str = "a job's state is what its attempts and executions make of it";
    pub const ATTEMPTS: &str = "attempts stay within their maximum, and none follows a success";
    pub const LEASED: &str = "the latest attempt is leased exactly while its lease is live";
    pub const LOOKED_AT: &str = "a live lease is looked at no later than its deadline";
    pub const ONE_AT_A_TIME: &str = "nothing follows a lease that was taken away before its time is over";
    pub const TOKENS: &str = "tokens strictly rise";
    pub const STALE: &str = "a stale message changes nothing";
    pub const FINAL: &str = "what has ended stays as it is";
    pub const IN_TIME: &str = "a lease lives no longer than its time";
    pub const NOT_EARLY: &str = "no lease is taken away before its time";
    pub const ONE_WINS: &str = "of a cancel and a completion exactly one wins";
    pub const KEPT: &str = "what was told is on record";
    pub const ANNOUNCED: &str = "an end is announced exactly once";
    pub const ONCE: &str = "an effect that may have happened once is not tried again";
    pub const COUNTED: &str = "a run's counters are what its jobs make of them";
    pub const FOLDED: &str = "a run's outcome is what its jobs make of it";
    pub const NEEDED: &str = "a job begins only after what it needs has succeeded";
}

type Worlds = World<Work>;

fn jobs_hold(world: &Worlds, holds: impl Fn(&Job, &[&Execution]) -> bool) -> bool {
    world.records.jobs.all().all(|job| {
        let executions: Vec<_> = world.records.executions.all().filter(|it| it.job() == job.id).collect();
        holds(job, &executions)
    })
}

fn any_execution(world: &Worlds, is: impl Fn(&Execution) -> bool) -> bool {
    world.records.executions.all().any(is)
}

fn any_job(world: &Worlds, state: job::State) -> bool {
    world.records.jobs.all().any(|job| job.state == state)
}

fn run_ended(world: &Worlds, outcome: run::State) -> bool {
    world.records.runs.all().any(|run| run.outcome == Some(outcome))
}

fn latest<'w>(world: &'w Worlds, job: &Job) -> &'w decisions::records::Attempt {
    let key = decisions::records::AttemptKey { job: job.id, index: job.attempts };
    world.records.attempts.get(&key).expect("a job has its latest attempt")
}

/// By a person: its first attempt had ended it.
fn was_retried(world: &Worlds, job: &Job) -> bool {
    let first = decisions::records::AttemptKey { job: job.id, index: 1 };
    let state = world.records.attempts.get(&first).map(|it| it.state.get());
    job.attempts > 1 && matches!(state, Some(attempt::State::Canceled | attempt::State::TimedOut))
}

pub fn properties(work: &Work) -> Vec<Property<Stage<Work>>> {
    let mut properties = of_leases();
    properties.extend(of_steps());
    match work.setup {
        Setup::Job { effect_once } => properties.extend(reached_by_a_job(work, effect_once)),
        Setup::Run { .. } => {
            properties.extend(of_runs());
            properties.extend(reached_by_a_run(work));
        }
    }
    properties
}

fn of_leases() -> Vec<Property<Stage<Work>>> {
    vec![
        Property::always(names::ONE_LIVE_LEASE, |_, world: &Worlds| {
            jobs_hold(world, |_, all| all.iter().filter(|it| it.lease.get().is_live()).count() <= 1)
        }),
        Property::always(names::ONE_COMMIT, |_, world: &Worlds| {
            jobs_hold(world, |_, all| all.iter().filter(|it| it.status.get().has_committed()).count() <= 1)
        }),
        Property::always(names::DERIVED, |_, world: &Worlds| {
            jobs_hold(world, |job, all| {
                let statuses = all.iter().map(|it| it.status.get());
                job.state == derived_state(latest(world, job).state.get(), statuses)
            })
        }),
        Property::always(names::ATTEMPTS, |_, world: &Worlds| {
            let attempts = || world.records.attempts.all();
            jobs_hold(world, |job, all| {
                let made = attempts().filter(|it| it.key.job == job.id).count() as u32;
                let done = all.iter().find(|it| it.status.get() == execution::State::Done);
                job.attempts <= job.attempts_max
                    && made == job.attempts
                    && done.is_none_or(|done| done.attempt.index == job.attempts)
            })
        }),
        Property::always(names::LEASED, |_, world: &Worlds| {
            jobs_hold(world, |job, all| {
                let state = latest(world, job).state.get();
                let is_open = !state.is_final();
                let waits = matches!(state, attempt::State::Created | attempt::State::Queued);
                let live = all.iter().find(|it| it.lease.get().is_live());
                live.is_some() == (is_open && !waits)
                    && live.is_none_or(|it| latest(world, job).execution == Some(it.id))
            })
        }),
        Property::always(names::LOOKED_AT, |_, world: &Worlds| {
            let mut live = world.records.executions.all().filter(|it| it.lease.get().is_live());
            live.all(|it| it.due_at.is_some_and(|due_at| due_at <= it.deadline()))
        }),
        Property::always(names::ONE_AT_A_TIME, |_, world: &Worlds| {
            jobs_hold(world, |_, all| {
                let taken_away = all.iter().filter(|it| {
                    let revoked = it.lease.get() == lease::State::Revoked && it.started_at.is_some();
                    revoked && !it.status.get().has_committed()
                });
                taken_away.into_iter().all(|it| {
                    all.iter().all(|next| next.token <= it.token || next.granted_at >= it.expires_at)
                })
            })
        }),
        Property::always(names::ANNOUNCED, |_, world: &Worlds| {
            jobs_hold(world, |job, _| {
                let subject = format!("{}/", job.id);
                let about = world.records.deliveries.all().filter(|it| it.subject.starts_with(&subject));
                about.count() == usize::from(job.state.is_over()) + usize::from(was_retried(world, job))
            }) && world.records.runs.all().all(|run| {
                let about = world.records.deliveries.all().filter(|it| it.reports == Some(run.id));
                about.count() == usize::from(run.is_over())
            })
        }),
        Property::always(names::KEPT, |_, world: &Worlds| {
            let done = |id: &wire::ExecId| {
                let record = world.records.executions.get(id);
                record.is_some_and(|it| it.status.get() == execution::State::Done)
            };
            let known = |memory: Memory| match memory {
                Memory::Idle | Memory::Asked(_) => true,
                Memory::Offered(id) | Memory::Working { execution: id, .. } | Memory::Finishing(id) => {
                    any_execution(world, |it| it.id == id)
                }
            };
            world.actors.accepted.iter().all(done) && world.actors.runners.iter().all(|it| known(it.memory))
        }),
        Property::always(names::ONE_WINS, |_, world: &Worlds| {
            let taken = world.actors.cancel == Cancel::Taken;
            let standalone = world.records.runs.all().next().is_none();
            let retried = world.records.jobs.all().any(|job| was_retried(world, job));
            !(taken && standalone && !retried)
                || !any_job(world, job::State::Succeeded) && !any_job(world, job::State::Failed)
        }),
        Property::always(names::ONCE, |_, world: &Worlds| {
            jobs_hold(world, |job, all| {
                let begun_and_lost = |it: &&&Execution| {
                    it.started_at.is_some() && it.status.get() == execution::State::Aborted
                };
                let lost = all.iter().filter(begun_and_lost).map(|it| it.token).min();
                !job.effect_once || lost.is_none_or(|lost| all.iter().all(|it| it.token <= lost))
            })
        }),
    ]
}

fn of_steps() -> Vec<Property<Stage<Work>>> {
    vec![
        Property::always(names::TOKENS, |_, world: &Worlds| world.broken != Some(names::TOKENS)),
        Property::always(names::STALE, |_, world: &Worlds| world.broken != Some(names::STALE)),
        Property::always(names::FINAL, |_, world: &Worlds| world.broken != Some(names::FINAL)),
        Property::always(names::IN_TIME, |_, world: &Worlds| world.broken != Some(names::IN_TIME)),
        Property::always(names::NOT_EARLY, |_, world: &Worlds| world.broken != Some(names::NOT_EARLY)),
    ]
}

fn of_runs() -> Vec<Property<Stage<Work>>> {
    vec![
        Property::always(names::COUNTED, |_, world: &Worlds| {
            let jobs = || world.records.jobs.all();
            world.records.runs.all().all(|run| {
                run.jobs_open == jobs().filter(|job| !job.state.is_over()).count() as u32
                    && run.required_failed == jobs().filter(|job| job.counted_failed).count() as u32
                    && run.jobs_total == jobs().count() as u32
            })
        }),
        Property::always(names::FOLDED, |_, world: &Worlds| {
            world.records.runs.all().all(|run| folds(world, run))
        }),
        Property::always(names::NEEDED, |_, world: &Worlds| {
            world.records.needs.iter().all(|(needed, dependent)| {
                let needed = world.records.jobs.get(needed).expect("it is in the plan");
                let begun = any_execution(world, |it| it.job() == *dependent);
                !begun || needed.state == job::State::Succeeded
            })
        }),
    ]
}

/// The outcome, computed from the jobs alone.
fn folds(world: &Worlds, run: &Run) -> bool {
    let all = |state| world.records.jobs.all().all(|job| job.state == state);
    let none_open = world.records.jobs.all().all(|job| job.state.is_over());
    let canceled = world.actors.cancel == Cancel::Taken;
    match run.outcome {
        None => !none_open,
        Some(run::State::Success) => all(job::State::Succeeded) && !canceled,
        Some(run::State::Failed) => none_open && !all(job::State::Succeeded),
        Some(run::State::Canceled) => none_open && world.actors.cancel != Cancel::Unsaid,
        Some(run::State::Timeout) => !canceled, // its jobs are stopped afterwards
        Some(
            run::State::Created
            | run::State::Planning
            | run::State::PlanFailed
            | run::State::Queued
            | run::State::Running
            | run::State::CancelRequested
            | run::State::Reported,
        ) => false,
    }
}

fn reached_by_a_job(work: &Work, effect_once: bool) -> Vec<Property<Stage<Work>>> {
    let mut reached = vec![
        Property::sometimes("the second runner commits", |_, world: &Worlds| {
            let last = format!("runner-{}", world.actors.runners.len());
            any_execution(world, |it| it.status.get() == execution::State::Done && it.runner.as_str() == last)
        }),
        Property::sometimes("an acknowledgement comes too late", |_, world: &Worlds| {
            any_execution(world, |it| it.lease.get() == lease::State::Revoked && it.started_at.is_none())
        }),
        Property::sometimes("a job runs longer than it may", |_, world: &Worlds| {
            world.records.attempts.all().any(|it| it.state.get() == attempt::State::TimedOut)
        }),
    ];
    if work.cancel {
        reached.push(Property::sometimes("a cancel wins", |_, world: &Worlds| {
            world.actors.cancel == Cancel::Taken && any_job(world, job::State::Canceled)
        }));
        reached.push(Property::sometimes("a completion wins", |_, world: &Worlds| {
            world.actors.cancel == Cancel::TooLate && !world.actors.accepted.is_empty()
        }));
        reached.push(Property::sometimes("a cancel is forced", |_, world: &Worlds| {
            any_execution(world, |it| it.cancel_by.is_some() && it.lease.get() == lease::State::Revoked)
        }));
    }
    if work.retry {
        reached.push(Property::sometimes(
            "what was stopped by force is retried and succeeds",
            |_, world: &Worlds| {
                any_execution(world, |it| it.cancel_by.is_some() && it.lease.get() == lease::State::Revoked)
                    && any_job(world, job::State::Succeeded)
            },
        ));
        reached.push(Property::sometimes("a retry waits", |_, world: &Worlds| {
            world.records.jobs.all().any(|job| {
                let waits = latest(world, job).state.get() == attempt::State::Created;
                waits && job.free_at.is_some_and(|at| at > world.now)
            })
        }));
    }
    reached.push(if effect_once {
        Property::sometimes("a lost effect is left to a person", |_, world: &Worlds| {
            world.records.attempts.all().any(|it| it.failure_class == Some(FailureClass::Ambiguous))
        })
    } else {
        Property::sometimes("a lease is lost, and then the job succeeds", |_, world: &Worlds| {
            any_execution(world, |it| it.lease.get() == lease::State::Expired)
                && any_job(world, job::State::Succeeded)
        })
    });
    reached
}

fn reached_by_a_run(work: &Work) -> Vec<Property<Stage<Work>>> {
    let mut reached = vec![
        Property::sometimes("a run succeeds", |_, world: &Worlds| run_ended(world, run::State::Success)),
        Property::sometimes("a run fails", |_, world: &Worlds| run_ended(world, run::State::Failed)),
        Property::sometimes("a run times out", |_, world: &Worlds| run_ended(world, run::State::Timeout)),
    ];
    if work.cancel {
        reached.push(Property::sometimes("a run is cancelled", |_, world: &Worlds| {
            run_ended(world, run::State::Canceled)
        }));
    }
    reached
}

/// Looked at on what the decision was loaded from, with a fence of the model's own.
pub fn judge_decision(
    work: &Work,
    world: &Worlds,
    message: &Message,
    decision: &Decision,
) -> Option<&'static str> {
    let (now, changes) = (world.now, &decision.changes);
    match message {
        Message::Say { execution, .. } => {
            let spoken_for = world.records.executions.get(execution);
            let speaks = spoken_for.is_some_and(|it| it.lease.get().is_live() && it.expires_at > now);
            if !speaks && !is_empty(changes) {
                return Some(names::STALE);
            }
        }
        Message::ExecutionDue(id) => {
            let before = world.records.executions.get(id).map(Execution::deadline);
            let ended = changes.executions.get(id).is_some_and(|it| !it.lease.get().is_live());
            if ended && before.is_none_or(|deadline| deadline > now) {
                return Some(names::NOT_EARLY);
            }
        }
        Message::Ask { .. }
        | Message::Cancel
        | Message::Retry
        | Message::RunDue
        | Message::Sweep
        | Message::Release(_) => {}
    }
    for execution in changes.executions.values() {
        let most = match execution.lease.get() {
            lease::State::Granted => work.policy.ack_timeout,
            lease::State::Active => work.policy.lease_ttl,
            lease::State::Expired
            | lease::State::Revoked
            | lease::State::Completed
            | lease::State::Canceled => continue,
        };
        if execution.expires_at > now.plus(most) {
            return Some(names::IN_TIME);
        }
    }
    None
}

/// What was written against what was there before.
pub fn judge_save(before: &Records, after: &Records) -> Option<&'static str> {
    for job in after.jobs.all() {
        let tokens = |records: &Records| -> BTreeSet<u32> {
            records.executions.all().filter(|it| it.job() == job.id).map(|it| it.token).collect()
        };
        let (known, now) = (tokens(before), tokens(after));
        let made = after.executions.all().filter(|it| it.job() == job.id).count();
        let highest = known.last().copied().unwrap_or(0);
        let fell = before.jobs.get(&job.id).is_some_and(|it| it.tokens > job.tokens);
        if fell || made != now.len() || now.difference(&known).any(|token| *token <= highest) {
            return Some(names::TOKENS);
        }
    }
    let attempts = before.attempts.all().filter(|it| it.state.get().is_final());
    let changed = |it: &decisions::records::Attempt| {
        after.attempts.get(&it.key).is_none_or(|now| now.state.get() != it.state.get())
    };
    let executions = before.executions.all().filter(|it| !it.lease.get().is_live());
    let revived = |it: &Execution| {
        let now = after.executions.get(&it.id);
        now.is_none_or(|now| now.lease.get() != it.lease.get() || now.status.get() != it.status.get())
    };
    let runs = before.runs.all().filter(|it| it.is_over());
    let reopened = |it: &Run| after.runs.get(&it.id).is_none_or(|now| now.outcome != it.outcome);
    let broken = attempts.into_iter().any(changed)
        || executions.into_iter().any(revived)
        || runs.into_iter().any(reopened);
    broken.then_some(names::FINAL)
}
