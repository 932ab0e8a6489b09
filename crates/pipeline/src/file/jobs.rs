//! All jobs of the file, each matrix expanded.

use std::collections::HashMap;

use decisions::Policy;
use wire::runner::{JobSpec, PublishSpec};

use super::fill::{Budget, Full, Values};
use super::formats::NAME_LENGTH_MAX;
use super::matrix::{Matrix, name_of};
use super::needs;
use super::spec::{Filler, Layers};
use crate::definition::Job;
use crate::problem::{Code, Place, Problem, Problems, short};
use crate::yaml::{Entry, Node};

/// Of one file, with those that matrices make.
pub const JOBS_MAX: usize = 10_000;

/// All texts of all jobs, after matrices.
pub const TEXT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The planner has still to say what to check out, and to fill in hashes.
const SPEC_ROOM: usize = 4 * 1024;

/// The file's jobs. Where something is wrong the result is only good for finding more of that.
pub fn read(jobs: &[Entry], defaults: Option<&Node>, place: Place, problems: &mut Problems) -> Vec<Job> {
    let needs = needs::check(jobs, problems);
    let matrices: Vec<Matrix<'_>> =
        jobs.iter().map(|job| Matrix::read(job.value.get("matrix"), job.place, problems)).collect();
    let count = matrices.iter().map(|matrix| matrix.count).sum::<usize>();
    if count > JOBS_MAX {
        let message = format!("the file makes {count} jobs; at most {JOBS_MAX} are allowed");
        let hint = "use smaller matrices, or several pipelines";
        problems.add(Problem::new(Code::TooManyJobs, place, message, "too many jobs", hint));
        return Vec::new();
    }
    let budget = Budget::new(TEXT_BYTES_MAX);
    let published = HashMap::new();
    let mut expansion = Expansion { jobs, matrices, defaults, budget, published, problems };
    expansion.all(&needs).unwrap_or_else(|_| {
        let message = format!("the jobs hold more than {TEXT_BYTES_MAX} bytes of text after their matrices");
        let hint = "use smaller matrices, fewer needs between them, or scripts in files of their own";
        problems.add(Problem::new(Code::TooLarge, place, message, "too much text", hint));
        Vec::new()
    })
}

struct Expansion<'a, 'b> {
    jobs: &'a [Entry],
    matrices: Vec<Matrix<'a>>,
    defaults: Option<&'a Node>,
    budget: Budget,
    /// What jobs publish, and the first that does.
    published: HashMap<(String, String), &'a Entry>,
    problems: &'b mut Problems,
}

