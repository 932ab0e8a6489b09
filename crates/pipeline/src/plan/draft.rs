//! A pipeline and what is known of the repository, brought together: the order of the jobs, why each would run, and the
//! keys of their inputs.

use decisions::records::{Concurrency, PlanJob, Source, Trust};
use wire::Digest;
use wire::api::Decision;
use wire::runner::JobSpec;

use super::PIPELINE_FILE;
use super::changes::{Changes, changes};
use super::order::{Order, Selected};
use super::places;
use super::problem::PlanProblem;
use crate::definition::{Job, Pipeline};
use crate::facts::{Difference, Facts};
use crate::globs::{ListId, Lists};
use crate::keys::{self, Files, Inputs, input_key};

pub struct Draft {
    pub(super) base: Option<String>,
    pub(super) source: Source,
    pub(super) concurrency: Option<Concurrency>,
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
    /// Keys under which a success may be reused, the best first. None for what is never reused.
    pub keys: Vec<Digest>,
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
        let (base, changed) = match &facts.difference {
            Difference::Since { base, changed } => {
                let always = (pipeline.source == Source::File).then_some(PIPELINE_FILE.as_bytes());
                (Some(base.clone()), changes(&lists, &index, changed, always))
            }
            Difference::NotAsked | Difference::Unknown { .. } => (None, Vec::new()),
        };
        let mut causes = vec![Cause::NotSelected; pipeline.jobs.len()];
        for place in &order.sequence {
            let changes = changed.get(asked[*place].paths.place());
            causes[*place] = cause(facts, selected[*place], changes, &order.needs[*place], &causes);
        }
        let specs: Vec<JobSpec> =
            pipeline.jobs.iter().zip(&asked).map(|(job, asked)| asked.spec(job, facts, &files)).collect();
        let inputs = |place: usize| {
            let job: &Job = &pipeline.jobs[place];
            let files = files.digest(asked[place].paths);
            (!job.effect_once).then_some(Inputs { spec: &specs[place], runs_on: &job.runs_on, files })
        };
        // A trusted success is good enough for everybody.
        let trusted = all_keys(Trust::Trusted, &order, inputs);
        let untrusted = match facts.trust {
            Trust::Trusted => vec![None; specs.len()],
            Trust::Untrusted => all_keys(Trust::Untrusted, &order, inputs),
        };
        let mut jobs = Vec::with_capacity(specs.len());
        for (place, job) in pipeline.jobs.iter().enumerate() {
            let keys = [trusted[place], untrusted[place]].into_iter().flatten().collect();
            let own = match facts.trust {
                Trust::Trusted => trusted[place],
                Trust::Untrusted => untrusted[place],
            };
            jobs.push(Sketch {
                job: plan_job(job, &specs[place], own),
                needs: order.needs[place].clone(),
                selected: selected[place],
                cause: causes[place].clone(),
                keys,
            });
        }
        Ok(Draft {
            base,
            source: pipeline.source,
            concurrency: places::group(pipeline.concurrency.as_ref(), facts),
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

/// A job has no key if it is never reused, or needs one that is not.
fn all_keys<'a>(
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
    PlanJob {
        name: job.name.clone(),
        decision: Decision::Run,
        reasons: Vec::new(),
        input_key,
        needs: job.needs.clone(),
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
