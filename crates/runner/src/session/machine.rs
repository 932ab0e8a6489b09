//! The state of a session, what it wants done next and when it wants to be woken. What happens to it is in `answers.rs`
//! (the orchestrator) and `job.rs` (the keeper, the operator, time).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use wire::runner::{ArtifactRef, CacheRef, Phase};

use crate::clock::Uptime;
use crate::session::lease::Lease;
use crate::session::line::Line;
use crate::session::upload::Upload;
use crate::session::verdict::Verdict;
use crate::session::words::{Action, Beat, Call, End, Plan, Request, Terms};

#[derive(Debug)]
pub struct Session {
    pub(super) terms: Terms,
    pub(super) plan: Plan,
    pub(super) stage: Stage,
    /// Known once the lease is acknowledged.
    pub(super) lease: Option<Lease>,
    /// A repeated acknowledgement extends nothing, so the TTL counts from the first that was sent.
    pub(super) first_ack_at: Option<Uptime>,
    pub(super) ack: Line,
    pub(super) beat: Line,
    /// Complete or CancelAck.
    pub(super) word: Line,
    pub(super) upload: Upload,
    pub(super) keeper: Keeper,
    pub(super) cancel: Option<Cancel>,
    pub(super) handing_back: bool,
    /// When the keeper was asked to stop and has to be gone.
    pub(super) kill_at: Option<Uptime>,
    pub(super) step: Option<u32>,
    pub(super) started_at: Uptime,
    pub(super) finished_at: Uptime,
    /// What arrived of what the job made.
    pub(super) artifacts: Arc<[ArtifactRef]>,
    pub(super) caches: Arc<[CacheRef]>,
    pub(super) actions: VecDeque<Action>,
}

#[derive(Debug)]
pub(super) enum Stage {
    /// Until this moment.
    Acking {
        give_up_at: Uptime,
    },
    Running,
    /// The job is over; what it made is on the way.
    Collecting {
        verdict: Verdict,
    },
    /// The job is over; its log is on the way. Without progress until `stalled_at`, it is given up.
    Flushing {
        ending: Ending,
        stalled_at: Uptime,
    },
    Speaking {
        ending: Ending,
    },
    /// Says nothing any more, and waits for the job's last process to be gone.
    Silent {
        end: End,
    },
    Over,
}

#[derive(Debug, Clone)]
pub(super) enum Ending {
    Complete(Verdict),
    Canceled { summary: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeper {
    NotStarted,
    Alive,
    BeingKilled,
    Gone,
}

/// The orchestrator wants the job stopped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cancel {
    /// The log may take until then; the acknowledgement must still arrive in time.
    pub flush_by: Uptime,
}

/// A request may take this much of the heartbeat interval, so that a server that hangs cannot starve the next one.
const TIMEOUT_SHARE: f64 = 0.75;
const TIMEOUT_MAX: Duration = Duration::from_secs(10);
const TIMEOUT_MIN: Duration = Duration::from_secs(1);

impl Session {
    /// A lease was granted at about `now`.
    pub fn new(terms: Terms, plan: Plan, now: Uptime) -> Session {
        Session {
            terms,
            plan,
            stage: Stage::Acking { give_up_at: now.plus(terms.lease_ttl) },
            lease: None,
            first_ack_at: None,
            ack: Line::due_at(now),
            beat: Line::default(),
            word: Line::default(),
            upload: Upload::default(),
            keeper: Keeper::NotStarted,
            cancel: None,
            handing_back: false,
            kill_at: None,
            step: None,
            started_at: now,
            finished_at: now,
            artifacts: Arc::default(),
            caches: Arc::default(),
            actions: VecDeque::new(),
        }
    }

    /// What to do now; ask until there is nothing.
    pub fn poll_action(&mut self, now: Uptime) -> Option<Action> {
        self.handle_timeout(now);
        if let Some(action) = self.actions.pop_front() {
            return Some(action);
        }
        let request = self.next_request(now)?;
        let timeout = self.request_timeout(request.call());
        Some(Action::Send { request, timeout })
    }

    /// When to call `handle_timeout`, if nothing else happens before.
    pub fn poll_timeout(&self) -> Option<Uptime> {
        let lease = self.lease.as_ref();
        let own = match &self.stage {
            Stage::Acking { give_up_at } => [Some(*give_up_at), None],
            Stage::Running => [lease.map(Lease::until), self.kill_at],
            Stage::Flushing { stalled_at, .. } => {
                let flush_by = self.cancel.map_or(*stalled_at, |cancel| cancel.flush_by.min(*stalled_at));
                [lease.map(Lease::ends_at), Some(flush_by)]
            }
            Stage::Collecting { .. } | Stage::Speaking { .. } => [lease.map(Lease::ends_at), None],
            Stage::Silent { .. } | Stage::Over => return None,
        };
        let lines = [self.ack.wakes_at(), self.beat.wakes_at(), self.word.wakes_at()];
        let log = if self.sends_log() { self.upload.wakes_at() } else { None };
        own.into_iter().chain(lines).chain([log]).flatten().min()
    }

    pub fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over) && self.actions.is_empty()
    }

    fn next_request(&mut self, now: Uptime) -> Option<Request> {
        if matches!(self.stage, Stage::Silent { .. } | Stage::Over) {
            return None;
        }
        if self.ack.try_send(now) {
            self.first_ack_at.get_or_insert(now);
            return Some(Request::Ack);
        }
        if self.beat.try_send(now) {
            return Some(Request::Heartbeat(self.beat_now()));
        }
        if let Stage::Speaking { ending } = &self.stage
            && self.word.try_send(now)
        {
            return Some(self.final_word(ending));
        }
        if !self.sends_log() {
            return None;
        }
        self.upload.try_send(now).map(|offset| Request::Log { offset })
    }

    fn final_word(&self, ending: &Ending) -> Request {
        match ending {
            Ending::Complete(verdict) => Request::Complete {
                verdict: verdict.clone(),
                artifacts: self.artifacts.clone(),
                caches: self.caches.clone(),
                started_at: self.started_at,
                finished_at: self.finished_at,
            },
            Ending::Canceled { summary } => Request::CancelAck { summary: summary.clone() },
        }
    }

    fn beat_now(&self) -> Beat {
        let phase = match self.stage {
            Stage::Collecting { .. } | Stage::Flushing { .. } | Stage::Speaking { .. } => Phase::Uploading,
            Stage::Acking { .. } | Stage::Running | Stage::Silent { .. } | Stage::Over => Phase::Running,
        };
        Beat { step: self.step, phase, bytes_sent: self.upload.acknowledged() }
    }

    fn sends_log(&self) -> bool {
        matches!(self.stage, Stage::Running | Stage::Collecting { .. } | Stage::Flushing { .. })
    }

    fn request_timeout(&self, call: Call) -> Duration {
        let share = self.terms.heartbeat_interval.mul_f64(TIMEOUT_SHARE).min(TIMEOUT_MAX);
        match call {
            Call::Heartbeat => share,
            // These hold no heartbeat up, and a very short interval shall not make a slow disk a lost answer.
            Call::Ack | Call::Log | Call::Complete | Call::CancelAck => {
                share.max(TIMEOUT_MIN.min(self.terms.lease_ttl / 4))
            }
        }
    }
}
