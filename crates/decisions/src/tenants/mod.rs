//! Tenants, as far as nothing is provisioned for them; and who is told about them.

mod create;
mod ensure;
mod webhook;

pub use create::CreateTenant;
pub use ensure::{EnsureTenant, require_ready};
pub use webhook::{EVENTS, News, PutWebhook, RemoveWebhook, send, tell};
