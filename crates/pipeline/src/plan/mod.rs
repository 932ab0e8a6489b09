//! The plan: for every job of a pipeline whether it runs, is skipped or is reused, and why.
//!
//! Two steps, because what succeeded before is kept elsewhere: a `Draft` knows which keys are worth looking up, and
//! becomes a plan with what was found. When in doubt, a job runs.
//!
//! Never: a guess about what is not among its arguments. Start at `draft.rs`.

mod changes;
mod decide;
mod draft;
mod order;
mod places;
mod problem;
mod publications;
mod reasons;
mod suggest;
mod text;

pub use draft::Draft;
pub use problem::PlanProblem;
pub use text::path_text;

/// Where a pipeline is written down. A change of it may change any job, so none is skipped then.
pub const PIPELINE_FILE: &str = "delta-ci.yaml";
