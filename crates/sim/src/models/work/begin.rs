//! How it begins: a tenant that wants to be told, and a job or a run, made by the real commands.

use decisions::Command;
use decisions::jobs::SubmitJob;
use decisions::records::{PlanJob, Trust};
use decisions::runs::{CreateRun, RunOrigin};
use decisions::tenants::{EnsureTenant, PutWebhook};
use serde_json::value::RawValue;
use wire::{JobId, RunId, TenantId};

use super::{Setup, Work};
use crate::models::records::Records;
use crate::models::search::Stage;
use crate::models::work::cast::Actors;
use crate::models::world::World;

pub fn tenant() -> TenantId {
    TenantId::from_u128(1)
}

pub fn job() -> JobId {
    JobId::from_u128(1)
}

pub fn run() -> RunId {
    RunId::from_u128(1)
}

pub fn begin(work: &Work) -> World<Work> {
    let stage = Stage::real(work.clone());
    let mut world = World::new(Records::default(), Actors::new(&work.asks));
    for command in commands(work.setup) {
        stage.perform(&mut world, command).expect("nothing stands in the way of a beginning");
    }
    world
}

/// A tenant, and a subscriber that wants to hear of every end.
pub fn audience() -> [Command; 2] {
    let events = ["job.finished", "run.finished"].map(str::to_owned).to_vec();
    [
        EnsureTenant { id: tenant(), name: "tenant".into() }.into(),
        PutWebhook {
            tenant: tenant(),
            name: "hook".into(),
            url: "https://example.org/hook".into(),
            events,
            secret: String::new().into(),
            ordered: false,
        }
        .into(),
    ]
}

fn commands(setup: Setup) -> Vec<Command> {
    let mut commands = audience().to_vec();
    commands.push(match setup {
        Setup::Job { effect_once } => SubmitJob {
            id: job(),
            tenant: tenant(),
            key: None,
            payload: RawValue::NULL.to_owned(),
            runs_on: Vec::new(),
            priority: 0,
            attempts_max: Some(2),
            timeout_seconds: None,
            effect_once,
        }
        .into(),
        Setup::Run { fail_fast, chained } => create_run(fail_fast, two_jobs(chained)),
    });
    commands
}

pub fn create_run(fail_fast: bool, jobs: Vec<PlanJob>) -> Command {
    CreateRun {
        id: run(),
        tenant: tenant(),
        trigger_key: None,
        origin: RunOrigin::default(),
        trust: Trust::Trusted,
        fail_fast,
        plan: Some(jobs.into()),
    }
    .into()
}

fn two_jobs(chained: bool) -> Vec<PlanJob> {
    let plain = |name: &str| PlanJob {
        attempts_max: Some(1),
        ..PlanJob::plain(name.into(), RawValue::NULL.to_owned())
    };
    let needs = if chained { vec!["first".to_owned()] } else { Vec::new() };
    vec![plain("first"), PlanJob { needs, ..plain("second") }]
}
