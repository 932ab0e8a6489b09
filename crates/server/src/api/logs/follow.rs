//! The log as it grows, as server-sent events. Pulled by the reader: a slow one waits for itself and for nobody else.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use decisions::Hint;
use decisions::doctor::JobFile;
use decisions::records::Execution;
use futures_util::stream::unfold;
use machines::Machine;
use serde::Serialize;
use store::{Store, StoreError};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use wire::JobId;
use wire::api::{LogEnd, LogExecution, LogGap, LogText};

use crate::api::logs::is_lost;
use crate::api::logs::pieces::{Piece, Source};
use crate::api::state::Api;
use crate::artifacts::Trouble;

/// How long a lost hint can delay what has come.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often a connection that has nothing to say shows that it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Where a follower is: in which execution of the job, counted from 0, and how many bytes into its log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cursor {
    index: usize,
    offset: u64,
}

impl Cursor {
    pub fn parse(text: &str) -> Option<Cursor> {
        let (index, offset) = text.split_once('-')?;
        Some(Cursor { index: index.parse().ok()?, offset: offset.parse().ok()? })
    }

    fn text(self) -> String {
        format!("{}-{}", self.index, self.offset)
    }
}

pub fn response<S: Store>(
    api: Api<S>,
    file: JobFile,
    cursor: Cursor,
    hints: broadcast::Receiver<Hint>,
) -> Response {
    let begun = cursor.offset > 0;
    let (source, ready) = (None, VecDeque::new());
    let follower = Follower { api, file, fresh: true, cursor, source, hints, begun, done: false, ready };
    let stream = unfold(follower, async |mut follower| {
        let event = follower.next().await?;
        Some((Ok::<_, Infallible>(event), follower))
    });
    Sse::new(Box::pin(stream)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

struct Follower<S> {
    api: Api<S>,
    file: JobFile,
    /// The file was read after the last wait. Only then does it say that an execution has ended, and only a log that is
    /// read after that is all of it.
    fresh: bool,
    cursor: Cursor,
    /// Of the execution that the cursor is in.
    source: Option<Source>,
    hints: broadcast::Receiver<Hint>,
    /// The execution was announced.
    begun: bool,
    done: bool,
    ready: VecDeque<Event>,
}

impl<S: Store> Follower<S> {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.done {
                return None;
            }
            if let Err(error) = self.advance().await {
                tracing::warn!(%error, "a log cannot be followed further");
                return None; // the client comes back with the last id it saw
            }
        }
    }

    /// Makes the next events ready, or waits for something to happen.
    async fn advance(&mut self) -> Result<(), Trouble> {
        let execution = self.file.executions.get(self.cursor.index).cloned();
        if let Some(execution) = &execution
            && self.read_on(execution).await?
        {
            return Ok(());
        }
        if !self.fresh {
            return Ok(self.reload().await?); // mostly a wake-up brings bytes, and the file need not be read
        }
        match execution {
            Some(execution) if execution.lease.get().is_live() => self.wait().await,
            Some(execution) => self.leave(&execution),
            None if self.file.job.state.is_over() => {
                self.say("end", &LogEnd { state: self.file.job.state.as_str().into() });
                self.done = true;
            }
            None => self.wait().await,
        }
        Ok(())
    }

    /// Sends what has come since; false when nothing has.
    async fn read_on(&mut self, execution: &Execution) -> Result<bool, Trouble> {
        if !self.begun {
            self.say("execution", &described(execution));
            self.begun = true;
        }
        let source = self.source.get_or_insert_with(|| Source::of(execution.id));
        let found = source.pieces(&self.api, self.cursor.offset).await?;
        let before = self.cursor;
        let mut rest = self.tell(execution, found);
        let ended = self.fresh && !execution.lease.get().is_live();
        if self.cursor == before && ended {
            self.text(execution, &mut rest, true); // nothing follows that could be its end
        }
        Ok(self.cursor != before)
    }

    /// On to the next execution.
    fn leave(&mut self, execution: &Execution) {
        if is_lost(execution.lease.get()) {
            self.say("lost", &described(execution));
        }
        self.cursor = Cursor { index: self.cursor.index + 1, offset: 0 };
        self.source = None;
        self.begun = false;
    }

    async fn reload(&mut self) -> Result<(), StoreError> {
        if let Some(file) = self.api.engine.store().job_file(self.file.job.id).await? {
            self.file = file;
        }
        self.fresh = true;
        Ok(())
    }

    /// Returns what is left of a character whose end is not among the pieces.
    fn tell(&mut self, execution: &Execution, found: Vec<Piece>) -> Vec<u8> {
        let exec_id = execution.id;
        let count = found.len();
        let mut rest: Vec<u8> = Vec::new();
        for (place, piece) in found.into_iter().enumerate() {
            match piece {
                Piece::Bytes(slice) => {
                    rest.extend_from_slice(slice.bytes());
                    if place + 1 < count && rest.len() < TEXT_BYTES_MIN {
                        continue; // small chunks travel together
                    }
                    self.text(execution, &mut rest, false);
                }
                Piece::Gap { offset, bytes } => {
                    self.text(execution, &mut rest, true); // what a gap cut through stays cut
                    self.cursor.offset = offset + bytes;
                    self.say_at("gap", &LogGap { exec_id, offset, bytes });
                }
            }
        }
        rest
    }

    /// Sends what can be read of the bytes at the cursor; a character whose end has not come yet stays in `bytes`.
    fn text(&mut self, execution: &Execution, bytes: &mut Vec<u8>, last: bool) {
        let (text, read) = decoded(bytes, last);
        if read == 0 {
            return;
        }
        bytes.drain(..read);
        let offset = self.cursor.offset;
        self.cursor.offset += read as u64;
        self.say_at("log", &LogText { exec_id: execution.id, offset, text });
    }

    fn say(&mut self, name: &str, data: &impl Serialize) {
        self.ready.push_back(event(name, data));
    }

    /// An event that a follower may go on after.
    fn say_at(&mut self, name: &str, data: &impl Serialize) {
        self.ready.push_back(event(name, data).id(self.cursor.text()));
    }

    async fn wait(&mut self) {
        let job = self.file.job.id;
        tokio::select! {
            () = self.api.stopping() => self.done = true,
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = logged(&mut self.hints, job) => {}
        }
        self.fresh = false;
    }
}

