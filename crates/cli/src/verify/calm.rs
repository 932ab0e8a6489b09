//! After the trouble: everything must come to rest by itself; then the API is asked for all that there is.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;
use wire::api::{AuditEvent, DeliveryView, JobView, RunSummary, RunView};

use super::Stop;
use super::clients::Caller;
use super::logs;
use super::record::{Ask, ExecutionSeen, Happened, JobSeen, MessageSeen, Moment, RunSeen, Settled};

/// Far beyond lease, retries, cancel deadline and claims together.
const REST_TIME_MAX: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(200);
const PAGES_MAX: usize = 100_000;
const UNREST_SHOWN_MAX: usize = 20;

/// Waits until nothing is open, or for as long as it may take. Returns what is still open.
pub fn rest(caller: &Caller, moments: &[Moment], stop: &Stop) -> Result<Vec<String>> {
    let mut payloads = submitted(moments);
    let looks = REST_TIME_MAX.as_millis() / LOOK_EVERY.as_millis();
    let mut open = Vec::new();
    for _ in 0..looks {
        open = still_open(caller, &mut payloads)?;
        if open.is_empty() || stop.is_asked() {
            return Ok(open);
        }
        thread::sleep(LOOK_EVERY);
    }
    open.truncate(UNREST_SHOWN_MAX);
    Ok(open)
}

fn still_open(caller: &Caller, payloads: &mut BTreeSet<String>) -> Result<Vec<String>> {
    let mut over = BTreeSet::new();
    for payload in payloads.iter() {
        let job = caller.find(&job_path(payload))?;
        if job.is_none_or(|job| is_over(job["state"].as_str().unwrap_or_default())) {
            over.insert(payload.clone());
        }
    }
    payloads.retain(|payload| !over.contains(payload));
    let mut open: Vec<String> =
        payloads.iter().map(|payload| format!("the job {payload} is not over")).collect();
    let runs: Vec<RunSummary> = pages(caller, "/v1/tenants/default/runs?limit=1000")?;
    let running = runs.iter().filter(|run| run.jobs_open > 0 || run.finished_at.is_none());
    open.extend(running.map(|run| format!("the run {} is {}", run.id, run.state)));
    for state in ["pending", "delivering", "retry_wait"] {
        let path = format!("/v1/admin/outbox?limit=1000&state={state}");
        let messages: Vec<DeliveryView> = pages(caller, &path)?;
        open.extend(
            messages.iter().map(|message| format!("the message {} is {}", message.id, message.state)),
        );
    }
    Ok(open)
}

/// Everything, as the API shows it.
pub fn settled(caller: &Caller, moments: &[Moment]) -> Result<Settled> {
    let events: Vec<AuditEvent> = pages(caller, "/v1/tenants/default/events?limit=1000")?;
    let committed: BTreeSet<&str> = events
        .iter()
        .filter(|event| event.machine == "execution" && event.to == "COMMITTED")
        .map(|event| event.entity.as_str())
        .collect();
    let mut settled = Settled { messages: messages(caller, &events)?, ..Settled::default() };
    for payload in submitted(moments) {
        if let Some(job) = caller.find(&job_path(&payload))? {
            settled.jobs.push(job_seen(caller, &payload, job, &committed)?);
        }
    }
    let runs: Vec<RunSummary> = pages(caller, "/v1/tenants/default/runs?limit=1000")?;
    for run in runs {
        let found = caller.must("GET", &format!("/v1/tenants/default/runs/{}", run.id), &Value::Null)?;
        let view: RunView = serde_json::from_value(found)?;
        for job in &view.jobs {
            let found = caller.must("GET", &job_path(&job.id.to_string()), &Value::Null)?;
            settled.jobs.push(job_seen(caller, &job.name, found, &committed)?);
        }
        settled.runs.push(RunSeen {
            id: run.id.to_string(),
            key: run.trigger_key.filter(|_| run.rerun_of.is_none()),
            rerun_of: run.rerun_of.map(|of| of.to_string()),
            state: run.outcome.unwrap_or(run.state),
        });
    }
    Ok(settled)
}

fn job_seen(caller: &Caller, payload: &str, job: Value, committed: &BTreeSet<&str>) -> Result<JobSeen> {
    let job: JobView = serde_json::from_value(job).context("a job that cannot be read")?;
    let reply =
        caller.reply("GET", &format!("{}/log?follow=1", job_path(&job.uid.to_string())), &Value::Null)?;
    let mut logs = logs::read(&reply.body);
    let executions = job.attempts.iter().flat_map(|attempt| &attempt.executions).map(|execution| {
        let id = execution.exec_id.to_string();
        let (log, gaps) = logs.remove(&id).unwrap_or_default();
        let committed = committed.contains(id.as_str());
        ExecutionSeen { id, token: execution.token.into(), committed, log, gaps }
    });
    Ok(JobSeen {
        payload: payload.into(),
        executions: executions.collect(),
        attempts: u32::try_from(job.attempts.len())?,
        once: job.effect == wire::api::EffectClass::Once,
        run: job.run_id.map(|run| run.to_string()),
        uid: job.uid.to_string(),
        id: job.id,
        state: job.state,
        lines: payload.rsplit('-').next().and_then(|count| count.parse().ok()).unwrap_or_default(),
    })
}

/// In the order of the commits that wrote them.
fn messages(caller: &Caller, events: &[AuditEvent]) -> Result<Vec<MessageSeen>> {
    let written: BTreeMap<&str, i64> = events
        .iter()
        .filter(|event| event.machine == "delivery" && event.from.is_none())
        .map(|event| (event.entity.as_str(), event.seq))
        .collect();
    let mut found: Vec<DeliveryView> = pages(caller, "/v1/admin/outbox?limit=1000")?;
    found.sort_by_key(|message| (written.get(message.id.to_string().as_str()).copied(), message.created_at));
    let seen = found.into_iter().map(|message| MessageSeen {
        id: message.id.to_string(),
        lane: message.url.rsplit('/').next().unwrap_or_default().into(),
        subject: message.subject,
        state: message.state,
        created_at: message.created_at.as_micros(),
    });
    Ok(seen.collect())
}

/// The payloads of all jobs that somebody tried to submit.
fn submitted(moments: &[Moment]) -> BTreeSet<String> {
    let payload = |moment: &Moment| match &moment.what {
        Happened::Asked { ask: Ask::Submit { payload }, .. } => Some(payload.clone()),
        _ => None,
    };
    moments.iter().filter_map(payload).collect()
}

fn pages<T: for<'de> Deserialize<'de>>(caller: &Caller, path: &str) -> Result<Vec<T>> {
    let (mut items, mut after) = (Vec::new(), String::new());
    for _ in 0..PAGES_MAX {
        let page = caller.must("GET", &format!("{path}{after}"), &Value::Null)?;
        let page: wire::api::Page<T> = serde_json::from_value(page).context("a list that cannot be read")?;
        items.extend(page.items);
        match page.next {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    Ok(items)
}

fn job_path(id: &str) -> String {
    format!("/v1/tenants/default/jobs/{id}")
}

pub fn is_over(state: &str) -> bool {
    crate::outcome::job_is_over(state)
}
