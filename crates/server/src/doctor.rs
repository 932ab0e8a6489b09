//! The doctor: pages through a store, live or stopped, and checks every invariant that its records show.

use decisions::doctor::{
    Finding, Logged, check_blob, check_delivery, check_job, check_log_file, check_run, check_steps,
};
use store::{Store, StoreError};

/// What was looked at, and what does not hold.
#[derive(Debug, Default, serde::Serialize)]
pub struct Report {
    pub runs: u64,
    pub jobs: u64,
    pub deliveries: u64,
    pub blobs: u64,
    pub logs: u64,
    pub events: i64,
    pub findings: Vec<Finding>,
    /// More was found than is listed.
    pub more: bool,
}

const PAGE: usize = 500;

/// Runs are read with all of their jobs.
const RUNS_PAGE: usize = 20;

const FINDINGS_MAX: usize = 1_000;

impl Report {
    fn add(&mut self, findings: Vec<Finding>) {
        self.findings.extend(findings);
        if self.findings.len() > FINDINGS_MAX {
            self.findings.truncate(FINDINGS_MAX);
            self.more = true;
        }
    }
}

/// Looks at everything. `progress` is told how many records were seen so far.
pub async fn examine<S: Store>(store: &S, mut progress: impl FnMut(u64)) -> Result<Report, StoreError> {
    let mut report = Report::default();
    let engine = store.integrity().await?.into_iter();
    report.add(
        engine.map(|problem| Finding { invariant: "I5", entity: "the database".into(), problem }).collect(),
    );
    examine_log(store, &mut report).await?;
    let mut after = None;
    loop {
        let page = store.job_files_after(after, PAGE).await?;
        report.jobs += page.len() as u64;
        page.iter().for_each(|file| report.add(check_job(file)));
        progress(report.jobs + report.runs);
        let Some(last) = page.last() else { break };
        after = Some(last.job.id);
    }
    let mut after = None;
    loop {
        let page = store.run_files_after(after, RUNS_PAGE).await?;
        report.runs += page.len() as u64;
        page.iter().for_each(|file| report.add(check_run(file)));
        progress(report.jobs + report.runs);
        let Some(last) = page.last() else { break };
        after = Some(last.run.id);
    }
    let mut after = None;
    loop {
        let page = store.deliveries_after(after, PAGE).await?;
        report.deliveries += page.len() as u64;
        page.iter().for_each(|delivery| report.add(check_delivery(delivery)));
        let Some(last) = page.last() else { break };
        after = Some(last.id);
    }
    let mut after = None;
    loop {
        let page = store.blob_files_after(after, PAGE).await?;
        report.blobs += page.len() as u64;
        page.iter().for_each(|file| report.add(check_blob(file)));
        let Some(last) = page.last() else { break };
        after = Some(last.blob.id);
    }
    let mut after = None;
    loop {
        let page = store.log_files_after(after, PAGE).await?;
        report.logs += page.len() as u64;
        page.iter().for_each(|file| report.add(check_log_file(file)));
        let Some(last) = page.last() else { break };
        after = Some(last.log.execution);
    }
    for of in Logged::ALL {
        examine_steps(store, of, &mut report).await?;
    }
    Ok(report)
}

async fn examine_steps<S: Store>(store: &S, of: Logged, report: &mut Report) -> Result<(), StoreError> {
    let mut after: Option<String> = None;
    loop {
        let page = store.steps_files_after(of, after.as_deref(), PAGE).await?;
        page.iter().for_each(|file| report.add(check_steps(of, file)));
        match page.into_iter().next_back() {
            Some(last) => after = Some(last.id),
            None => return Ok(()),
        }
    }
}

async fn examine_log<S: Store>(store: &S, report: &mut Report) -> Result<(), StoreError> {
    let bounds = store.log_bounds().await?;
    report.events = bounds.rows;
    if bounds.rows != bounds.last_seq {
        let problem = format!("{} rows, but the last is number {}", bounds.rows, bounds.last_seq);
        report.add(vec![Finding { invariant: "I7", entity: "the audit log".into(), problem }]);
    }
    Ok(())
}
