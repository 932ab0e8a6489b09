//! A local run, from its plan to its end.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use decisions::records::{Plan, PlanJob, Trust};
use decisions::runs::{CreateRun, RunOrigin};
use repo::Head;
use runner::agent::Ground;
use runner::keeper::Choice;
use serde::Deserialize;
use serde::de::IgnoredAny;
use server::Mint;
use store::Store;
use tokio::sync::mpsc;
use wire::RunId;
use wire::api::Decision;

use super::course::Course;
use super::data::Data;
use super::embedded::Embedded;
use super::follow::Follower;
use super::ground;
use super::happening::{Happening, PlannedJob, Show};
use super::interrupted::{self, Resume};
use super::pipeline::{self, Question};
use super::signals::{self, Said};
use super::staff::{Staff, Terms};
use crate::output::{Exit, Problem};

/// What a person asked for.
pub struct Wanted {
    pub question: Question,
    pub data: PathBuf,
    pub in_place: bool,
    pub resume: Resume,
    pub executor: Choice,
    pub slots: u32,
}

/// A run, and what it stands on.
struct Prepared {
    run: RunId,
    head: Head,
    plan: Plan,
    /// `None`: there is nothing to run.
    ground: Option<Ground>,
}

/// Returns when the run is over, nothing of it is left, and all of it is on record.
pub async fn run(wanted: &Wanted, show: &mut dyn Show) -> Result<Exit> {
    let mut signals = signals::listen()?;
    let data = Data::claim(&wanted.data)?;
    let embedded = Embedded::start(&data).await?;
    let exit = inside(wanted, &data, &embedded, &mut signals, show).await;
    embedded.stop().await;
    exit
}

async fn inside(
    wanted: &Wanted,
    data: &Data,
    embedded: &Embedded,
    signals: &mut mpsc::Receiver<Said>,
    show: &mut dyn Show,
) -> Result<Exit> {
    let (engine, mut course) = (embedded.engine(), Course::begin(embedded.engine().clone(), show));
    let (resumed, told) = tokio::select! {
        settled = interrupted::settle(engine, embedded.tenant(), wanted.resume) => settled?,
        Some(_) = signals.recv() => return Ok(Exit::Canceled),
    };
    told.iter().for_each(|happening| course.tell(happening));
    ground::forget_all_but(&data.snapshots(), resumed.as_ref().map(|run| data.snapshot(run.id)));
    let seq = engine.store().log_bounds().await?.last_seq;
    let prepared = match resumed {
        Some(run) => stored(wanted, data, embedded, run.id).await?,
        None => {
            let prepared = tokio::select! {
                prepared = prepare(wanted, data, embedded) => prepared?,
                Some(_) = signals.recv() => return Ok(Exit::Canceled),
            };
            create(embedded, &prepared).await?;
            prepared
        }
    };
    let Prepared { run, plan, ground, .. } = prepared;
    let follower = Follower::begin(engine.clone(), run, seq).await?;
    course.tell(&planned(run, &plan));
    let staff =
        ground.map(|ground| Staff::hire(terms(wanted, data, ground), embedded.client())).transpose()?;
    let exit = course.follow(follower, embedded.tenant(), &plan, staff, signals).await?;
    ground::forget(&data.snapshot(run));
    Ok(exit)
}

/// Plans, and keeps the files that the jobs will see. Nothing is on record yet.
async fn prepare(wanted: &Wanted, data: &Data, embedded: &Embedded) -> Result<Prepared> {
    let past = (embedded.engine().store(), embedded.tenant());
    let planned = pipeline::plan(&wanted.question, Some(past)).await?;
    can_run(&planned.plan, &terms(wanted, data, Ground::Fresh))?;
    let (run, head) = (Mint.run(embedded.engine().clock().now()), planned.head.clone());
    let (plan, ground) = if !planned.plan.jobs.iter().any(runs) {
        (planned.plan, None)
    } else if wanted.in_place {
        (planned.plan, Some(Ground::InPlace(wanted.question.folder.clone())))
    } else {
        let (plan, ground) = planned.keep(&data.snapshot(run), Some(past)).await?;
        (plan, Some(ground))
    };
    Ok(Prepared { run, head, plan, ground })
}

async fn create(embedded: &Embedded, prepared: &Prepared) -> Result<()> {
    let create = CreateRun {
        id: prepared.run,
        tenant: embedded.tenant(),
        trigger_key: None,
        origin: RunOrigin {
            repository: None,
            git_ref: prepared.head.branch.clone(),
            commit: prepared.head.commit.clone(),
            base: prepared.plan.base.clone(),
        },
        trust: Trust::Trusted,
        fail_fast: false,
        plan: Some(prepared.plan.clone()),
    };
    embedded.engine().perform(create).await.context("the run cannot be put on record")?;
    Ok(())
}

/// What an earlier process began.
async fn stored(wanted: &Wanted, data: &Data, embedded: &Embedded, run: RunId) -> Result<Prepared> {
    let plan = embedded.engine().store().plan(run).await?;
    let plan = pipeline::stored(&plan.with_context(|| format!("{run} has no plan"))?)?;
    let ground = match (wanted.in_place, ground::taken(&data.snapshot(run))) {
        (true, _) => Ground::InPlace(wanted.question.folder.clone()),
        (false, Some(ground)) => ground,
        (false, None) => {
            let snapshot = data.snapshot(run);
            return Err(no_files(run, &snapshot));
        }
    };
    Ok(Prepared { run, head: Head::default(), plan, ground: Some(ground) })
}

fn no_files(run: RunId, snapshot: &Path) -> anyhow::Error {
    let message = format!(
        "the files of {run} are not in {}; if it ran in place, go on with `--resume --in-place`, else start a new run",
        snapshot.display()
    );
    Problem { exit: Exit::Infrastructure, message }.into()
}

/// A job that nobody here can take would wait for ever.
fn can_run(plan: &Plan, terms: &Terms) -> Result<()> {
    let here = terms.capabilities();
    let missing = |job: &PlanJob| job.runs_on.iter().find(|label| !here.contains(label)).cloned();
    let found = plan.jobs.iter().filter(|job| runs(job)).find_map(|job| Some((&job.name, missing(job)?)));
    let Some((job, label)) = found else { return Ok(()) };
    let message = format!(
        "job `{job}` runs on {label}, and this machine has only {}; leave it out with --job, or run it on a server",
        here.join(", ")
    );
    Err(Problem { exit: Exit::Infrastructure, message }.into())
}

fn runs(job: &PlanJob) -> bool {
    job.decision == Decision::Run
}

fn terms(wanted: &Wanted, data: &Data, ground: Ground) -> Terms {
    Terms { slots: wanted.slots, executor: wanted.executor, work: data.work(), ground }
}

fn planned(run: RunId, plan: &Plan) -> Happening {
    Happening::Planned { run, source: plan.source, base: plan.base.clone(), jobs: described(plan) }
}

/// The jobs of a plan, for whoever shows them.
pub fn described(plan: &Plan) -> Vec<PlannedJob> {
    #[derive(Deserialize)]
    struct Spec {
        #[serde(default)]
        steps: Vec<IgnoredAny>,
    }
    let steps =
        |job: &PlanJob| serde_json::from_str(job.spec.get()).map_or(0, |spec: Spec| spec.steps.len() as u32);
    let job = |job: &PlanJob| PlannedJob {
        name: job.name.clone(),
        decision: job.decision,
        reasons: job.reasons.clone(),
        needs: job.needs.clone(),
        required: job.required,
        steps: steps(job),
    };
    plan.jobs.iter().map(job).collect()
}
