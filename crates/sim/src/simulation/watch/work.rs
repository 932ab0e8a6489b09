//! Leases, attempts, jobs, runs and logs.

use std::collections::BTreeSet;

use decisions::records::{Attempt, AttemptKey, Execution, Job, Run};
use machines::{attempt, execution, job, lease, run};
use wire::{ExecId, JobId, RunId, Time};

use super::mirror::{Watch, Written};
use crate::simulation::agent::log_byte;
use crate::simulation::rules;

impl Watch {
    pub(super) fn before_work(&mut self, written: &Written, now: Time) {
        let mut broken = Vec::new();
        for after in &written.executions {
            match self.executions.get(&after.id) {
                Some(before) => broken.extend(self.lease_moved(before, after, now)),
                None => broken.extend(self.lease_made(after, now)),
            }
        }
        for after in &written.attempts {
            if let Some(before) = self.attempts.get(&after.key) {
                broken.extend(self.attempt_moved(before, after));
            }
        }
        for after in &written.runs {
            let Some(before) = self.runs.get(&after.id) else { continue };
            if before.outcome.is_some() && before.outcome != after.outcome {
                broken.push((rules::FINAL, format!("{} ended twice", after.id)));
            }
        }
        broken.extend(self.logs_grew(written, now));
        broken.into_iter().for_each(|(rule, what)| self.broke(rule, what));
    }

    fn lease_made(&self, after: &Execution, now: Time) -> Option<(&'static str, String)> {
        let tokens = self.executions_of(after.job()).map(|it| it.token);
        if tokens.max().is_some_and(|highest| highest >= after.token) {
            return Some((rules::TOKENS, format!("{} got token {} again", after.id, after.token)));
        }
        let unheard = self.executions_of(after.job()).find(|it| {
            let taken_away = it.lease.get() == lease::State::Revoked && it.started_at.is_some();
            taken_away && !it.status.get().has_committed() && it.expires_at > now
        });
        if let Some(before) = unheard {
            let what = format!("{} follows {}, whose runner may not have heard of it", after.id, before.id);
            return Some((rules::ONE_AT_A_TIME, what));
        }
        self.too_long(after, now)
    }

    fn too_long(&self, after: &Execution, now: Time) -> Option<(&'static str, String)> {
        let most = match after.lease.get() {
            lease::State::Granted => self.policy.ack_timeout,
            lease::State::Active => self.policy.lease_ttl,
            lease::State::Expired
            | lease::State::Revoked
            | lease::State::Completed
            | lease::State::Canceled => return None,
        };
        (after.expires_at > now.plus(most)).then(|| (rules::IN_TIME, format!("{} lives too long", after.id)))
    }

    fn lease_moved(
        &self,
        before: &Execution,
        after: &Execution,
        now: Time,
    ) -> Option<(&'static str, String)> {
        let id = after.id;
        if !before.lease.get().is_live() {
            let same = before.lease == after.lease && before.status == after.status;
            return (!same).then(|| (rules::FINAL, format!("{id} had ended as {:?}", before.lease.get())));
        }
        let ran_out = before.expires_at <= now;
        match after.lease.get() {
            lease::State::Granted | lease::State::Active if ran_out => {
                let same = after.expires_at == before.expires_at && after.lease == before.lease;
                (!same).then(|| (rules::STALE, format!("{id} had run out and lives on")))
            }
            lease::State::Granted | lease::State::Active => self.too_long(after, now),
            lease::State::Completed | lease::State::Canceled if ran_out => {
                Some((rules::STALE, format!("{id} had run out and its runner was heard")))
            }
            lease::State::Expired if !ran_out => {
                Some((rules::NOT_EARLY, format!("{id} had time until {}", before.expires_at)))
            }
            lease::State::Expired
            | lease::State::Revoked
            | lease::State::Completed
            | lease::State::Canceled => None,
        }
    }

