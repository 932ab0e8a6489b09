//! A pipeline and what is known of the repository, brought together: the order of the jobs, why each would run, and the
//! keys of their inputs.

use std::collections::HashSet;

use decisions::records::{Concurrency, PlanJob, Source, Trust};
use wire::Digest;
use wire::api::Decision;
use wire::runner::JobSpec;

use super::PIPELINE_FILE;
use super::changes::{Changes, changes};
use super::order::{Order, Selected};
use super::places;
use super::problem::PlanProblem;
use super::publications;
use crate::definition::{Job, Pipeline};
use crate::facts::{Difference, Facts};
use crate::globs::{Index, ListId, Lists};
use crate::keys::{self, Files, Inputs, input_key};

pub struct Draft {
    pub(super) base: Option<String>,
    pub(super) source: Source,
    pub(super) concurrency: Option<Concurrency>,
    pub(super) fail_fast: bool,
    pub(super) no_reuse: bool,
    /// In the order of the pipeline.
    pub(super) jobs: Vec<Sketch>,
    /// Places of all jobs, each after those it needs.
    pub(super) sequence: Vec<usize>,
}

/// A job before anybody looked for an earlier success.
pub(super) struct Sketch {
    /// Complete but for the decision and its reasons.
    pub job: PlanJob,
    pub needs: Vec<usize>,
    pub selected: Selected,
    pub cause: Cause,
    /// Keys under which a success may be reused, its own the last. None for what is never reused.
    pub keys: Vec<Digest>,
    /// Another job of its matrix that publishes the same version.
    pub rival: Option<usize>,
}

/// Why a job would run, or would not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cause {
    NotSelected,
    Unchanged,
    Changed(Changes),
    /// Something changed for a job it needs.
    Need(usize),
    /// Nothing changed, but somebody named it.
    Named,
    All,
    NoBase,
    NoDifference {
        why: String,
    },
}

impl Cause {
    pub fn runs(&self) -> bool {
        match self {
            Cause::NotSelected | Cause::Unchanged => false,
            Cause::Changed(_)
            | Cause::Need(_)
            | Cause::Named
            | Cause::All
            | Cause::NoBase
            | Cause::NoDifference { .. } => true,
        }
    }
}

impl Draft {
    pub fn new(pipeline: &Pipeline, facts: &Facts) -> Result<Draft, PlanProblem> {
        let order = Order::new(&pipeline.jobs)?;
        let selected = order.selected(&pipeline.jobs, &facts.wishes.only)?;
        let mut lists = Lists::default();
        let asked = pipeline.jobs.iter().map(|job| Asked::new(job, &mut lists));
        let asked: Vec<Asked> = asked.collect::<Result<_, _>>()?;
        let index = lists.index().map_err(|problem| PlanProblem::Patterns { problem })?;
        let files = Files::new(facts.tree, &lists, &index);
        let changed = changed(pipeline, facts, &lists, &index);
        let changes = |place: usize| changed.get(asked[place].paths.place());
        let causes = causes(facts, &order, &selected, changes);
        let specs = pipeline.jobs.iter().zip(&asked).map(|(job, asked)| asked.spec(job, facts, &files));
        let specs: Vec<JobSpec> = specs.collect();
        let rivals = publications::rivals(&specs, |place| causes[place].runs())?;
        let keys = all_keys(facts.trust, &order, |place| {
            let Job { effect_once, runs_on, .. } = &pipeline.jobs[place];
            let files = files.digest(asked[place].paths);
            (!effect_once).then_some(Inputs { spec: &specs[place], runs_on, files })
        });
        let mut jobs = Vec::with_capacity(specs.len());
        for (place, (cause, keys)) in causes.into_iter().zip(keys).enumerate() {
            let job = plan_job(&pipeline.jobs[place], &specs[place], keys.last().copied());
            let needs = order.needs[place].clone();
            let (selected, rival) = (selected[place], rivals[place]);
            jobs.push(Sketch { job, needs, selected, cause, keys, rival });
        }
        Ok(Draft {
            base: match &facts.difference {
                Difference::Since { base, .. } => Some(base.clone()),
                Difference::NotAsked | Difference::Unknown { .. } => None,
            },
            source: pipeline.source,
            concurrency: places::group(pipeline.concurrency.as_ref(), facts),
            fail_fast: pipeline.fail_fast,
            no_reuse: facts.wishes.no_reuse,
            jobs,
            sequence: order.sequence,
        })
    }

