//! A plan as callers write it, turned into the plan that decisions take.

use decisions::failures::{ClassSet, FailureClass};
use decisions::records::{self, PlanJob};
use decisions::runs::RunOrigin;
use decisions::versions::check_name;
use serde_json::value::RawValue;
use wire::api::{EffectClass, Plan, PlannedJob, Reason};
use wire::runner::{Checkout, JobSpec, PublishSpec};

use crate::api::bounds::check_words;
use crate::api::problem::Problem;

pub fn converted(plan: Plan, origin: &RunOrigin) -> Result<records::Plan, Problem> {
    let checkout = checkout(origin);
    let jobs = plan.jobs.into_iter().map(|job| plan_job(job, checkout.clone()));
    Ok(jobs.collect::<Result<Vec<PlanJob>, _>>()?.into())
}

/// With a repository and something to take from it, jobs begin with its files.
fn checkout(origin: &RunOrigin) -> Option<Checkout> {
    let repository = origin.repository.clone()?;
    let (git_ref, commit) = (origin.git_ref.clone(), origin.commit.clone());
    (git_ref.is_some() || commit.is_some()).then_some(Checkout { repository, r#ref: git_ref, commit })
}

fn plan_job(job: PlannedJob, checkout: Option<Checkout>) -> Result<PlanJob, Problem> {
    check_words("runs_on", &job.runs_on)?;
    // What could not be published in the end is refused before the work is done.
    if let Some(PublishSpec { package, version }) = &job.publish {
        check_name("publish.package", package)?;
        check_name("publish.version", version)?;
    }
    let retry_on = job.retry_on.as_deref().map(classes).transpose()?;
    let spec = JobSpec {
        name: job.name.clone(),
        workdir: job.workdir,
        image: job.image,
        steps: job.steps,
        env: job.env,
        artifacts: job.artifacts,
        caches: job.caches,
        publish: job.publish,
        checkout,
        network: job.network,
    };
    let spec = serde_json::to_string(&spec).expect("a specification is plain data");
    let spec = RawValue::from_string(spec).expect("what was written as JSON is JSON");
    Ok(PlanJob {
        reasons: vec![given()],
        needs: job.needs,
        required: job.required,
        effect_once: job.effect == Some(EffectClass::Once),
        priority: job.priority,
        runs_on: job.runs_on,
        attempts_max: job.max_attempts,
        retry_on,
        timeout_seconds: job.timeout_seconds.map(|seconds| seconds.as_f64()),
        ..PlanJob::plain(job.name, spec)
    })
}

fn given() -> Reason {
    let detail = "the plan came with the trigger".into();
    Reason { rule: "given".into(), detail, ..Reason::default() }
}

fn classes(names: &[String]) -> Result<ClassSet, Problem> {
    let parsed = |name: &String| {
        FailureClass::parse(name).ok_or_else(|| {
            let known: Vec<_> = FailureClass::ALL.into_iter().filter(|class| class.may_retry()).collect();
            let known: Vec<_> = known.into_iter().map(FailureClass::as_str).collect();
            Problem::invalid(
                "retry_on",
                format!("no class is called `{name}`; there are {}", known.join(", ")),
            )
        })
    };
    Ok(ClassSet::asked_for(&names.iter().map(parsed).collect::<Result<Vec<_>, _>>()?))
}
