//! Lease: grant the right to execute one ready attempt to one runner.

use machines::{attempt, execution, lease, run};
use wire::{ExecId, JobId, LeaseId, RunnerId, TenantId};

use crate::draft::Stated;
use crate::jobs::project;
use crate::records::{Attempt, AttemptKey, Execution, Job, QueueId, ReadyKey, Run, Runner, RunnerKey};
use crate::{Answer, Ask, Decide, Draft, Granted, Refusal};

#[derive(Debug, Clone)]
pub struct Lease {
    pub runner: RunnerId,
    /// Whose jobs the runner may have; `None` for those of all tenants.
    pub tenant: Option<TenantId>,
    /// What it can do. Noted for people to see; which queues fit was found out before.
    pub capabilities: Vec<String>,
    pub wanted: Wanted,
    /// Minted at the edge.
    pub execution: ExecId,
    pub lease: LeaseId,
}

#[derive(Debug, Clone)]
pub enum Wanted {
    /// The first ready attempt over these queues; all of them fit the runner.
    Any(Vec<QueueId>),
    /// This very job.
    Job(JobId),
}

const CAPABILITIES_MAX: usize = 64;
const CAPABILITY_LENGTH_MAX: usize = 128;

impl Decide for Lease {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Runner(self.key()));
        match &self.wanted {
            Wanted::Any(queues) => asks
                .extend([Ask::NewExecution(self.execution), Ask::Ready { queues: queues.clone(), count: 1 }]),
            Wanted::Job(job) => {
                asks.extend([Ask::Execution(self.execution), Ask::Family(*job), Ask::Spec(*job)])
            }
        }
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        if draft.get::<Execution>(&self.execution).is_some() {
            // Said twice, because the first answer was lost: so is that grant, and its window returns the attempt.
            return Ok(Answer::NoWork { barred_until: None });
        }
        self.check()?;
        let barred_until = self.greet(draft);
        if barred_until.is_some() {
            return Ok(Answer::NoWork { barred_until });
        }
        let attempt = match &self.wanted {
            Wanted::Any(queues) => self.first_ready(draft, queues),
            Wanted::Job(job) => Some(self.ready_attempt_of(draft, *job)?),
        };
        match attempt {
            Some(key) => Ok(Answer::Granted(Box::new(self.grant(draft, key)))),
            None => Ok(Answer::NoWork { barred_until: None }),
        }
    }
}

impl Lease {
    fn key(&self) -> RunnerKey {
        RunnerKey { tenant: self.tenant, id: self.runner.clone() }
    }

    fn check(&self) -> Result<(), Refusal> {
        let fits =
            self.capabilities.iter().all(|it| (1..=CAPABILITY_LENGTH_MAX).contains(&it.chars().count()));
        if fits && self.capabilities.len() <= CAPABILITIES_MAX {
            return Ok(());
        }
        let problem = format!("at most {CAPABILITIES_MAX}, each of 1 to {CAPABILITY_LENGTH_MAX} characters");
        Err(Refusal::InvalidInput { field: "capabilities", problem })
    }

    /// Notes that the runner lives, coarsely; returns until when it gets nothing, if it broke its word.
    fn greet(&self, draft: &mut Draft<'_>) -> Option<wire::Time> {
        let now = draft.now;
        let key = self.key();
        let known: Option<&Runner> = draft.peek(&key);
        let barred_until = known.and_then(|runner| runner.barred_until).filter(|until| *until > now);
        let is_news = |runner: &Runner| {
            now.since(runner.last_seen_at) >= draft.policy.last_seen_step
                || runner.capabilities != self.capabilities
        };
        if known.is_none_or(is_news) {
            let (acks_missed, barred) = known.map_or((0, None), |it| (it.acks_missed, it.barred_until));
            let capabilities = self.capabilities.clone();
            draft.put(Runner { key, capabilities, acks_missed, barred_until: barred, last_seen_at: now });
        }
        barred_until
    }

