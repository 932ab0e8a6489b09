//! The log on its way to the orchestrator: one chunk at a time, each from the offset that was acknowledged.

use std::time::Duration;

use crate::clock::Uptime;
use crate::session::line::Line;

/// What the orchestrator takes in one request.
pub const LOG_CHUNK_BYTES_MAX: u64 = wire::runner::LOG_CHUNK_BYTES_MAX as u64;

/// Output is gathered this long, so that a job that writes byte by byte does not cost a request per byte.
const GATHER: Duration = Duration::from_millis(100);
const RETRY_WAIT_MAX: Duration = Duration::from_secs(5);
/// Answers in a row that bring the log no further; then it is given up, since they would go on for ever.
const STUCK_MAX: u32 = 8;

#[derive(Debug, Default)]
pub struct Upload {
    written: u64,
    acknowledged: u64,
    line: Line,
    stuck: u32,
    flushing: bool,
    /// Nothing more of the log will arrive.
    given_up: bool,
    truncated: bool,
}

impl Upload {
    /// The log has grown to this length.
    pub fn handle_written(&mut self, now: Uptime, written: u64) {
        self.written = self.written.max(written);
        self.arrange(now);
    }

    /// No more output: send the rest without gathering.
    pub fn flush(&mut self, now: Uptime) {
        self.flushing = true;
        self.arrange(now);
    }

    /// The offset to send from, when a chunk is due.
    pub fn try_send(&mut self, now: Uptime) -> Option<u64> {
        (!self.is_done() && self.line.try_send(now)).then_some(self.acknowledged)
    }

    /// The log is known up to `offset`. True when the orchestrator says for the first time that it does not keep all.
    pub fn handle_logged(&mut self, now: Uptime, offset: u64, truncated: bool) -> bool {
        self.line.succeeded();
        self.move_to(now, offset);
        let first = truncated && !self.truncated;
        self.truncated |= truncated;
        first
    }

    /// The bytes stay in the file until the job is over, so the log can go on from wherever it is told to.
    pub fn move_to(&mut self, now: Uptime, offset: u64) {
        self.stuck = if offset > self.acknowledged { 0 } else { self.stuck + 1 };
        if offset > self.written || self.stuck >= STUCK_MAX {
            self.give_up();
            return;
        }
        self.acknowledged = offset;
        self.arrange(now);
    }

    pub fn handle_unknown(&mut self, now: Uptime, jitter: f64) {
        self.line.retry(now, RETRY_WAIT_MAX, jitter);
    }

    pub fn answered(&mut self) {
        self.line.answered();
    }

    pub fn give_up(&mut self) {
        self.given_up = true;
        self.line.pause();
    }

    /// All that was written has arrived, or nothing more will.
    pub fn is_done(&self) -> bool {
        self.given_up || self.acknowledged == self.written
    }

    pub fn is_complete(&self) -> bool {
        self.acknowledged == self.written
    }

    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    pub fn left(&self) -> u64 {
        self.written - self.acknowledged
    }

    pub fn wakes_at(&self) -> Option<Uptime> {
        if self.is_done() { None } else { self.line.wakes_at() }
    }

    fn arrange(&mut self, now: Uptime) {
        if self.is_done() {
            self.line.pause();
        } else if self.line.failures() > 0 && !self.line.is_idle() {
            // A retry is arranged; new output does not make the server well again.
        } else if self.flushing || self.left() >= LOG_CHUNK_BYTES_MAX {
            self.line.hasten(now);
        } else if self.line.is_idle() || self.line.is_in_flight() {
            self.line.hasten(now.plus(GATHER));
        }
    }
}
