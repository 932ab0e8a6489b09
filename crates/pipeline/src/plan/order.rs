//! Which job comes after which.

use std::collections::HashMap;

use super::problem::PlanProblem;
use super::suggest::nearest;
use crate::definition::Job;

pub struct Order {
    /// For every job, the places of the jobs it needs, each once.
    pub needs: Vec<Vec<usize>>,
    /// Every job after all that it needs.
    pub sequence: Vec<usize>,
}

impl Order {
    pub fn new(jobs: &[Job]) -> Result<Order, PlanProblem> {
        let places = places(jobs)?;
        let mut needs = Vec::with_capacity(jobs.len());
        for job in jobs {
            let place = |need: &String| {
                let missing = || PlanProblem::UnknownNeed { job: job.name.clone(), need: need.clone() };
                places.get(need.as_str()).copied().ok_or_else(missing)
            };
            let mut found: Vec<usize> = job.needs.iter().map(place).collect::<Result<_, _>>()?;
            found.sort_unstable();
            found.dedup();
            needs.push(found);
        }
        let sequence = sequence(&needs);
        if sequence.len() < jobs.len() {
            let mut placed = vec![false; jobs.len()];
            sequence.iter().for_each(|place| placed[*place] = true);
            let stuck = placed.iter().position(|placed| !placed).expect("a job is missing");
            return Err(PlanProblem::Cycle { job: jobs[stuck].name.clone() });
        }
        Ok(Order { needs, sequence })
    }

    /// The jobs that were named, and what they need; for each of the latter, the named job that needs it.
    pub fn selected(&self, jobs: &[Job], names: &[String]) -> Result<Vec<Selected>, PlanProblem> {
        if names.is_empty() {
            return Ok(vec![Selected::Everything; jobs.len()]);
        }
        let places = places(jobs)?;
        let mut selected = vec![Selected::No; jobs.len()];
        for name in names {
            let named = named(jobs, &places, name);
            if named.is_empty() {
                let suggestion = nearest(name, jobs.iter().map(|job| job.name.as_str())).map(String::from);
                return Err(PlanProblem::UnknownJob { name: name.clone(), suggestion });
            }
            named.into_iter().for_each(|place| selected[place] = Selected::Named);
        }
        for place in self.sequence.iter().rev() {
            let root = match selected[*place] {
                Selected::No | Selected::Everything => continue,
                Selected::Named => *place,
                Selected::NeededBy(root) => root,
            };
            for need in &self.needs[*place] {
                if selected[*need] == Selected::No {
                    selected[*need] = Selected::NeededBy(root);
                }
            }
        }
        Ok(selected)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selected {
    /// Nobody chose.
    Everything,
    Named,
    /// A named job needs it, maybe through others.
    NeededBy(usize),
    No,
}

/// The job of this name, or all jobs of the matrix of this name: `test` is `test (debug)` and `test (release)`.
fn named(jobs: &[Job], places: &HashMap<&str, usize>, name: &str) -> Vec<usize> {
    if let Some(place) = places.get(name) {
        return vec![*place];
    }
    let of_matrix = |job: &Job| job.name.strip_prefix(name).is_some_and(|rest| rest.starts_with(" ("));
    (0..jobs.len()).filter(|place| of_matrix(&jobs[*place])).collect()
}

fn places(jobs: &[Job]) -> Result<HashMap<&str, usize>, PlanProblem> {
    let mut places = HashMap::with_capacity(jobs.len());
    for (place, job) in jobs.iter().enumerate() {
        if places.insert(job.name.as_str(), place).is_some() {
            return Err(PlanProblem::SameName { name: job.name.clone() });
        }
    }
    Ok(places)
}

/// Takes what nothing holds back, again and again; what waits for itself is left out.
fn sequence(needs: &[Vec<usize>]) -> Vec<usize> {
    let mut open: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut dependents = vec![Vec::new(); needs.len()];
    for (place, needs) in needs.iter().enumerate() {
        needs.iter().for_each(|need| dependents[*need].push(place));
    }
    let mut sequence: Vec<usize> = (0..needs.len()).filter(|place| open[*place] == 0).collect();
    let mut next = 0;
    while let Some(place) = sequence.get(next).copied() {
        next += 1;
        for dependent in &dependents[place] {
            open[*dependent] -= 1;
            if open[*dependent] == 0 {
                sequence.push(*dependent);
            }
        }
    }
    sequence
}
