//! What a session makes of the orchestrator's answers.

use std::time::Duration;

use wire::runner::StaleReason;

use crate::clock::Uptime;
use crate::session::lease::Lease;
use crate::session::machine::{Cancel, Ending, Keeper, Session, Stage};
use crate::session::verdict::Verdict;
use crate::session::words::{Action, Answer, Call, End, Plan};

const ACK_WAIT_MAX: Duration = Duration::from_secs(5);
const WORD_WAIT_MAX: Duration = Duration::from_secs(10);
/// Of the time until a cancel is forced: what stays for the log and the acknowledgement.
const CANCEL_RESERVE_MAX: Duration = Duration::from_secs(10);

impl Session {
    /// The answer to the request of this kind that is in flight.
    pub fn handle_answer(&mut self, now: Uptime, call: Call, answer: Answer) {
        self.handle_timeout(now); // an answer that comes too late must not revive the lease
        let sent_at = self.take_in_flight(call).unwrap_or(now);
        if matches!(self.stage, Stage::Silent { .. } | Stage::Over) {
            return;
        }
        match answer {
            Answer::Stale(reason) => self.on_stale(reason),
            Answer::Unauthorized => self.fall_silent(End::Unauthorized),
            Answer::Unknown { jitter } => self.on_unknown(now, call, jitter),
            Answer::NotAcknowledged => self.on_not_acknowledged(now, call),
            Answer::Refused { code } => self.on_refused(now, call, code),
            Answer::Acked { ttl } => self.on_acked(now, ttl),
            Answer::Beaten { ttl, cancel } => self.on_beaten(now, sent_at, ttl, cancel),
            Answer::Logged { offset, truncated } => self.on_logged(now, offset, truncated),
            Answer::WrongOffset { offset } => {
                self.upload.move_to(now, offset);
                self.speak_when_flushed(now);
            }
            Answer::Completed { accepted } => self.on_completed(accepted),
            Answer::CancelAcked => self.finish(End::Canceled),
        }
    }

    fn take_in_flight(&mut self, call: Call) -> Option<Uptime> {
        match call {
            Call::Ack => self.ack.answered(),
            Call::Heartbeat => self.beat.answered(),
            Call::Complete | Call::CancelAck => self.word.answered(),
            Call::Log => {
                self.upload.answered();
                None
            }
        }
    }

    /// The job's own result may be the reason: a heartbeat that was on its way when the final word was taken.
    pub(super) fn on_stale(&mut self, reason: StaleReason) {
        let end = match (&self.stage, reason) {
            (Stage::Speaking { ending: Ending::Complete(verdict) }, StaleReason::LeaseCompleted) => {
                End::Completed(verdict.clone())
            }
            (Stage::Speaking { .. }, StaleReason::LeaseCanceled) => End::Canceled,
            (_, reason) => End::Stale(reason),
        };
        self.fall_silent(end);
    }

    fn on_unknown(&mut self, now: Uptime, call: Call, jitter: f64) {
        match call {
            Call::Ack => self.ack.retry(now, ACK_WAIT_MAX, jitter),
            // Short waits: the last try before the lease's deadline shall not be long before it.
            Call::Heartbeat if self.beats() => {
                self.beat.retry(now, self.terms.heartbeat_interval / 4, jitter);
            }
            Call::Heartbeat => {}
            Call::Log => self.upload.handle_unknown(now, jitter),
            Call::Complete | Call::CancelAck => self.word.retry(now, WORD_WAIT_MAX, jitter),
        }
    }

    /// The acknowledgement is said again; what was refused follows it.
    fn on_not_acknowledged(&mut self, now: Uptime, call: Call) {
        if call != Call::Ack && self.ack.is_idle() {
            self.ack.schedule(now);
        }
        let jitter = 1.0;
        match call {
            Call::Heartbeat => self.beat.pause(), // the new acknowledgement starts them again
            Call::Ack | Call::Log | Call::Complete | Call::CancelAck => self.on_unknown(now, call, jitter),
        }
    }

    fn on_refused(&mut self, now: Uptime, call: Call, code: String) {
        match call {
            // While the lease lives there is hope; its deadline is the bound.
            Call::Heartbeat => self.on_unknown(now, call, 1.0),
            Call::Log => {
                self.upload.give_up();
                self.speak_when_flushed(now);
            }
            Call::Ack | Call::Complete | Call::CancelAck => self.fall_silent(End::Refused { call, code }),
        }
    }

