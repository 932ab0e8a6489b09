//! Access tokens: made and revoked. Whether a call may pass is asked of the record at the edge.

mod create;
mod revoke;

pub use create::CreateToken;
pub use revoke::{RevokeToken, TokenScope};
