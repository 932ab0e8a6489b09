//! Which executor runs a job, and why that one.

use super::{engine, sandbox};
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
        Choice::Docker => match (&order.image, engine::connect().await) {
            (None, _) => Err(Problem::new(
                "this runner runs jobs only in containers, and the job names no image; name one, or start the runner \
                 with `--executor auto`",
            )),
            (Some(_), Ok(_)) => Ok(asked(ExecutorKind::Docker)),
            (Some(_), Err(reason)) => Err(Problem::new(format!(
                "{reason}. Start one, name its socket in DOCKER_HOST, or start the runner with `--executor auto`"
            ))),
        },
        Choice::Auto => Ok(best(order, reaper).await),
    }
}

fn asked(kind: ExecutorKind) -> Chosen {
    Chosen { kind, why: "the runner is set to it".into() }
}

async fn best(order: &Order, reaper: &Reaper) -> Chosen {
    let no_container = match &order.image {
        None => "the job names no image".to_owned(),
        Some(image) => match engine::connect().await {
            Ok((_, socket)) => {
                let why = format!("the job names the image {image}, and an engine answers at {socket}");
                return Chosen { kind: ExecutorKind::Docker, why };
            }
            Err(reason) => format!("the image {image} is not used, because {reason}"),
        },
    };
    match sandbox::probe(reaper).await {
        Ok(()) => Chosen { kind: ExecutorKind::Sandbox, why: no_container },
        Err(reason) => Chosen {
            kind: ExecutorKind::Process,
            why: format!("{no_container}, and no sandbox can be made here: {reason}"),
        },
    }
}