    fn attempt_moved(&self, before: &Attempt, after: &Attempt) -> Option<(&'static str, String)> {
        let (was, is, key) = (before.state.get(), after.state.get(), after.key);
        if is_final(was) && was != is {
            return Some((rules::FINAL, format!("attempt {key} had ended as {was:?}")));
        }
        let canceled = [attempt::State::CancelRequested, attempt::State::Canceled];
        if was == attempt::State::CancelRequested && !canceled.contains(&is) {
            return Some((rules::ONE_WINS, format!("attempt {key} was being cancelled and is {is:?}")));
        }
        let succeeds = is == attempt::State::Succeeded && was != is;
        let stopping = self.run_of(key.job).is_some_and(is_stopping);
        let committed = before.execution.and_then(|id| self.executions.get(&id));
        let committed = committed.is_some_and(|it| it.status.get().has_committed());
        (succeeds && stopping && !committed)
            .then(|| (rules::ONE_WINS, format!("attempt {key} succeeds after its run was stopped")))
    }

    fn logs_grew(&self, written: &Written, now: Time) -> Vec<(&'static str, String)> {
        let mut broken = Vec::new();
        let grown: BTreeSet<ExecId> = written.logs.iter().map(|log| log.execution).collect();
        for log in &written.logs {
            let id = log.execution;
            let speaks =
                self.executions.get(&id).is_some_and(|it| it.lease.get().is_live() && it.expires_at > now);
            if !speaks {
                broken.push((rules::STALE, format!("{id} does not hold its lease, and its log grows")));
            }
            let mut at = self.logs.get(&id).map_or(0, |before| before.received);
            for chunk in written.chunks.iter().filter(|chunk| chunk.execution == id) {
                let right =
                    (chunk.offset..).zip(chunk.bytes.iter()).all(|(at, byte)| log_byte(id, at) == *byte);
                if chunk.offset != at || !right {
                    broken.push((rules::LOG, format!("{id}: bytes at {} where {at} was next", chunk.offset)));
                }
                at = chunk.end();
            }
            if at != log.received {
                broken.push((rules::LOG, format!("{id}: {} bytes were counted, {at} came", log.received)));
            }
        }
        if written.chunks.iter().any(|chunk| !grown.contains(&chunk.execution)) {
            broken.push((rules::LOG, "bytes of a log that does not know them".into()));
        }
        broken
    }

    pub(super) fn after_work(&mut self, written: &Written) {
        let of_attempts = written.attempts.iter().map(|it| it.key.job);
        let of_executions = written.executions.iter().map(|it| it.job());
        let jobs: BTreeSet<JobId> =
            written.jobs.iter().map(|it| it.id).chain(of_attempts).chain(of_executions).collect();
        let of_jobs = jobs.iter().filter_map(|id| self.jobs.get(id)).filter_map(|job| job.run);
        let runs: BTreeSet<RunId> = written.runs.iter().map(|it| it.id).chain(of_jobs).collect();
        let mut broken = Vec::new();
        jobs.iter().for_each(|id| self.job_holds(*id, &mut broken));
        runs.iter().for_each(|id| self.run_holds(*id, &mut broken));
        for effect in &written.effects {
            let by = self.executions.get(&effect.execution);
            if by.is_none_or(|it| !it.status.get().has_committed()) {
                broken.push((rules::EFFECTS, format!("{} had an effect", effect.execution)));
            }
        }
        broken.into_iter().for_each(|(rule, what)| self.broke(rule, what));
    }

