//! A plan, as the planner or a caller hands it in; kept with the run, so that it can be shown and run again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use wire::Digest;
use wire::api::{Decision, Reason};

use crate::failures::ClassSet;
use crate::refusal::Refusal;

/// Every job that was thought of, also those that do not run, each with its reasons.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Plan {
    /// The commit that the difference was taken against, if one was.
    #[serde(default)]
    pub base: Option<String>,
    /// Where the jobs come from.
    #[serde(default)]
    pub source: Source,
    #[serde(default)]
    pub concurrency: Option<Concurrency>,
    /// The first required failure stops the rest.
    #[serde(default)]
    pub fail_fast: bool,
    pub jobs: Vec<PlanJob>,
}

impl Plan {
    /// The jobs that run.
    pub fn running(&self) -> impl Iterator<Item = &PlanJob> {
        self.jobs.iter().filter(|job| job.runs())
    }
}

impl From<Vec<PlanJob>> for Plan {
    /// A plan that was given, of these jobs.
    fn from(jobs: Vec<PlanJob>) -> Plan {
        Plan { jobs, ..Plan::default() }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// It came with the trigger.
    #[default]
    Given,
    /// The repository's pipeline file.
    File,
    /// Nobody wrote a file; the projects were found.
    Discovered,
}

/// Runs of one group: with `cancel`, a newer one supersedes the older ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Concurrency {
    pub group: String,
    pub cancel: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PlanJob {
    pub name: String,
    #[serde(default)]
    pub decision: Decision,
    #[serde(default)]
    pub reasons: Vec<Reason>,
    /// What the job's result depends on; a success with the same key may be reused.
    #[serde(default)]
    pub input_key: Option<Digest>,
    #[serde(default)]
    pub needs: Vec<String>,
    #[serde(default = "yes")]
    pub required: bool,
    #[serde(default)]
    pub effect_once: bool,
    #[serde(default)]
    pub priority: i32,
    #[serde(default)]
    pub runs_on: Vec<String>,
    #[serde(default)]
    pub attempts_max: Option<u32>,
    #[serde(default)]
    pub retry_on: Option<ClassSet>,
    #[serde(default)]
    pub timeout_seconds: Option<f64>,
    /// What the runner gets as `job_spec`.
    pub spec: Box<RawValue>,
}

fn yes() -> bool {
    true
}

impl PlanJob {
    /// To be run, required, with nothing special about it.
    pub fn plain(name: String, spec: Box<RawValue>) -> PlanJob {
        PlanJob {
            name,
            decision: Decision::Run,
            reasons: Vec::new(),
            input_key: None,
            needs: Vec::new(),
            required: true,
            effect_once: false,
            priority: 0,
            runs_on: Vec::new(),
            attempts_max: None,
            retry_on: None,
            timeout_seconds: None,
            spec,
        }
    }

    pub fn runs(&self) -> bool {
        self.decision == Decision::Run
    }
}

const NAME_LENGTH_MAX: usize = 200;
const GROUP_LENGTH_MAX: usize = 512;

/// A plan is sound when names are unique, needs exist and nothing waits for itself, whether it runs or not; and when
/// what is reused says whose success it is.
pub fn check(plan: &Plan, jobs_max: usize) -> Result<(), Refusal> {
    let jobs = plan.jobs.as_slice();
    if let Some(Concurrency { group, .. }) = &plan.concurrency
        && !(1..=GROUP_LENGTH_MAX).contains(&group.chars().count())
    {
        return Err(invalid(format!("a concurrency group's name has 1 to {GROUP_LENGTH_MAX} characters")));
    }
    if jobs.len() > jobs_max {
        return Err(invalid(format!("{} jobs; at most {jobs_max} are allowed", jobs.len())));
    }
    let mut needs_of = BTreeMap::new();
    for job in jobs {
        if job.name.is_empty() || job.name.chars().count() > NAME_LENGTH_MAX {
            return Err(invalid(format!("a job's name has 1 to {NAME_LENGTH_MAX} characters")));
        }
        if needs_of.insert(job.name.as_str(), &job.needs).is_some() {
            return Err(invalid(format!("two jobs are named `{}`", job.name)));
        }
        if job.decision == Decision::Reuse && !job.reasons.iter().any(names_success) {
            return Err(invalid(format!(
                "job `{}` is reused, but no reason names the run and the job",
                job.name
            )));
        }
    }
    for job in jobs {
        let mut seen = BTreeSet::new();
        for need in &job.needs {
            if !needs_of.contains_key(need.as_str()) {
                return Err(invalid(format!("job `{}` needs `{need}`, which is not in the plan", job.name)));
            }
            if !seen.insert(need) {
                return Err(invalid(format!("job `{}` needs `{need}` twice", job.name)));
            }
        }
    }
    refuse_cycles(jobs)
}

fn names_success(reason: &Reason) -> bool {
    reason.run.is_some() && reason.job.is_some()
}

/// Takes away what nothing holds back, again and again; what stays waits for itself.
fn refuse_cycles(jobs: &[PlanJob]) -> Result<(), Refusal> {
    let mut waits: BTreeMap<&str, usize> =
        jobs.iter().map(|job| (job.name.as_str(), job.needs.len())).collect();
    let mut dependents: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for job in jobs {
        for need in &job.needs {
            dependents.entry(need.as_str()).or_default().push(&job.name);
        }
    }
    let mut free: Vec<&str> = waits.iter().filter(|(_, open)| **open == 0).map(|(name, _)| *name).collect();
    while let Some(name) = free.pop() {
        waits.remove(name);
        for dependent in dependents.remove(name).unwrap_or_default() {
            let open = waits.get_mut(dependent).expect("a job with an open need is still waiting");
            *open -= 1;
            if *open == 0 {
                free.push(dependent);
            }
        }
    }
    match waits.keys().next() {
        None => Ok(()),
        Some(name) => Err(invalid(format!("job `{name}` needs itself, directly or through others"))),
    }
}

fn invalid(problem: String) -> Refusal {
    Refusal::PlanInvalid { problem }
}
