//! What a session makes of its job: the keeper's reports, the operator's word, and time.

use std::time::Duration;

use crate::clock::Uptime;
use crate::keeper::{Finish, Report};
use crate::session::lease::Lease;
use crate::session::line::Line;
use crate::session::machine::{Ending, Keeper, Session, Stage};
use crate::session::upload::LOG_CHUNK_BYTES_MAX;
use crate::session::verdict::Verdict;
use crate::session::words::{Action, End};

/// Without a chunk acknowledged for this long, the result goes out without the rest of the log.
pub(super) const FLUSH_STALLED_MAX: Duration = Duration::from_secs(30);
/// Between SIGTERM and SIGKILL when the operator wants the runner gone.
const HAND_BACK_GRACE: Duration = Duration::from_secs(5);
/// For an acknowledgement whose answer is awaited when the operator wants the runner gone.
const HAND_BACK_MAX: Duration = Duration::from_secs(10);

impl Session {
    /// What the keeper says; its output is told by `handle_written`.
    pub fn handle_report(&mut self, now: Uptime, report: &Report) {
        self.handle_timeout(now);
        match report {
            Report::StepStarted { index } => self.step = Some(*index),
            Report::Finished(finish) => self.on_finished(now, Some(finish)),
            Report::Chosen { .. } | Report::StepEnded { .. } | Report::Output(_) | Report::Note { .. } => {}
        }
    }

    /// The keeper and every process of the job are gone, as asked or without a word.
    pub fn handle_gone(&mut self, now: Uptime) {
        self.handle_timeout(now);
        self.on_finished(now, None);
    }

    /// The log has grown to this length.
    pub fn handle_written(&mut self, now: Uptime, length: u64) {
        self.upload.handle_written(now, length);
    }

    /// The operator wants the runner gone: stop the job and hand it back.
    pub fn handle_stop(&mut self, now: Uptime) {
        self.handle_timeout(now);
        if self.handing_back {
            return;
        }
        match &mut self.stage {
            Stage::Acking { give_up_at } => {
                *give_up_at = (*give_up_at).min(now.plus(HAND_BACK_MAX));
                self.handing_back = true;
            }
            Stage::Running if self.cancel.is_none() => {
                self.handing_back = true;
                self.kill_at = Some(now.plus(HAND_BACK_GRACE * 2));
                self.actions.push_back(Action::Cancel { grace: HAND_BACK_GRACE });
            }
            Stage::Collecting { .. } => {
                self.handing_back = true;
                self.abandon(now, Ending::Complete(Verdict::handed_back()));
            }
            Stage::Running | Stage::Flushing { .. } | Stage::Speaking { .. } => {}
            Stage::Silent { .. } | Stage::Over => {}
        }
    }

    /// The same without a grace, also for a job that is being cancelled.
    pub fn handle_stop_now(&mut self, now: Uptime) {
        self.handle_stop(now);
        if matches!(self.stage, Stage::Running) {
            self.handing_back = true;
            self.kill_at = None;
            self.kill();
        }
    }

    /// Whatever is over by `now` ends.
    pub fn handle_timeout(&mut self, now: Uptime) {
        let passed = |moment: Option<Uptime>| moment.is_some_and(|moment| moment <= now);
        let lease = self.lease.as_ref();
        match &self.stage {
            Stage::Acking { give_up_at } if *give_up_at <= now => self.finish(End::LeaseLost),
            Stage::Running if passed(lease.map(Lease::until)) => self.fall_silent(End::LeaseLost),
            Stage::Running if passed(self.kill_at) => {
                self.kill_at = None;
                self.kill();
            }
            Stage::Collecting { .. } | Stage::Flushing { .. } | Stage::Speaking { .. }
                if passed(lease.map(Lease::ends_at)) =>
            {
                self.finish(End::LeaseLost);
            }
            Stage::Flushing { stalled_at, .. } => {
                if *stalled_at <= now || passed(self.cancel.map(|cancel| cancel.flush_by)) {
                    self.upload.give_up();
                    self.speak_when_flushed(now);
                }
            }
            Stage::Acking { .. } | Stage::Running => {}
            Stage::Collecting { .. } | Stage::Speaking { .. } => {}
            Stage::Silent { .. } | Stage::Over => {}
        }
    }