/// Below this, chunks are sent as one event.
const TEXT_BYTES_MIN: usize = 16 * 1024;

/// Returns when something was said about the job's log, or when it may have been missed.
async fn logged(hints: &mut broadcast::Receiver<Hint>, job: JobId) {
    loop {
        match hints.recv().await {
            Ok(Hint::Logged(about)) if about == job => return,
            Ok(
                Hint::Logged(_)
                | Hint::Ready(_)
                | Hint::Plan(_)
                | Hint::Sweep(_)
                | Hint::Release(_)
                | Hint::Deliver
                | Hint::Reap,
            ) => {}
            Err(RecvError::Lagged(_)) => return,
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

fn event(name: &str, data: &impl Serialize) -> Event {
    let data = serde_json::to_string(data).expect("events are plain data");
    Event::default().event(name).data(data)
}

fn described(execution: &Execution) -> LogExecution {
    LogExecution {
        exec_id: execution.id,
        attempt: execution.attempt.index,
        lease_state: execution.lease.get().as_str().into(),
    }
}

/// The text of the bytes and how many of them it takes. What is no UTF-8 becomes U+FFFD; a character that is cut off at
/// the end is left for later, unless nothing more comes.
fn decoded(bytes: &[u8], last: bool) -> (String, usize) {
    let mut text = String::with_capacity(bytes.len());
    let mut read = 0;
    loop {
        match std::str::from_utf8(&bytes[read..]) {
            Ok(rest) => {
                text.push_str(rest);
                return (text, bytes.len());
            }
            Err(error) => {
                let valid = &bytes[read..read + error.valid_up_to()];
                text.push_str(std::str::from_utf8(valid).expect("said to be valid"));
                read += valid.len();
                match error.error_len() {
                    Some(length) => read += length,
                    None if last => read = bytes.len(),
                    None => return (text, read),
                }
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_never_cut_in_two() {
        let bytes = "aé".as_bytes();
        assert_eq!(decoded(&bytes[..2], false), ("a".into(), 1));
        assert_eq!(decoded(&bytes[..2], true), ("a\u{fffd}".into(), 2));
        assert_eq!(decoded(bytes, false), ("aé".into(), 3));
    }

    #[test]
    fn what_is_no_text_is_shown_as_such() {
        assert_eq!(decoded(b"a\xff\xfeb", false), ("a\u{fffd}\u{fffd}b".into(), 4));
        assert_eq!(decoded(b"", true), (String::new(), 0));
    }

    #[test]
    fn a_cursor_reads_back_as_it_was_written() {
        let cursor = Cursor { index: 3, offset: 1_234 };
        assert_eq!(Cursor::parse(&cursor.text()), Some(cursor));
        for text in ["", "1", "1-", "-1", "a-b", "1-2-3"] {
            assert_eq!(Cursor::parse(text), None, "{text}");
        }
    }
}
