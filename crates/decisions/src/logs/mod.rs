//! What jobs print, as it comes in. The beginning and the end of each log are kept, so that a log that never stops takes
//! no more room than its bound.

mod append;

pub use append::AppendLog;
