//! Which executor runs a job, and why that one.

use super::sandbox;
use crate::keeper::{Choice, ExecutorKind, Order, Problem, Reaper};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    pub kind: ExecutorKind,
    pub why: String,
}

/// What the operator asked for, or nothing; `Auto` takes the best walls there are.
pub async fn choose(order: &Order, reaper: &Reaper) -> Result<Chosen, Problem> {
    match order.executor {
        Choice::Process => Ok(asked(ExecutorKind::Process)),
        Choice::Sandbox => match sandbox::probe(reaper).await {
            Ok(()) => Ok(asked(ExecutorKind::Sandbox)),
            Err(reason) => Err(Problem::new(format!(
                "no sandbox can be made on this runner: {reason}. Install bubblewrap and allow user namespaces, or start \
                 the runner with `--executor process`"
            ))),
        },
        Choice::Docker => Ok(asked(ExecutorKind::Docker)),
        Choice::Auto => Ok(best(order, reaper).await),
    }
}

fn asked(kind: ExecutorKind) -> Chosen {
    Chosen { kind, why: "the runner is set to it".into() }
}

async fn best(_order: &Order, reaper: &Reaper) -> Chosen {
    match sandbox::probe(reaper).await {
        Ok(()) => Chosen { kind: ExecutorKind::Sandbox, why: "the job names no image".into() },
        Err(reason) => {
            Chosen { kind: ExecutorKind::Process, why: format!("no sandbox can be made here: {reason}") }
        }
    }
}