    fn job_holds(&self, id: JobId, broken: &mut Vec<(&'static str, String)>) {
        let Some(job) = self.jobs.get(&id) else {
            return broken.push((rules::DERIVED, format!("{id} has attempts and no record")));
        };
        let executions: Vec<&Execution> = self.executions_of(id).collect();
        if executions.iter().filter(|it| it.lease.get().is_live()).count() > 1 {
            broken.push((rules::ONE_LIVE_LEASE, format!("{id} has two")));
        }
        if executions.iter().filter(|it| it.status.get().has_committed()).count() > 1 {
            broken.push((rules::ONE_COMMIT, format!("{id} has two")));
        }
        let attempts: Vec<&Attempt> = self.attempts_of(id).collect();
        let succeeded = attempts.iter().position(|it| it.state.get() == attempt::State::Succeeded);
        let beyond = attempts.len() as u32 > job.attempts_max || attempts.len() as u32 != job.attempts;
        if beyond || succeeded.is_some_and(|at| at + 1 != attempts.len()) {
            broken.push((rules::ATTEMPTS, format!("{id}: {} of {}", attempts.len(), job.attempts_max)));
        }
        let Some(latest) = attempts.last() else {
            return broken.push((rules::DERIVED, format!("{id} has no attempt")));
        };
        if job.state != seen_as(latest, &executions) {
            broken.push((rules::DERIVED, format!("{id} is {:?}, its attempt {:?}", job.state, latest.state)));
        }
    }

    /// The counters and the outcome, from the jobs alone.
    fn run_holds(&self, id: RunId, broken: &mut Vec<(&'static str, String)>) {
        let Some(run) = self.runs.get(&id) else { return };
        let jobs: Vec<&Job> = self
            .jobs_of
            .get(&id)
            .into_iter()
            .flatten()
            .filter_map(|job| self.jobs.get(job))
            .map(|it| &**it)
            .collect();
        let open = jobs.iter().filter(|job| !job.state.is_over()).count() as u32;
        if run.jobs_total != jobs.len() as u32 || run.jobs_open != open {
            let what = format!(
                "{id} counts {} of {}, {open} of {} are open",
                run.jobs_open,
                run.jobs_total,
                jobs.len()
            );
            broken.push((rules::FOLDED, what));
        }
        let required = || jobs.iter().filter(|job| job.required);
        let all_succeeded = required().all(|job| job.state == job::State::Succeeded);
        let sound = match run.outcome {
            None => true,
            Some(run::State::Success) => open == 0 && all_succeeded,
            Some(run::State::Failed) => open == 0 && (jobs.is_empty() || !all_succeeded),
            Some(run::State::Canceled) => open == 0,
            Some(run::State::Timeout) => true,
            Some(_) => false,
        };
        // A job may be tried again by hand after its run has ended.
        let reopened = run.outcome.is_some()
            && run.finished_at.is_some_and(|at| jobs.iter().any(|it| it.updated_at > at));
        if !sound && !reopened {
            broken.push((rules::FOLDED, format!("{id} ended as {:?} with {open} open jobs", run.outcome)));
        }
        if run.outcome.is_none() && run.jobs_total > 0 && open == 0 {
            broken.push((rules::FOLDED, format!("{id} has no open job and goes on")));
        }
    }

    pub fn executions_of(&self, job: JobId) -> impl Iterator<Item = &Execution> {
        let ids = self.executions_of.get(&job).into_iter().flatten();
        ids.filter_map(|id| self.executions.get(id)).map(|it| &**it)
    }

    pub fn attempts_of(&self, job: JobId) -> impl Iterator<Item = &Attempt> {
        let all = AttemptKey { job, index: 0 }..=AttemptKey { job, index: u32::MAX };
        self.attempts.range(all).map(|(_, it)| &**it)
    }

    pub fn run_of(&self, job: JobId) -> Option<&Run> {
        self.runs.get(&self.jobs.get(&job)?.run?).map(|it| &**it)
    }
}

fn is_stopping(run: &Run) -> bool {
    run.outcome.is_some() || run.state.get() == run::State::CancelRequested
}

fn is_final(state: attempt::State) -> bool {
    match state {
        attempt::State::Succeeded
        | attempt::State::Failed
        | attempt::State::Canceled
        | attempt::State::TimedOut
        | attempt::State::Stale => true,
        attempt::State::Created
        | attempt::State::Queued
        | attempt::State::Leased
        | attempt::State::Starting
        | attempt::State::Running
        | attempt::State::Uploading
        | attempt::State::CancelRequested => false,
    }
}

fn seen_as(latest: &Attempt, executions: &[&Execution]) -> job::State {
    let done = executions.iter().any(|it| it.status.get() == execution::State::Done);
    let live = executions.iter().any(|it| it.lease.get().is_live());
    match latest.state.get() {
        _ if done => job::State::Succeeded,
        attempt::State::Canceled => job::State::Canceled,
        state if is_final(state) => job::State::Failed,
        _ if live => job::State::Running,
        _ => job::State::Pending,
    }
}
