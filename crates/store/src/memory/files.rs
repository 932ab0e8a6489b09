//! Jobs and runs with everything filed under them.

use decisions::doctor::{Examined, JobFile, LogFile, Logged, RunFile, StepsFile};
use decisions::records::{Attempt, AttemptKey, Event, Execution, Job, Log, Run};
use machines::Machine;
use machines::delivery;
use wire::{ExecId, JobId, RunId};

use super::tables::Tables;

impl Tables {
    pub fn job_file(&self, job: &Job) -> JobFile {
        let first = AttemptKey { job: job.id, index: 0 };
        let attempts =
            self.attempts.0.range(first..).map(|(_, (_, it))| it).take_while(|it| it.key.job == job.id);
        let attempts: Vec<Attempt> = attempts.cloned().collect();
        let mut executions: Vec<Execution> = self.executions_of(job.id).cloned().collect();
        executions.sort_by_key(|execution| execution.token);
        JobFile {
            job: job.clone(),
            attempts,
            executions,
            ready: self.ready.iter().filter(|key| key.attempt.job == job.id).copied().collect(),
            effects: self.effects.iter().filter(|effect| effect.job == job.id).cloned().collect(),
            events: self.events_of(&job.id.to_string()),
        }
    }

    pub fn run_file(&self, run: &Run) -> RunFile {
        let messages = self.deliveries.all().filter(|delivery| delivery.reports == Some(run.id));
        let open = messages.filter(|delivery| {
            !matches!(delivery.state.get(), delivery::State::Delivered | delivery::State::DeadLetter)
        });
        RunFile {
            run: run.clone(),
            jobs: self.jobs.all().filter(|job| job.run == Some(run.id)).cloned().collect(),
            needs: self.needs_of(run.id),
            plan: self.plans.get(&run.id).cloned(),
            group: run.group_id().and_then(|group| self.groups.get(&group)).cloned(),
            events: self.events_of(&run.id.to_string()),
            reports_open: open.count() as u32,
        }
    }

    fn needs_of(&self, run: RunId) -> Vec<(JobId, JobId)> {
        let is_of_run = |id: &JobId| self.jobs.get(id).is_some_and(|job| job.run == Some(run));
        self.needs.iter().filter(|(needed, _)| is_of_run(needed)).copied().collect()
    }

    pub fn ids(&self, of: Examined) -> Vec<String> {
        match of {
            Examined::Jobs => self.jobs.all().map(|it| it.id.to_string()).collect(),
            Examined::Runs => self.runs.all().map(|it| it.id.to_string()).collect(),
            Examined::Blobs => self.blobs.all().map(|it| it.id.to_string()).collect(),
            Examined::Logs => self.logs.all().map(|it| it.execution.to_string()).collect(),
            Examined::Deliveries | Examined::Steps(Logged::Deliveries) => {
                self.deliveries.all().map(|it| it.id.to_string()).collect()
            }
            Examined::Usages | Examined::Steps(Logged::Tenants) => {
                self.tenants.all().map(|it| it.id.to_string()).collect()
            }
            Examined::Steps(Logged::Uploads) => self.uploads.all().map(|it| it.id.to_string()).collect(),
            Examined::Steps(Logged::Versions) => self.versions.all().map(|it| it.id.to_string()).collect(),
        }
    }

    pub fn steps_files_after(&self, of: Logged, after: Option<&str>, limit: usize) -> Vec<StepsFile> {
        let states: Vec<(String, &str)> = match of {
            Logged::Tenants => {
                self.tenants.all().map(|it| (it.id.to_string(), it.state.get().as_str())).collect()
            }
            Logged::Deliveries => {
                self.deliveries.all().map(|it| (it.id.to_string(), it.state.get().as_str())).collect()
            }
            Logged::Uploads => {
                self.uploads.all().map(|it| (it.id.to_string(), it.state.get().as_str())).collect()
            }
            Logged::Versions => {
                self.versions.all().map(|it| (it.id.to_string(), it.state.get().as_str())).collect()
            }
        };
        let later = states.into_iter().filter(|(id, _)| after.is_none_or(|after| id.as_str() > after));
        let file =
            |(id, state): (String, &str)| StepsFile { events: self.events_of(&id), id, state: state.into() };
        later.take(limit).map(file).collect()
    }

    pub fn log_files_after(&self, after: Option<ExecId>, limit: usize) -> Vec<LogFile> {
        let later = self.logs.all().filter(|log| after.is_none_or(|after| log.execution > after));
        later.take(limit).map(|log| self.log_file(log)).collect()
    }

    fn log_file(&self, log: &Log) -> LogFile {
        let chunks = self.log_chunks.range((log.execution, 0)..=(log.execution, u64::MAX));
        let execution = self.executions.get(&log.execution);
        LogFile {
            log: *log,
            chunked: chunks.map(|(_, bytes)| bytes.len() as u64).sum(),
            live: execution.is_some_and(|execution| execution.finished_at.is_none()),
            blob: log.blob.and_then(|id| self.blobs.get(&id)).cloned(),
        }
    }

    pub fn executions_of(&self, job: JobId) -> impl Iterator<Item = &Execution> {
        let ids = self.by_job.range((job, ExecId::FIRST)..).take_while(move |(of, _)| *of == job);
        ids.filter_map(|(_, id)| self.executions.get(id))
    }

    pub fn events_of(&self, root: &str) -> Vec<Event> {
        self.events.iter().filter(|(filed, _)| filed == root).map(|(_, event)| event.clone()).collect()
    }
}
