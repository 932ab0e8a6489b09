//! Artifacts over HTTP: uploads, blobs, versions of packages, collections. One file per resource.
//!
//! Bytes are streamed both ways, and are never in memory as a whole unless they are small.

mod blobs;
mod files;
mod gc;
mod origin;
mod packages;
mod parts;
mod ranges;
mod served;
mod trouble;
mod uploads;

use std::time::Duration;

use store::Store;

use crate::api::document::Routes;

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    let routes = blobs::routes(parts::routes(uploads::routes(routes)));
    gc::routes(files::routes(packages::routes(routes)))
}

/// How long a stream may take in all; what stalls is given up much earlier.
const STREAM_TIME_MAX: Duration = Duration::from_secs(24 * 3600);

/// How long parts may take to be joined and read back.
const COMMIT_TIME_MAX: Duration = Duration::from_secs(3600);

/// Of routes that take as long as their bytes are many.
pub fn time_max(route: &str) -> Option<Duration> {
    match route {
        uploads::CONTENT | parts::ROUTE => Some(STREAM_TIME_MAX),
        uploads::COMMIT => Some(COMMIT_TIME_MAX),
        blobs::ROUTE => Some(blobs::PUT_TIME_MAX),
        _ => None,
    }
}