    fn grant(&self, draft: &mut Draft<'_>, key: AttemptKey) -> Granted {
        let (now, policy) = (draft.now, draft.policy);
        let mut attempt: Attempt = draft.copy(&key);
        let mut job: Job = draft.copy(&key.job);
        if let Some(id) = job.run {
            start_run(draft, id);
        }
        job.tokens += 1;
        let expires_at = now.plus(policy.ack_timeout);
        let execution = Execution {
            id: self.execution,
            attempt: key,
            run: job.run,
            token: job.tokens,
            runner: self.runner.clone(),
            runner_shared: self.tenant.is_none(),
            lease_hash: self.lease.hash(),
            lease: Stated::initial(),
            status: Stated::initial(),
            granted_at: now,
            expires_at,
            timeout_at: None,
            cancel_by: None,
            due_at: Some(expires_at),
            started_at: None,
            finished_at: None,
            commit_said: false,
            outcome: None,
            summary: String::new(),
            artifacts: String::new(),
        };
        draft.born::<lease::State>(&execution, "granted");
        draft.born::<execution::State>(&execution, "granted");
        draft.advance(&mut attempt, attempt::Event::Grant, "granted");
        attempt.execution = Some(self.execution);
        attempt.updated_at = now;
        draft.put(attempt);
        draft.put(execution);
        project(draft, &mut job);
        let granted = Granted {
            execution: self.execution,
            job: job.id,
            tenant: job.tenant,
            public_id: job.public_id(),
            run: job.run,
            attempt: key.index,
            token: job.tokens,
            lease: self.lease.clone(),
            lease_ttl: policy.lease_ttl,
            heartbeat_interval: policy.heartbeat_interval,
            max_runtime: job.timeout,
            spec: draft.book().specs.get(&job.id).cloned().expect("a lease asks for the specification"),
        };
        draft.put(job);
        granted
    }

    /// A runner of one tenant does not even learn of another's jobs.
    fn serves(&self, job: &Job) -> bool {
        self.tenant.is_none_or(|tenant| tenant == job.tenant)
    }

    fn may_take(&self, draft: &Draft<'_>, id: JobId) -> bool {
        let job: &Job = draft.get(&id).expect("a family is loaded whole");
        self.serves(job) && may_run(draft, id)
    }

    /// The best of each queue's first. An attempt of a run that is stopping is left to the sweep; one that another command of
    /// this batch has just made ready, without its specification being loaded, is left to the next batch.
    /// A queue of another tenant gives nothing, whoever named it.
    fn first_ready(&self, draft: &Draft<'_>, queues: &[QueueId]) -> Option<AttemptKey> {
        let firsts = queues.iter().filter_map(|queue| {
            let low = ReadyKey { queue: *queue, rank: i64::MIN, ..LOWEST };
            let mut waiting = draft.book().ready.range(low..).take_while(|key| key.queue == *queue);
            waiting.find(|key| {
                draft.book().specs.contains_key(&key.attempt.job) && self.may_take(draft, key.attempt.job)
            })
        });
        firsts.min_by_key(|key| (key.rank, key.since, key.attempt)).map(|key| key.attempt)
    }

    fn ready_attempt_of(&self, draft: &Draft<'_>, id: JobId) -> Result<AttemptKey, Refusal> {
        use machines::Machine;
        let job = draft.get(&id).filter(|job: &&Job| self.serves(job)).ok_or(Refusal::JobNotFound)?;
        if job.state.is_over() {
            return Err(Refusal::JobOver { state: job.state.as_str() });
        }
        let key = AttemptKey { job: id, index: job.attempts };
        let attempt: Attempt = draft.copy(&key);
        match attempt.state.get() {
            attempt::State::Queued if may_run(draft, id) => Ok(key),
            attempt::State::Created | attempt::State::Queued => Err(Refusal::JobNotReady),
            attempt::State::Leased
            | attempt::State::Starting
            | attempt::State::Running
            | attempt::State::Uploading
            | attempt::State::CancelRequested => Err(Refusal::JobLeased),
            attempt::State::Succeeded
            | attempt::State::Failed
            | attempt::State::Canceled
            | attempt::State::TimedOut
            | attempt::State::Stale => unreachable!("the job would be over"),
        }
    }
}

/// `QUEUED → RUNNING` with the run's first active attempt.
fn start_run(draft: &mut Draft<'_>, id: wire::RunId) {
    if draft.get::<Run>(&id).is_some_and(|run| run.state.get() == run::State::Queued) {
        let mut run: Run = draft.copy(&id);
        draft.advance(&mut run, run::Event::FirstJobActive, "its first job was leased");
        run.updated_at = draft.now;
        draft.put(run);
    }
}

const LOWEST: ReadyKey = ReadyKey {
    queue: QueueId(i64::MIN),
    rank: i64::MIN,
    since: wire::Time::from_micros(i64::MIN),
    attempt: AttemptKey { job: JobId::FIRST, index: 0 },
};

fn may_run(draft: &Draft<'_>, job: JobId) -> bool {
    let job: &Job = draft.get(&job).expect("a family is loaded whole");
    !job.run.and_then(|run| draft.get::<Run>(&run)).is_some_and(Run::is_stopping)
}
