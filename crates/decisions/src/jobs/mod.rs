//! Jobs: made, released by what they need, retried, stopped, and over.

mod cancel;
mod make;
mod over;
mod release;
mod retry;
mod stop;
mod submit;

pub use cancel::CancelJob;
pub use make::{NewJob, enqueue, make_job};
pub use over::{attempt_over, next_attempt, project};
pub use release::ReleaseDependents;
pub use retry::RetryJob;
pub use stop::{Force, Stopped, stop_job};
pub use submit::SubmitJob;