    /// The keys worth looking up, sorted, each once.
    pub fn wanted(&self) -> Vec<Digest> {
        if self.no_reuse {
            return Vec::new();
        }
        let running = self.jobs.iter().filter(|sketch| sketch.cause.runs());
        let mut keys: Vec<Digest> = running.flat_map(|sketch| sketch.keys.iter().copied()).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

/// What a job asks of the tree.
struct Asked {
    paths: ListId,
    /// The patterns in the keys of its caches, in their order.
    cached: Vec<Vec<ListId>>,
    everything: Option<ListId>,
}

impl Asked {
    fn new(job: &Job, lists: &mut Lists) -> Result<Asked, PlanProblem> {
        let bad = |bad| PlanProblem::of_pattern(&job.name, bad);
        let paths = lists.add(job.paths.as_deref()).map_err(bad)?;
        let mut cached = Vec::with_capacity(job.spec.caches.len());
        for cache in &job.spec.caches {
            let globs = keys::globs(&cache.key).into_iter();
            let ids = globs.map(|glob| lists.add(Some(&[glob.to_owned()])).map_err(bad));
            cached.push(ids.collect::<Result<_, _>>()?);
        }
        let publishes = job.spec.publish.is_some();
        let everything = publishes.then(|| lists.add(None).map_err(bad)).transpose()?;
        Ok(Asked { paths, cached, everything })
    }

    fn spec(&self, job: &Job, facts: &Facts, files: &Files) -> JobSpec {
        let mut spec = job.spec.clone();
        spec.checkout = facts.checkout.clone();
        for (cache, lists) in spec.caches.iter_mut().zip(&self.cached) {
            let mut lists = lists.iter();
            (cache.key, cache.prefix) =
                keys::resolve(&cache.key, |_| lists.next().and_then(|list| files.digest(*list)));
        }
        if let (Some(publish), Some(everything)) = (&mut spec.publish, self.everything) {
            publish.version = places::version(&publish.version, facts, || files.digest(everything));
        }
        spec
    }
}

/// For every list of patterns, if there is something to compare with.
fn changed(pipeline: &Pipeline, facts: &Facts, lists: &Lists, index: &Index) -> Vec<Changes> {
    match &facts.difference {
        Difference::Since { changed, .. } => {
            let always = (pipeline.source == Source::File).then_some(PIPELINE_FILE.as_bytes());
            changes(lists, index, changed, always)
        }
        Difference::NotAsked | Difference::Unknown { .. } => Vec::new(),
    }
}

fn causes<'a>(
    facts: &Facts,
    order: &Order,
    selected: &[Selected],
    changes: impl Fn(usize) -> Option<&'a Changes>,
) -> Vec<Cause> {
    let mut causes = vec![Cause::NotSelected; selected.len()];
    for place in &order.sequence {
        causes[*place] = cause(facts, selected[*place], changes(*place), &order.needs[*place], &causes);
    }
    causes
}

fn cause(
    facts: &Facts,
    selected: Selected,
    changes: Option<&Changes>,
    needs: &[usize],
    causes: &[Cause],
) -> Cause {
    if selected == Selected::No {
        return Cause::NotSelected;
    }
    if facts.wishes.all {
        return Cause::All;
    }
    match &facts.difference {
        Difference::NotAsked => return Cause::NoBase,
        Difference::Unknown { why } => return Cause::NoDifference { why: why.clone() },
        Difference::Since { .. } => {}
    }
    if let Some(changes) = changes.filter(|changes| changes.count > 0) {
        return Cause::Changed(changes.clone());
    }
    if let Some(need) = needs.iter().find(|need| causes[**need].runs()) {
        return Cause::Need(*need);
    }
    match selected {
        Selected::Named => Cause::Named,
        Selected::Everything | Selected::NeededBy(_) | Selected::No => Cause::Unchanged,
    }
}

/// For every job the keys under which a success may be reused, its own the last: a trusted success is good enough for
/// everybody, an untrusted one for the untrusted.
fn all_keys<'a>(
    trust: Trust,
    order: &Order,
    inputs: impl Fn(usize) -> Option<Inputs<'a>>,
) -> Vec<Vec<Digest>> {
    let kinds: &[Trust] = match trust {
        Trust::Trusted => &[Trust::Trusted],
        Trust::Untrusted => &[Trust::Trusted, Trust::Untrusted],
    };
    let mut keys = vec![Vec::new(); order.sequence.len()];
    for kind in kinds {
        let of_kind = keys_of(*kind, order, &inputs);
        keys.iter_mut().zip(of_kind).for_each(|(keys, key)| keys.extend(key));
    }
    keys
}

/// A job has no key if it is never reused, or needs one that is not.
fn keys_of<'a>(
    trust: Trust,
    order: &Order,
    inputs: impl Fn(usize) -> Option<Inputs<'a>>,
) -> Vec<Option<Digest>> {
    let mut keys = vec![None; order.sequence.len()];
    for place in &order.sequence {
        let needs: Option<Vec<Digest>> = order.needs[*place].iter().map(|need| keys[*need]).collect();
        keys[*place] = inputs(*place).zip(needs).map(|(inputs, needs)| input_key(trust, &inputs, &needs));
    }
    keys
}

fn plan_job(job: &Job, spec: &JobSpec, input_key: Option<Digest>) -> PlanJob {
    let mut needs = job.needs.clone();
    let mut seen = HashSet::new();
    needs.retain(|need| seen.insert(need.clone()));
    PlanJob {
        name: job.name.clone(),
        decision: Decision::Run,
        reasons: Vec::new(),
        input_key,
        needs,
        required: job.required,
        effect_once: job.effect_once,
        priority: job.priority,
        runs_on: job.runs_on.clone(),
        attempts_max: job.attempts_max,
        retry_on: job.retry_on,
        timeout_seconds: job.timeout_seconds,
        spec: serde_json::value::to_raw_value(spec).expect("a specification is plain data"),
    }
}
