//! Files on their way into the artifact store: hashed, sent, committed. The agent sends what a job made, the command line
//! what a user names.
//!
//! A small file is one request. A larger one is a session (`course.rs`): if the connection breaks, the server says how much it has, and
//! the rest follows. Memory is flat: a file is read in chunks as the connection takes them.
//!
//! Never: a file whose content differs from the digest it is announced under; a try after `StaleLease`.

mod answer;
mod course;
mod source;
mod uploads;

pub use source::{Source, SourceError};
pub use uploads::{Journal, ONE_REQUEST_BYTES_MAX, UploadError, Uploaded, Uploads};