impl<'a> Expansion<'a, '_> {
    fn all(&mut self, needs: &[Vec<usize>]) -> Result<Vec<Job>, Full> {
        let names = self.names()?;
        let sound = self.problems.is_empty();
        let mut made = Vec::new();
        for (number, entry) in self.jobs.iter().enumerate() {
            let layers = Layers { job: &entry.value, defaults: self.defaults };
            let mut waits = Vec::new();
            for need in &needs[number] {
                waits.extend(names[*need].iter().cloned());
            }
            for (combination, name) in names[number].iter().enumerate() {
                // One of each shows what else is wrong; more would only take time.
                if self.problems.is_full() || combination > 0 && !sound {
                    break;
                }
                for need in &waits {
                    self.budget.name(need)?;
                }
                self.budget.next_job(Policy::default().spec_bytes_max - SPEC_ROOM);
                let values = self.matrices[number].combination(combination);
                match self.job(entry, layers, &values, name) {
                    Ok(job) => made.push(Job { needs: waits.clone(), ..job }),
                    Err(Full::Job) => self.problems.add(too_large(name, entry.place)),
                    Err(Full::All) => return Err(Full::All),
                }
            }
        }
        Ok(made)
    }

    /// The names of each matrix's jobs.
    fn names(&mut self) -> Result<Vec<Vec<String>>, Full> {
        let mut all = Vec::with_capacity(self.jobs.len());
        let mut seen: HashMap<String, Place> = HashMap::new();
        for (entry, matrix) in self.jobs.iter().zip(&self.matrices) {
            let mut names = Vec::with_capacity(matrix.count);
            for combination in 0..matrix.count {
                let name = name_of(&entry.key, &matrix.combination(combination));
                // For the job and for its specification.
                self.budget.name(&name)?;
                self.budget.name(&name)?;
                if let Some(problem) = refuse_name(&name, entry.place, &seen) {
                    self.problems.add(problem);
                }
                seen.insert(name.clone(), entry.place);
                names.push(name);
            }
            all.push(names);
        }
        Ok(all)
    }

    fn job(
        &mut self,
        entry: &'a Entry,
        layers: Layers<'a>,
        values: &Values<'a>,
        name: &str,
    ) -> Result<Job, Full> {
        let mut filler = Filler { layers, values, budget: &mut self.budget, problems: self.problems };
        let runs_on = filler.runs_on()?;
        let paths = filler.paths()?;
        let spec = filler.spec(name.to_owned())?;
        self.publish(entry, &spec);
        Ok(Job {
            name: name.to_owned(),
            needs: Vec::new(),
            paths,
            required: !layers.flag("allow_failure").unwrap_or_default(),
            effect_once: layers.job.get("effect").and_then(Node::text) == Some("once"),
            priority: layers.priority(),
            runs_on,
            attempts_max: layers.attempts_max(),
            retry_on: layers.retry_on(),
            timeout_seconds: layers.timeout_seconds(),
            spec,
        })
    }

    /// A version is made of artifacts, and by one job.
    fn publish(&mut self, entry: &'a Entry, spec: &JobSpec) {
        let Some(PublishSpec { package, version }) = &spec.publish else { return };
        let written = entry.value.entries().iter().find(|entry| &*entry.key == "publish");
        let place = written.map_or(entry.place, |entry| entry.place);
        if spec.artifacts.is_empty() {
            let name = short(&spec.name);
            let message = format!("the job `{name}` publishes a version, but has no artifacts");
            let hint = "say which files, as in `artifacts: [{ type: binary, path: \"dist/**\" }]`";
            let problem = Problem::new(Code::NothingToPublish, place, message, "nothing to publish", hint);
            self.problems.add(problem);
        }
        let names = (package.clone(), version.clone());
        let Some(first) = self.published.insert(names, entry) else { return };
        if std::ptr::eq(first, entry) {
            return; // jobs of one matrix may make the same; the plan says what happens if they do not
        }
        let (package, version) = (short(package), short(version));
        let message = format!("two jobs publish `{package}` `{version}`, and a version is made once");
        let label = format!("also published by the job on line {}", first.place.line);
        let hint = "give one of them another package or version";
        self.problems.add(Problem::new(Code::DuplicateVersion, place, message, label, hint));
    }
}

fn too_large(name: &str, place: Place) -> Problem {
    let most = Policy::default().spec_bytes_max - SPEC_ROOM;
    let message = format!("the job `{}` holds more than {most} bytes of text", short(name));
    let hint = "put long scripts into files of the repository, and run those";
    Problem::new(Code::TooLarge, place, message, "too much text", hint)
}

fn refuse_name(name: &str, place: Place, seen: &HashMap<String, Place>) -> Option<Problem> {
    if let Some(first) = seen.get(name) {
        let message = format!("two jobs are named `{}`", short(name));
        let label = format!("also made by the job on line {}", first.line);
        return Some(Problem::new(
            Code::DuplicateJob,
            place,
            message,
            label,
            "give one of them another name",
        ));
    }
    (name.chars().count() > NAME_LENGTH_MAX).then(|| {
        let message =
            format!("with the values of its matrix the name is longer than {NAME_LENGTH_MAX} characters");
        Problem::new(Code::BadName, place, message, "too long with its values", "use shorter values")
    })
}
