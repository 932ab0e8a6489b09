//! Runs: from a trigger to the last outward status.

mod cancel;
mod create;
mod due;
mod finalise;
mod group;
mod plan_accepted;
mod plan_failed;
mod report;
mod rerun;
mod sweep;

pub use cancel::CancelRun;
pub use create::{CreateRun, RunOrigin};
pub use due::RunDue;
pub use finalise::{count_out, finalise};
pub use plan_accepted::PlanAccepted;
pub use plan_failed::PlanFailed;
pub use report::report;
pub use rerun::RerunRun;
pub use sweep::SweepRun;
