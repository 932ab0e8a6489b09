//! What a session makes of its job's artifacts: which are wanted, and what their upload means for the result.

use crate::clock::Uptime;
use crate::session::machine::{Ending, Session, Stage};
use crate::session::verdict::{Outcome, Verdict};
use crate::session::words::{Action, Collected, Which};

impl Session {
    /// The upload of artifacts that was asked for is over.
    pub fn handle_collected(&mut self, now: Uptime, collected: Collected) {
        self.handle_timeout(now);
        let Stage::Collecting { verdict } = &self.stage else { return };
        let mut verdict = verdict.clone();
        let succeeded = verdict.outcome == Outcome::Succeeded;
        match collected {
            Collected::Done { artifacts, caches } => {
                self.artifacts = artifacts.into();
                self.caches = caches.into();
            }
            Collected::TooMuch { problem } if succeeded => verdict = Verdict::not_executable(&problem),
            Collected::Failed { problem, .. } if succeeded => verdict = Verdict::upload_failed(&problem),
            // How the job failed says more than what became of its reports.
            Collected::TooMuch { problem } => verdict.summary.push_str(&missing(&problem)),
            Collected::Failed { problem, artifacts } => {
                self.artifacts = artifacts.into();
                verdict.summary.push_str(&missing(&problem));
            }
            Collected::Stale(reason) => return self.on_stale(reason),
        }
        self.flush(now, Ending::Complete(verdict));
    }

    /// A job that never began, or that is not to blame, has nothing to show.
    pub(super) fn worth_collecting(&self, verdict: &Verdict) -> Option<Which> {
        let wanted = self.terms.artifacts;
        let which = match verdict.outcome {
            Outcome::Succeeded => (wanted.any || wanted.caches).then_some(Which::All),
            Outcome::Failed | Outcome::TimedOut => wanted.reports.then_some(Which::Reports),
            Outcome::Infra => None,
        };
        which.filter(|_| self.step.is_some())
    }

    pub(super) fn collect(&mut self, now: Uptime, verdict: Verdict, which: Which) {
        self.stage = Stage::Collecting { verdict };
        self.actions.push_back(Action::Collect(which));
        self.beat.hasten(now); // it may take a while: say what we are doing
    }

    /// Goes on to the final word without the artifacts.
    pub(super) fn abandon(&mut self, now: Uptime, ending: Ending) {
        self.actions.push_back(Action::Abandon);
        self.flush(now, ending);
    }
}

fn missing(problem: &str) -> String {
    format!(" (artifacts are missing: {problem})")
}
