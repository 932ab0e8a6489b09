//! The runner protocol over HTTP (transport B): one route per message. Lease ids travel in bodies and one header, never
//! in a path, and are never logged.

pub mod lease;
mod logs;
mod messages;
mod said;

use store::Store;

use crate::api::document::Routes;

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    logs::routes(messages::routes(lease::routes(routes)))
}
