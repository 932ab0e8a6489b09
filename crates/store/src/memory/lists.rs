//! What people and the API ask of the tables: lists page by page, logs, and what belongs to whom.

use std::collections::BTreeSet;
use std::ops::Bound;

use decisions::records::{
    Event, Execution, Job, Log, LogChunk, LogTrim, QueueId, Run, Runner, RunnerKey, Tenant, Token,
};
use wire::{Digest, ExecId, JobId, RunId, RunnerId, TenantId, Time, TokenId};

use super::tables::Tables;
use crate::LOG_CHUNKS_MAX;

impl Tables {
    pub fn queues_ready(&self) -> Vec<QueueId> {
        let queues: BTreeSet<QueueId> = self.ready.iter().map(|key| key.queue).collect();
        queues.into_iter().collect()
    }

    pub fn runs_planning(&self, after: Option<RunId>, limit: usize) -> Vec<RunId> {
        let waiting = self.runs.all().filter(|run| run.is_planning()).map(|run| run.id);
        waiting.filter(|id| after.is_none_or(|after| *id > after)).take(limit).collect()
    }

    pub fn tenant_named(&self, name: &str) -> Option<&Tenant> {
        self.tenants.all().find(|tenant| tenant.name == name)
    }

    pub fn tenants_after(&self, after: Option<TenantId>, limit: usize) -> Vec<Tenant> {
        let later = self.tenants.all().filter(|it| after.is_none_or(|after| it.id > after));
        later.take(limit).cloned().collect()
    }

    pub fn tokens_of(&self, tenant: Option<TenantId>, after: Option<TokenId>, limit: usize) -> Vec<Token> {
        let of_tenant = self.tokens.all().filter(|token| token.tenant == tenant);
        of_tenant.filter(|it| after.is_none_or(|after| it.id > after)).take(limit).cloned().collect()
    }

    pub fn runners_of(&self, tenant: Option<TenantId>, after: Option<RunnerId>, limit: usize) -> Vec<Runner> {
        let of_tenant = self.runners.all().filter(|runner| runner.key.tenant == tenant);
        let later = of_tenant.filter(|it| after.as_ref().is_none_or(|after| it.key.id > *after));
        later.take(limit).cloned().collect()
    }

    pub fn executions_live(&self, limit: usize) -> Vec<(Execution, TenantId)> {
        let mut live: Vec<&Execution> =
            self.executions.all().filter(|execution| execution.finished_at.is_none()).collect();
        live.sort_by_key(|execution| execution.attempt);
        let with_tenant =
            live.into_iter().filter_map(|it| Some((it.clone(), self.jobs.get(&it.job())?.tenant)));
        with_tenant.take(limit).collect()
    }

    pub fn runs_of(&self, tenant: TenantId, before: Option<RunId>, limit: usize) -> Vec<Run> {
        let mut runs: Vec<&Run> = self.runs.all().filter(|run| run.tenant == tenant).collect();
        runs.reverse();
        let older = runs.into_iter().filter(|run| before.is_none_or(|before| run.id < before));
        older.take(limit).cloned().collect()
    }

    pub fn jobs_of_run(&self, run: RunId, after: Option<JobId>, limit: usize) -> Vec<Job> {
        let jobs = self.jobs.all().filter(|job| job.run == Some(run));
        jobs.filter(|job| after.is_none_or(|after| job.id > after)).take(limit).cloned().collect()
    }

    pub fn successes(&self, tenant: TenantId, keys: &[Digest]) -> Vec<(Digest, RunId, JobId)> {
        let newest = |key: &Digest| {
            let of_key = self.jobs.all().filter(|job| job.tenant == tenant && job.input_key == Some(*key));
            let job = of_key.filter(|job| job.reusable).last()?;
            Some((*key, job.run?, job.id))
        };
        keys.iter().filter_map(newest).collect()
    }

    pub fn events_scan(&self, tenant: TenantId, after: i64, scan_max: usize) -> (Vec<Event>, i64) {
        let scanned = self.events.iter().skip(after.max(0) as usize).take(scan_max);
        let last = scanned.clone().next_back().map_or(after, |(_, event)| event.seq);
        let of_tenant = scanned.filter(|(root, _)| self.is_of(tenant, root));
        (of_tenant.map(|(_, event)| event.clone()).collect(), last)
    }

    fn is_of(&self, tenant: TenantId, root: &str) -> bool {
        let job = root.parse().ok().and_then(|id| self.jobs.get(&id)).map(|job| job.tenant);
        let run = || root.parse().ok().and_then(|id| self.runs.get(&id)).map(|run| run.tenant);
        let delivery = || root.parse().ok().and_then(|id| self.deliveries.get(&id)).map(|it| it.tenant);
        let upload = || root.parse().ok().and_then(|id| self.uploads.get(&id)).map(|it| it.tenant);
        let version = || root.parse().ok().and_then(|id| self.versions.get(&id)).map(|it| it.name.tenant);
        let owner = job.or_else(run).or_else(delivery).or_else(upload).or_else(version);
        match root.parse() {
            Ok(blob) => self.possesses(tenant, blob),
            Err(_) => owner.or_else(|| root.parse().ok()) == Some(tenant),
        }
    }

    pub fn log_chunks(&self, id: ExecId, from: u64, bytes_max: usize) -> Vec<LogChunk> {
        let all = self.log_chunks.range((id, 0)..=(id, u64::MAX));
        let kept = all.map(|((execution, offset), bytes)| LogChunk {
            execution: *execution,
            offset: *offset,
            bytes: bytes.clone(),
        });
        let mut total = 0;
        kept.filter(|chunk| chunk.end() > from)
            .take_while(|chunk| {
                let is_first = total == 0;
                total += chunk.bytes.len();
                is_first || total <= bytes_max
            })
            .take(LOG_CHUNKS_MAX)
            .collect()
    }

    pub fn logs_due(&self, ended_by: Time, after: Option<ExecId>, limit: usize) -> Vec<(Log, TenantId)> {
        let later = self.logs.all().filter(|log| after.is_none_or(|after| log.execution > after));
        let due = later.filter(|log| log.blob.is_none()).filter_map(|log| {
            let execution = self.executions.get(&log.execution)?;
            let over = execution.finished_at.is_some_and(|at| at <= ended_by);
            Some((*log, self.jobs.get(&execution.job())?.tenant)).filter(|_| over)
        });
        due.take(limit).collect()
    }

    pub fn trim(&mut self, trim: &LogTrim) {
        let range =
            (Bound::Included((trim.execution, trim.from)), Bound::Excluded((trim.execution, trim.to)));
        let begun = self.log_chunks.range(range);
        let over = begun.filter(|((_, offset), bytes)| offset + bytes.len() as u64 <= trim.to);
        let over: Vec<(ExecId, u64)> = over.map(|(key, _)| *key).collect();
        for key in over {
            self.log_chunks.remove(&key);
        }
    }

    /// The runner that holds an execution's lease.
    pub fn runner_key(&self, execution: &Execution) -> Option<RunnerKey> {
        let job = self.jobs.get(&execution.job())?;
        Some(execution.runner_key(job.tenant))
    }
}
