//! The side of a lease that deals with its keeper: passes orders on, keeps the output, reports back. A task of its own,
//! so that a slow disk or a job that floods its output holds no heartbeat up.

use std::pin::pin;
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;

use crate::agent::drive::Event;
use crate::agent::hands::{Hands, Hire};
use crate::agent::tap::{Tap, executor_name};
use crate::caches::Fetcher;
use crate::clock::Uptime;
use crate::keeper::{Finish, Order, Report};
use crate::logs::Spool;

/// For the keeper, or its log.
#[derive(Debug)]
pub enum Tell {
    Extend(Uptime),
    Cancel(Duration),
    Kill,
    Note(&'static str),
}

const PATIENCE: Duration = Duration::from_secs(5);
const LINES_WAITING_MAX: usize = 16;

/// Nothing more is to be done: whoever drives the session has gone, or has been told the end.
struct Unheard;

/// What is held for one job.
pub struct Held {
    pub order: Order,
    pub caches: Option<Fetcher>,
    pub words: Words,
}

/// Where what is said of a job goes: its log, and whoever watches.
pub struct Words {
    pub spool: Spool,
    pub tap: Tap,
}

/// From the keeper's start until it is gone. The log is handed on when the job is over.
pub async fn hold<H: Hire>(
    hire: H,
    held: Held,
    mut tells: Receiver<Tell>,
    events: Sender<Event>,
    log: oneshot::Sender<Words>,
) {
    let Held { mut order, caches, mut words } = held;
    let steps = order.steps.clone();
    if let Some(caches) = caches
        && get_ready(&mut order, caches, &mut words, &mut tells, &events).await.is_err()
    {
        return;
    }
    let mut hands = match hire.start(order) {
        Ok(hands) => hands,
        Err(error) => {
            let problem = format!("the keeper cannot be started: {error}");
            let report = Report::Finished(Finish::Infra { problem });
            let _ = pass_on(report, &steps, &mut words.spool, &events).await;
            return;
        }
    };
    let _ = attend(&mut hands, &steps, &mut words, &mut tells, &events).await;
    let _ = log.send(words); // only wanted when the job leaves something
    hands.end().await;
}

/// Fetches the job's caches. What the keeper would be told meanwhile is kept for it, or ends the job before it began.
async fn get_ready(
    order: &mut Order,
    caches: Fetcher,
    words: &mut Words,
    tells: &mut Receiver<Tell>,
    events: &Sender<Event>,
) -> Result<(), Unheard> {
    let Words { spool, tap } = words;
    let (lines, mut said) = channel(LINES_WAITING_MAX);
    let mut fetching = pin!(caches.fetch(lines));
    let mut fetched = None;
    loop {
        tokio::select! {
            biased;
            tell = tells.recv() => match tell {
                Some(Tell::Extend(until)) => order.until = until,
                Some(Tell::Note(line)) => {
                    spool.note(line);
                    say(events, Event::Written(spool.written())).await?;
                }
                Some(Tell::Cancel(_)) => {
                    let report = Report::Finished(Finish::Canceled { forced: false });
                    pass_on(report, &order.steps, spool, events).await?;
                    return Err(Unheard);
                }
                Some(Tell::Kill) => {
                    say(events, Event::Gone).await?;
                    return Err(Unheard);
                }
                None => return Err(Unheard),
            },
            () = tap.told(), if tap.is_waiting() => {}
            line = said.recv(), if !tap.is_waiting() => {
                let Some(line) = line else { break }; // all was fetched, and all was said
                let report = Report::Note { line };
                tap.tell(&report, &[]);
                pass_on(report, &[], spool, events).await?;
            }
            orders = &mut fetching, if fetched.is_none() => fetched = Some(orders),
        }
    }
    order.caches = fetched.unwrap_or_default();
    Ok(())
}

async fn attend<H: Hands>(
    hands: &mut H,
    steps: &[String],
    words: &mut Words,
    tells: &mut Receiver<Tell>,
    events: &Sender<Event>,
) -> Result<(), Unheard> {
    let Words { spool, tap } = words;
    loop {
        tokio::select! {
            tell = tells.recv() => match tell {
                Some(Tell::Extend(until)) => within_patience(hands.extend(until)).await,
                Some(Tell::Cancel(grace)) => within_patience(hands.cancel(grace)).await,
                Some(Tell::Note(line)) => {
                    spool.note(line);
                    say(events, Event::Written(spool.written())).await?;
                }
                Some(Tell::Kill) => {
                    hands.end().await;
                    return say(events, Event::Gone).await;
                }
                None => return Err(Unheard),
            },
            () = tap.told(), if tap.is_waiting() => {}
            report = hands.next(), if !tap.is_waiting() => match report {
                Some(report) => {
                    tap.tell(&report, steps);
                    let last = matches!(report, Report::Finished(_));
                    pass_on(report, steps, spool, events).await?;
                    if last {
                        return Ok(());
                    }
                }
                None => {
                    hands.end().await;
                    return say(events, Event::Gone).await;
                }
            },
        }
    }
}

/// A keeper that does not listen must not keep us from hearing that it shall be killed.
async fn within_patience(telling: impl Future<Output = ()>) {
    if tokio::time::timeout(PATIENCE, telling).await.is_err() {
        tracing::warn!("a keeper does not listen");
    }
}

/// Writes what belongs into the log, and tells the session the rest.
async fn pass_on(
    report: Report,
    steps: &[String],
    spool: &mut Spool,
    events: &Sender<Event>,
) -> Result<(), Unheard> {
    let step_at = |index: u32| steps.get(index as usize).map_or("", String::as_str);
    match &report {
        Report::Chosen { executor, why } => spool.note(&format!("# {}: {why}", executor_name(*executor))),
        Report::StepStarted { index } => spool.note(&format!("$ {}", step_at(*index))),
        Report::StepEnded { index, exit_code } if *exit_code != 0 => {
            spool.note(&format!("# step {} ended with exit code {exit_code}", index + 1));
        }
        Report::StepEnded { .. } => {}
        Report::Output(bytes) => spool.output(bytes),
        Report::Note { line } => spool.note(&format!("# {line}")),
        Report::Finished(finish) => finish_line(finish).into_iter().for_each(|line| spool.note(&line)),
    }
    say(events, Event::Written(spool.written())).await?;
    match report {
        Report::Output(_) | Report::Note { .. } => Ok(()),
        Report::Finished(_) => say(events, Event::Finished { report, last_words: spool.last_words() }).await,
        Report::Chosen { .. } | Report::StepStarted { .. } | Report::StepEnded { .. } => {
            say(events, Event::Report(report)).await
        }
    }
}

/// What a reader of the log cannot see from the last step.
fn finish_line(finish: &Finish) -> Option<String> {
    match finish {
        Finish::Succeeded | Finish::StepFailed { .. } => None,
        Finish::TimedOut => Some("# the job ran longer than it may and was stopped".into()),
        Finish::Canceled { forced: false } => Some("# stopped".into()),
        Finish::Canceled { forced: true } => Some("# stopped with SIGKILL: SIGTERM did not do".into()),
        Finish::OutOfLease => Some("# stopped: the lease was not renewed in time".into()),
        Finish::Infra { problem } => Some(format!("# not the job's fault: {problem}")),
    }
}

async fn say(events: &Sender<Event>, event: Event) -> Result<(), Unheard> {
    events.send(event).await.map_err(|_| Unheard)
}