    fn on_acked(&mut self, now: Uptime, ttl: Duration) {
        self.ack.succeeded();
        if !matches!(self.stage, Stage::Acking { .. }) {
            if self.beats() {
                self.beat.schedule(now);
            }
            return; // said again: only a heartbeat extends
        }
        let lease = Lease::new(self.first_ack_at.unwrap_or(now), ttl);
        self.lease = Some(lease);
        if lease.until() <= now {
            return self.finish(End::LeaseLost);
        }
        self.started_at = now;
        match &self.plan {
            Plan::Refuse(verdict) => {
                let verdict = verdict.clone();
                self.end_job(now, verdict);
            }
            Plan::Run if self.handing_back => self.end_job(now, Verdict::handed_back()),
            Plan::Run => {
                self.stage = Stage::Running;
                self.keeper = Keeper::Alive;
                self.actions.push_back(Action::Start { until: lease.until() });
                self.beat.schedule(now);
            }
        }
    }

    fn on_beaten(&mut self, now: Uptime, sent_at: Uptime, ttl: Option<Duration>, cancel: Option<Duration>) {
        self.beat.succeeded();
        if let (Some(lease), Some(ttl)) = (&mut self.lease, ttl) {
            lease.renew(sent_at, ttl);
            if matches!(self.stage, Stage::Running) && self.keeper == Keeper::Alive {
                self.actions.push_back(Action::Extend { until: lease.until() });
            }
        }
        if self.beats() {
            self.beat.hasten(sent_at.plus(self.terms.heartbeat_interval).max(now));
        }
        if let Some(remaining) = cancel {
            self.on_cancel(now, sent_at.plus(remaining));
        }
    }

    /// The orchestrator gives the job up at `cancel_by`.
    fn on_cancel(&mut self, now: Uptime, cancel_by: Uptime) {
        if self.cancel.is_some() {
            return; // it is told with every heartbeat
        }
        let remaining = now.until(cancel_by);
        let reserve = (remaining / 3).min(CANCEL_RESERVE_MAX);
        let cancel = Cancel { flush_by: now.plus(remaining - reserve / 3) };
        match &mut self.stage {
            Stage::Running => {
                let grace = remaining - reserve;
                let kill_at = now.plus(grace + reserve / 3);
                self.kill_at = Some(self.kill_at.map_or(kill_at, |earlier| earlier.min(kill_at)));
                self.actions.push_back(Action::Cancel { grace });
            }
            Stage::Flushing { ending, .. } => {
                *ending = Ending::Canceled { summary: "canceled while the log was uploaded".into() };
            }
            Stage::Collecting { .. } => {
                self.abandon(
                    now,
                    Ending::Canceled { summary: "canceled while artifacts were uploaded".into() },
                );
            }
            // The result is on its way; whether it or the cancel won is in its answer.
            Stage::Speaking { .. } => return,
            Stage::Acking { .. } | Stage::Silent { .. } | Stage::Over => return,
        }
        self.cancel = Some(cancel);
    }

    fn on_logged(&mut self, now: Uptime, offset: u64, truncated: bool) {
        if self.upload.handle_logged(now, offset, truncated) && matches!(self.stage, Stage::Running) {
            self.actions.push_back(Action::NoteTruncated);
        }
        if let Stage::Flushing { stalled_at, .. } = &mut self.stage {
            *stalled_at = now.plus(super::job::FLUSH_STALLED_MAX);
        }
        self.speak_when_flushed(now);
    }

    fn on_completed(&mut self, accepted: bool) {
        match &self.stage {
            Stage::Speaking { ending: Ending::Complete(verdict) } if accepted => {
                let verdict = verdict.clone();
                self.finish(End::Completed(verdict));
            }
            // Taken as the acknowledgement of a cancel that came before it.
            Stage::Speaking { .. } => self.finish(End::Canceled),
            Stage::Acking { .. }
            | Stage::Running
            | Stage::Collecting { .. }
            | Stage::Flushing { .. }
            | Stage::Silent { .. }
            | Stage::Over => {}
        }
    }

    /// Heartbeats end with the first final word: one that overtakes its answer would only be stale.
    fn beats(&self) -> bool {
        matches!(self.stage, Stage::Running | Stage::Collecting { .. } | Stage::Flushing { .. })
    }
}
