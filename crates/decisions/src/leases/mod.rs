//! Leases: who may execute what, until when, and what came of it. The fence that keeps a late runner out is here.

mod ack;
mod ack_window;
mod cancel_ack;
mod cancel_deadline;
mod commit;
mod complete;
mod due;
mod ended;
mod expiry;
mod fence;
mod gone;
mod heartbeat;
mod job_timeout;
mod lease;
mod recovery;
mod stored;
pub mod unheard;

pub use ack::Ack;
pub use cancel_ack::CancelAck;
pub use commit::Commit;
pub use complete::Complete;
pub use due::ExecutionDue;
pub use ended::put_ended;
pub use fence::{granted_under, require_active, stale};
pub use gone::RunnerGone;
pub use heartbeat::Heartbeat;
pub use lease::{Lease, Wanted};
pub use recovery::finish_committed;
pub use stored::{Publish, Stored, StoredArtifact};
