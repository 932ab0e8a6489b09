//! Mistakes with runs.

use decisions::{Command, decide};
use machines::job;
use sim::models::search::CALM;
use sim::models::work::{Work, names};

use super::altered::{Alter, NOTHING, altered};
use super::{NO_CONFLICT_CHECK, deciding, found, spoilt};
use crate::runs::two_jobs;

#[test]
fn a_job_that_ends_is_not_counted_out() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| {
            if matches!(command, Command::Complete(_)) {
                changes.runs.clear();
            }
        })
    });
    found("a counter that stays", two_jobs(false, true), parts, names::COUNTED);
}

#[test]
fn a_failure_releases_what_needs_a_success() {
    let parts = deciding(|book, command, now, policy| match command {
        Command::ReleaseDependents(_) => {
            let cured = altered(
                book,
                &Alter {
                    job: |it| {
                        if it.has_dependents {
                            it.state = job::State::Succeeded;
                        }
                    },
                    ..NOTHING
                },
            );
            let mut decision = decide(&cured, command, now, policy)?;
            for job in decision.changes.jobs.values_mut() {
                if let Some(real) = book.jobs.peek(&job.id).filter(|it| it.has_dependents) {
                    job.state = real.state;
                }
            }
            Ok(decision)
        }
        _ => decide(book, command, now, policy),
    });
    found("a dependent that starts too soon", two_jobs(false, true), parts, names::NEEDED);
}

#[test]
fn a_sweep_stops_nobody() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |book, changes| {
            if matches!(command, Command::SweepRun(_)) {
                let mut run = book.runs.peek_all().next().expect("a sweep is of a run").clone();
                (changes.jobs, changes.attempts) = Default::default();
                (changes.executions, changes.deliveries) = Default::default();
                run.sweep = None;
                changes.runs.insert(run.id, run);
            }
        })
    });
    found("a sweep that stops nobody", two_jobs(false, true), parts, CALM);
}

#[test]
fn a_run_ends_before_its_last_job() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| {
            for run in changes.runs.values_mut().filter(|run| run.jobs_open == 1 && run.outcome.is_none()) {
                run.outcome = Some(machines::run::State::Success);
            }
        })
    });
    found("a run that ends too soon", two_jobs(false, false), parts, names::FOLDED);
}

#[test]
fn two_servers_count_the_same_run() {
    let work = Work { servers: 2, cancel: false, ..two_jobs(false, false) };
    found("no conflict check on a run", work, NO_CONFLICT_CHECK, names::COUNTED);
}
