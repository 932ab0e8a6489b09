//! A pipeline as it was written, read and checked: names resolved, matrices expanded, defaults filled in. Not yet a plan:
//! nothing here knows which files changed.

use decisions::failures::ClassSet;
use decisions::records::{Concurrency, Source};
use wire::runner::JobSpec;

#[derive(Debug, Clone)]
pub struct Pipeline {
    /// `File` or `Discovered`.
    pub source: Source,
    /// The group may still hold `{branch}` and `{commit}`.
    pub concurrency: Option<Concurrency>,
    /// Cancel what still runs as soon as a required job has failed.
    pub fail_fast: bool,
    /// In the order they were written; the jobs of a matrix side by side.
    pub jobs: Vec<Job>,
}

#[derive(Debug, Clone)]
pub struct Job {
    /// Unique. Of a matrix, with its values: `unit-tests (debug)`.
    pub name: String,
    /// Names of jobs of this pipeline. A need of a matrix is a need of each of its jobs.
    pub needs: Vec<String>,
    /// Patterns over the files that the job's result depends on; `None`: all files.
    pub paths: Option<Vec<String>>,
    pub required: bool,
    pub effect_once: bool,
    pub priority: i32,
    pub runs_on: Vec<String>,
    pub attempts_max: Option<u32>,
    pub retry_on: Option<ClassSet>,
    pub timeout_seconds: Option<f64>,
    /// What the runner will get. Cache keys may still hold `{hash:GLOB}`, the published version `{commit}` and `{branch}`;
    /// `checkout` is empty.
    pub spec: JobSpec,
}