    fn on_finished(&mut self, now: Uptime, finish: Option<&Finish>) {
        self.keeper = Keeper::Gone;
        match &self.stage {
            Stage::Silent { end } => {
                let end = end.clone();
                self.finish(end);
            }
            Stage::Running => {
                let verdict = self.verdict(finish);
                self.end_job(now, verdict);
            }
            Stage::Acking { .. } | Stage::Collecting { .. } => {}
            Stage::Flushing { .. } | Stage::Speaking { .. } | Stage::Over => {}
        }
    }

    fn verdict(&self, finish: Option<&Finish>) -> Verdict {
        let stopped = matches!(finish, Some(Finish::Canceled { .. }) | None);
        if self.handing_back && stopped {
            return Verdict::handed_back();
        }
        Verdict::of(finish, self.terms.steps, self.terms.max_runtime, self.step.is_some())
    }

    /// No process is left, if there ever was one. A cancel that came first wins over any result.
    pub(super) fn end_job(&mut self, now: Uptime, verdict: Verdict) {
        self.finished_at = now;
        self.kill_at = None;
        // What is left to tell the keeper has no one to hear it.
        self.actions.clear();
        let ending = if self.cancel.is_some() {
            Ending::Canceled { summary: self.canceled_summary() }
        } else {
            if let Some(which) = self.worth_collecting(&verdict) {
                return self.collect(now, verdict, which);
            }
            Ending::Complete(verdict)
        };
        self.flush(now, ending);
    }

    /// Only the log is left to send.
    pub(super) fn flush(&mut self, now: Uptime, ending: Ending) {
        self.stage = Stage::Flushing { ending, stalled_at: now.plus(FLUSH_STALLED_MAX) };
        self.upload.flush(now);
        if self.upload.left() > LOG_CHUNK_BYTES_MAX {
            self.beat.hasten(now); // it will take a while: say what we are doing
        }
        self.speak_when_flushed(now);
    }

    fn canceled_summary(&self) -> String {
        match self.step {
            Some(step) => format!("canceled during step {} of {}", step + 1, self.terms.steps),
            None => "canceled before the first step".into(),
        }
    }

    pub(super) fn speak_when_flushed(&mut self, now: Uptime) {
        let Stage::Flushing { ending, .. } = &self.stage else { return };
        if !self.upload.is_done() {
            return;
        }
        let mut ending = ending.clone();
        if !self.upload.is_complete() {
            let (Ending::Complete(Verdict { summary, .. }) | Ending::Canceled { summary }) = &mut ending;
            summary.push_str(" (the log could not be uploaded whole)");
        }
        self.stage = Stage::Speaking { ending };
        self.beat.pause();
        self.word = Line::due_at(now);
    }

    /// Stops the job and says nothing more for this lease.
    pub(super) fn fall_silent(&mut self, end: End) {
        self.actions.clear();
        match self.keeper {
            Keeper::NotStarted | Keeper::Gone => self.finish(end),
            Keeper::Alive | Keeper::BeingKilled => {
                self.stage = Stage::Silent { end };
                // Perhaps asked before, but the clearing above may have taken that back.
                self.keeper = Keeper::Alive;
                self.kill();
            }
        }
    }

    fn kill(&mut self) {
        if self.keeper == Keeper::Alive {
            self.keeper = Keeper::BeingKilled;
            self.actions.push_back(Action::Kill);
        }
    }

    pub(super) fn finish(&mut self, end: End) {
        self.stage = Stage::Over;
        self.actions.clear();
        self.actions.push_back(Action::Over(end));
    }
}
