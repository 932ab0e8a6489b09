//! What crosses a process: typed ids, time, the runner protocol's messages (seed 002), and the shapes of the public API.
//!
//! Fields are named exactly as the protocol names them. Unknown fields are tolerated, so that a newer peer may say
//! more; missing or ill-typed ones are refused with the field's name ([`decode`]).
//!
//! Never: decides anything, reads the clock, makes a random number, prints a lease id or a token.

pub mod api;
pub mod digest;
pub mod ids;
pub mod runner;
pub mod secret;
pub mod time;
pub mod token;

mod decode;
mod object;
mod schema;
mod whole;

pub use decode::{BadMessage, decode};
pub use digest::Digest;
pub use ids::{
    BlobId, CacheId, CollectionId, ExecId, JobId, MessageId, RunId, RunnerId, TenantId, TokenId, UploadId,
    VersionId,
};
pub use secret::{CancelToken, LeaseHash, LeaseId, LeaseKey, WebhookSecret};
pub use time::Time;
pub use token::{TokenHash, TokenKey, TokenSecret};
