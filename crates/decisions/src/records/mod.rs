//! What is stored: one struct per thing, typed, without behaviour beyond questions about itself.
//!
//! A state inside a record is a [`Stated`](crate::draft::Stated): it can be read by all and moved only by
//! `Draft::advance`.

pub mod attempt;
pub mod blob;
pub mod cache;
pub mod collection;
pub mod delivery;
pub mod event;
pub mod execution;
pub mod group;
pub mod job;
pub mod log;
pub mod plan;
pub mod queue;
pub mod run;
pub mod runner;
pub mod tenant;
pub mod token;
pub mod upload;
pub mod version;

pub use attempt::{Attempt, AttemptKey, ReadyKey};
pub use blob::{Blob, BlobBytes, INLINE_BYTES_MAX, Possession, PossessionKey, Usage};
pub use cache::{Cache, CacheName};
pub use collection::{Collection, Collector, Progress};
pub use delivery::{Delivery, LANE_HOOK, LANE_URL, LaneKey, Webhook, WebhookKey};
pub use event::{Entity, Event, Transition};
pub use execution::{EffectRow, Execution, Outcome};
pub use group::{Group, GroupId};
pub use job::Job;
pub use log::{Log, LogChunk, LogTrim};
pub use plan::{Concurrency, Plan, PlanJob, Source};
pub use queue::{Queue, QueueId};
pub use run::{Run, Sweep, Trust};
pub use runner::{Runner, RunnerKey};
pub use tenant::{Tenant, quota_bound};
pub use token::{Token, TokenKind};
pub use upload::{Measured, Upload};
pub use version::{Artifact, Bundle, Entry, Version, VersionName};
