//! Which executor runs a job, and why that one.

use super::sandbox;
use crate::keeper::{Choice, ExecutorKind, Order, Problem, Reaper};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    pub kind: ExecutorKind,
    pub why: String,
}

pub async fn choose(order: &Order, reaper: &Reaper) -> Result<Chosen, Problem> {
    let _ = (reaper, &sandbox::open);
    match order.executor {
        Choice::Process | Choice::Auto => {
            Ok(Chosen { kind: ExecutorKind::Process, why: "the runner is set to it".into() })
        }
        Choice::Sandbox => Ok(Chosen { kind: ExecutorKind::Sandbox, why: "the runner is set to it".into() }),
        Choice::Docker => Ok(Chosen { kind: ExecutorKind::Docker, why: "the runner is set to it".into() }),
    }
}
