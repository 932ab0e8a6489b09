//! What jobs print, as it comes in and when it is whole. The beginning and the end of each log are kept, so that a log that
//! never stops takes no more room than its bound.

mod append;
mod archive;

pub use append::AppendLog;
pub use archive::{ArchiveLog, Whole};
