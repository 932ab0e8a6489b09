//! What jobs do, for somebody in the same process who watches. Whoever watches slowly makes the jobs wait, as a slow log
//! does, but nobody who has to tell them something.

use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;

use crate::keeper::{ExecutorKind, Report};

/// Something that a job did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub job_id: String,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    Chosen {
        executor: &'static str,
        why: String,
    },
    /// `index` counts from zero; `text` is the step itself.
    StepStarted {
        index: u32,
        text: String,
    },
    StepEnded {
        index: u32,
        exit_code: i32,
    },
    Output(Vec<u8>),
}

/// One job's way to the watcher.
pub struct Tap {
    job_id: String,
    watcher: Option<Sender<Seen>>,
    /// The watcher had no room for it.
    untold: Option<Seen>,
}

impl Tap {
    pub fn new(job_id: String, watcher: Option<Sender<Seen>>) -> Tap {
        Tap { job_id, watcher, untold: None }
    }

    /// Tells it at once, or keeps it for [`Tap::told`]; not to be called while something waits.
    pub fn tell(&mut self, report: &Report, steps: &[String]) {
        let Some(watcher) = &self.watcher else { return };
        let Some(what) = what(report, steps) else { return };
        match watcher.try_send(Seen { job_id: self.job_id.clone(), what }) {
            Ok(()) => {}
            Err(TrySendError::Full(seen)) => self.untold = Some(seen),
            Err(TrySendError::Closed(_)) => self.watcher = None,
        }
    }

    pub fn is_waiting(&self) -> bool {
        self.untold.is_some()
    }

    /// Returns when nothing waits any more. May be dropped at any moment.
    pub async fn told(&mut self) {
        let Some(watcher) = &self.watcher else { return };
        let place = watcher.reserve().await;
        if let (Some(seen), Ok(place)) = (self.untold.take(), place) {
            place.send(seen);
        }
    }
}

fn what(report: &Report, steps: &[String]) -> Option<What> {
    Some(match report {
        Report::Chosen { executor, why } => {
            What::Chosen { executor: executor_name(*executor), why: why.clone() }
        }
        Report::StepStarted { index } => {
            let text = steps.get(*index as usize).cloned().unwrap_or_default();
            What::StepStarted { index: *index, text }
        }
        Report::StepEnded { index, exit_code } => What::StepEnded { index: *index, exit_code: *exit_code },
        Report::Output(bytes) => What::Output(bytes.clone()),
        Report::Note { line } => What::Output(format!("{line}\n").into_bytes()),
        Report::Finished(_) => return None,
    })
}

pub fn executor_name(executor: ExecutorKind) -> &'static str {
    match executor {
        ExecutorKind::Process => "process",
        ExecutorKind::Sandbox => "sandbox",
        ExecutorKind::Docker => "docker",
    }
}
