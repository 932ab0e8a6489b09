//! Where uploads go, in whose name, and how often they are tried.

use std::time::Duration;

use hyper::header::{CONTENT_LENGTH, HeaderName, HeaderValue};
use wire::api::UploadView;
use wire::runner::StaleReason;
use wire::{LeaseId, UploadId};

use super::answer::{Trouble, read};
use super::course::Course;
use super::source::Source;
use crate::backoff::Backoff;
use crate::client::{Client, Header, Taken};
use crate::mint;

/// What the store takes in one request, without a session.
pub const ONE_REQUEST_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// In a row, without a byte more having arrived. With the waits between them, some two minutes.
const FAILURES_MAX: u32 = 20;
const WAIT_MAX: Duration = Duration::from_secs(10);
/// For a connection that takes nothing more, or an answer once it has taken all.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// The artifacts of one tenant.
#[derive(Clone)]
pub struct Uploads {
    pub(super) client: Client,
    /// `/v1/tenants/NAME`
    pub(super) base: String,
    pub(super) headers: Vec<Header>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UploadError {
    #[error("the file changed while it was uploaded")]
    Changed,
    /// The lease speaks for its job no longer: nothing more may be said.
    #[error("the lease is stale")]
    Stale(StaleReason),
    #[error("{problem}")]
    Refused { status: u16, code: String, problem: String },
    #[error("given up after {tries} tries: {problem}")]
    Unreachable { tries: u32, problem: String },
}

/// A file that has arrived.
#[derive(Debug, Clone)]
pub struct Uploaded {
    pub view: UploadView,
    /// Not a byte was sent: the tenant had it.
    pub deduplicated: bool,
}

/// What an upload tells, and what it is told to begin with.
pub trait Journal: Send + Sync {
    /// A session that an earlier try left behind.
    fn recall(&self) -> Option<UploadId> {
        None
    }

    /// The session, so that a later try can go on with it.
    fn note(&self, _session: UploadId) {}

    /// The session is over.
    fn forget(&self) {}

    /// Bytes are on their way, from this offset on.
    fn sending(&self, _offset: u64, _taken: Taken) {}

    /// It did not work. `answered`: the server has said something since this upload began. Whether to try again.
    fn goes_on(&self, _problem: &str, _answered: bool) -> bool {
        true
    }
}

impl Journal for () {}

impl Uploads {
    pub fn new(client: Client, tenant: &str) -> Uploads {
        Uploads { client, base: format!("/v1/tenants/{tenant}"), headers: Vec::new() }
    }

    /// In the name of a job.
    pub fn under(mut self, lease: &LeaseId) -> Option<Uploads> {
        let mut lease = HeaderValue::from_str(lease.expose()).ok()?;
        lease.set_sensitive(true);
        self.headers.push((HeaderName::from_static("delta-lease"), lease));
        Some(self)
    }

    /// Below which path, and with which headers.
    pub fn address(self) -> (String, Vec<Header>) {
        (self.base, self.headers)
    }

    /// Returns when the server has the file for good, or never will.
    pub async fn put(&self, source: &Source, journal: &dyn Journal) -> Result<Uploaded, UploadError> {
        let mut backoff = Backoff::default();
        let mut answered = false;
        let mut course = Course::new(self, source, journal);
        loop {
            let arrived_before = course.arrived();
            let step = match source.length() {
                0..=ONE_REQUEST_BYTES_MAX => self.in_one(source, journal).await,
                _ => course.step().await,
            };
            if course.arrived() > arrived_before {
                backoff.reset();
            }
            let problem = match step {
                Ok(uploaded) => return Ok(uploaded),
                Err(_) if source.has_changed() => return Err(UploadError::Changed),
                Err(Trouble::Final(error)) => return Err(error),
                Err(Trouble::Lost(problem)) => problem,
                Err(Trouble::Passing(problem) | Trouble::Ended(problem)) => {
                    answered = true;
                    problem
                }
            };
            answered |= course.arrived() > 0;
            let wait = backoff.next(WAIT_MAX, mint::jitter());
            if backoff.failures() >= FAILURES_MAX || !journal.goes_on(&problem, answered) {
                return Err(UploadError::Unreachable { tries: backoff.failures(), problem });
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Session, content and commit at once.
    async fn in_one(&self, source: &Source, journal: &dyn Journal) -> Result<Uploaded, Trouble> {
        let path = format!("{}/blobs/{}", self.base, source.digest());
        let mut headers = self.headers.clone();
        headers.push((CONTENT_LENGTH, source.length().into())); // also when it is zero
        let body = source.body(0);
        journal.sending(0, body.taken());
        let view = read(self.client.put(&path, &headers, body, PATIENCE).await)?;
        Ok(Uploaded { view, deduplicated: false })
    }
}
