//! How bytes are brought: announced, sent, committed; each step until it is known to have been taken, or given up.

use decisions::Answer;
use machines::upload;
use wire::{ExecId, TenantId, UploadId};

use super::words::{Reply, Request};

#[derive(Debug, Clone)]
pub struct Course {
    pub tenant: TenantId,
    pub content: u8,
    execution: Option<ExecId>,
    upload: Option<UploadId>,
    sent: bool,
    tries_left: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Next,
    Done,
    Failed,
}

const TRIES_MAX: u32 = 8;

impl Course {
    pub fn new(tenant: TenantId, content: u8, execution: Option<ExecId>) -> Course {
        Course { tenant, content, execution, upload: None, sent: false, tries_left: TRIES_MAX }
    }

    pub fn upload(&self) -> Option<UploadId> {
        self.upload
    }

    pub fn request(&self) -> Request {
        let Course { tenant, content, execution, .. } = *self;
        match self.upload {
            None => Request::StartUpload { tenant, content, execution },
            Some(upload) if !self.sent => Request::SendContent { upload, content },
            Some(upload) => Request::CommitUpload { upload },
        }
    }

    pub fn handle(&mut self, reply: &Reply) -> Progress {
        match reply {
            Reply::Done(Answer::UploadIs(upload)) => {
                self.upload = Some(upload.id);
                match upload.state.get() {
                    upload::State::Committed => return Progress::Done,
                    upload::State::Aborted => self.start_over(),
                    upload::State::PendingCommit => self.sent = true,
                    upload::State::Initiated | upload::State::PartsUploading => self.sent = false,
                }
                return self.tried();
            }
            Reply::Done(Answer::UploadMismatched { .. }) => self.start_over(),
            Reply::Done(other) => panic!("no upload is answered with {other:?}"),
            // Ended, or not as far as was thought: from the start.
            Reply::Refused(_) => self.start_over(),
            Reply::Unknown => {}
        }
        self.tried()
    }

    fn start_over(&mut self) {
        (self.upload, self.sent) = (None, false);
    }

    fn tried(&mut self) -> Progress {
        self.tries_left -= 1;
        if self.tries_left == 0 { Progress::Failed } else { Progress::Next }
    }
}
