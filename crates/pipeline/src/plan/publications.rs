//! What the jobs of a plan publish: each version by a name that it can have, and none of them by two jobs. Otherwise a job
//! would do all its work first, and fail at its very end.

use std::collections::BTreeMap;

use decisions::Refusal;
use decisions::versions::check_name;
use wire::runner::{JobSpec, PublishSpec};

use super::problem::PlanProblem;

/// For every job the place of another that publishes the same, if there is one. Only jobs of one matrix may: what they
/// make may be the same. `runs` says which jobs count.
pub fn rivals(specs: &[JobSpec], runs: impl Fn(usize) -> bool) -> Result<Vec<Option<usize>>, PlanProblem> {
    let mut publishers: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (place, spec) in specs.iter().enumerate().filter(|(place, _)| runs(*place)) {
        let Some(PublishSpec { package, version }) = &spec.publish else { continue };
        nameable(spec, "package", package)?;
        nameable(spec, "version", version)?;
        publishers.entry((package, version)).or_default().push(place);
    }
    let mut rivals = vec![None; specs.len()];
    for ((package, version), places) in publishers {
        let [first, second, ..] = places[..] else { continue };
        let name = |place: usize| specs[place].name.as_str();
        if let Some(other) = places.iter().find(|place| matrix(name(**place)) != matrix(name(first))) {
            let jobs = [name(first).to_owned(), name(*other).to_owned()];
            let (package, version) = (package.to_owned(), version.to_owned());
            return Err(PlanProblem::SameVersion { jobs, package, version });
        }
        places.iter().for_each(|place| rivals[*place] = Some(if *place == first { second } else { first }));
    }
    Ok(rivals)
}

fn nameable(spec: &JobSpec, field: &'static str, name: &str) -> Result<(), PlanProblem> {
    check_name(field, name).map_err(|refusal| {
        let problem = match refusal {
            Refusal::InvalidInput { problem, .. } => problem,
            other => other.to_string(),
        };
        PlanProblem::Unpublishable { job: spec.name.clone(), field, name: name.to_owned(), problem }
    })
}

/// `test` of `test (debug)`.
fn matrix(job: &str) -> &str {
    job.split_once(" (").map_or(job, |(name, _)| name)
}
