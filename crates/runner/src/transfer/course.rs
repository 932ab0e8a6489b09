//! The session of one large file: begin or look, send what is missing, commit.

use std::time::Duration;

use hyper::header::{CONTENT_RANGE, HeaderValue};
use serde::Serialize;
use wire::UploadId;
use wire::api::{StartUpload, UploadView};

use super::answer::{Trouble, read};
use super::source::Source;
use super::uploads::{Journal, PATIENCE, UploadError, Uploaded, Uploads};
use crate::client::json;

const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);
/// The server may look at all of it again.
const COMMIT_TIME_MAX: Duration = Duration::from_secs(120);
/// Sessions that end without a blob, for one file.
const SESSIONS_MAX: u32 = 4;

pub struct Course<'a> {
    uploads: &'a Uploads,
    source: &'a Source,
    journal: &'a dyn Journal,
    session: Option<UploadId>,
    begun: u32,
    arrived: u64,
    sent: bool,
}

impl<'a> Course<'a> {
    pub fn new(uploads: &'a Uploads, source: &'a Source, journal: &'a dyn Journal) -> Course<'a> {
        Course { uploads, source, journal, session: journal.recall(), begun: 0, arrived: 0, sent: false }
    }

    /// Bytes that are known to be there.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// As far as it goes without trouble.
    pub async fn step(&mut self) -> Result<Uploaded, Trouble> {
        let done = self.attempt().await;
        match &done {
            Ok(_) => self.journal.forget(),
            Err(Trouble::Ended(problem)) => {
                self.journal.forget();
                (self.session, self.arrived) = (None, 0);
                if self.begun >= SESSIONS_MAX {
                    let (status, code) = (409, "upload_ended".to_owned());
                    let problem = problem.clone();
                    return Err(Trouble::Final(UploadError::Refused { status, code, problem }));
                }
            }
            Err(Trouble::Lost(_) | Trouble::Passing(_) | Trouble::Final(_)) => {}
        }
        done
    }

    async fn attempt(&mut self) -> Result<Uploaded, Trouble> {
        let view = match self.session {
            Some(session) => self.look(session).await?,
            None => self.begin().await?,
        };
        let id = view.id;
        match view.state.as_str() {
            "committed" => return Ok(Uploaded { view, deduplicated: !self.sent }),
            "aborted" => return Err(Trouble::Ended("the upload was aborted".into())),
            "pending_commit" => {}
            _ => self.send(&view).await?,
        }
        if self.source.has_changed() {
            return Err(Trouble::Final(UploadError::Changed));
        }
        let path = self.path(&format!("/{id}/commit"));
        let view = self.post(&path, &serde_json::json!({}), COMMIT_TIME_MAX).await?;
        match view.state.as_str() {
            "committed" => Ok(Uploaded { view, deduplicated: false }),
            state => Err(Trouble::Passing(format!("the upload is {state} after its commit"))),
        }
    }

    async fn begin(&mut self) -> Result<UploadView, Trouble> {
        let wanted = StartUpload { digest: self.source.digest(), length: self.source.length() };
        let view = self.post(&self.path(""), &wanted, ANSWER_TIME_MAX).await?;
        self.begun += 1;
        self.session = Some(view.id);
        self.journal.note(view.id);
        Ok(view)
    }

    /// A session that was remembered may be another file's by now.
    async fn look(&mut self, session: UploadId) -> Result<UploadView, Trouble> {
        let path = self.path(&format!("/{session}"));
        let reply = self.uploads.client.get_with(&path, &self.uploads.headers, ANSWER_TIME_MAX).await;
        let view = read(reply)?;
        if (view.digest, view.length) != (self.source.digest(), self.source.length()) {
            return Err(Trouble::Ended("the remembered upload is of another file".into()));
        }
        self.arrived = self.arrived.max(view.received);
        Ok(view)
    }

    async fn send(&mut self, view: &UploadView) -> Result<(), Trouble> {
        let length = view.length;
        // All is there, but not taken as whole: no range says "nothing more", so it goes once again.
        let offset = if view.received < length { view.received } else { 0 };
        let mut headers = self.uploads.headers.clone();
        if offset > 0 {
            let range = format!("bytes {offset}-{}/{length}", length - 1);
            let range = HeaderValue::from_str(&range).expect("numbers are fit for a header");
            headers.push((CONTENT_RANGE, range));
        }
        let body = self.source.body(offset);
        self.sent = true;
        self.journal.sending(offset, body.taken());
        let path = self.path(&format!("/{}/content", view.id));
        let view = read(self.uploads.client.put(&path, &headers, body, PATIENCE).await)?;
        self.arrived = self.arrived.max(view.received);
        Ok(())
    }

    async fn post(
        &self,
        path: &str,
        body: &impl Serialize,
        timeout: Duration,
    ) -> Result<UploadView, Trouble> {
        let mut headers = self.uploads.headers.clone();
        headers.push(json());
        let body = serde_json::to_vec(body).expect("requests are plain data");
        read(self.uploads.client.post(path, &headers, body, timeout).await)
    }

    fn path(&self, rest: &str) -> String {
        format!("{}/uploads{rest}", self.uploads.base)
    }
}
