//! The doctor: pages through a store, live or stopped, and checks every invariant that its records show. A record that cannot
//! be read is a finding, and those after it are looked at.

use std::str::FromStr;

use decisions::doctor::{
    Examined, Finding, Logged, check_blob, check_delivery, check_job, check_log_file, check_run, check_steps,
    check_usage,
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

/// A run is read with its plan and all of its jobs, ten thousand perhaps.
const RUNS_PAGE: usize = 1;

pub const FINDINGS_MAX: usize = 1_000;

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
pub async fn examine<S: Store>(store: &S, progress: impl FnMut(u64)) -> Result<Report, StoreError> {
    examine_opened(store, None, progress).await
}

/// As [`examine`], of a database that is known to be damaged if there is a `reason`.
pub async fn examine_opened<S: Store>(
    store: &S,
    reason: Option<String>,
    progress: impl FnMut(u64),
) -> Result<Report, StoreError> {
    let mut problems = store.integrity().await?;
    if problems.is_empty() {
        problems.extend(reason);
    }
    let of_engine = |problem| Finding { invariant: "I5", entity: "the database".into(), problem };
    let mut round =
        Round { store, damaged: !problems.is_empty(), report: Report::default(), seen: 0, progress };
    round.report.add(problems.into_iter().map(of_engine).collect());
    round.examine_log().await?;
    let jobs = |after, limit| store.job_files_after(after, limit);
    round.report.jobs = round.go_through(Examined::Jobs, PAGE, jobs, |it| it.job.id, check_job).await?;
    let runs = |after, limit| store.run_files_after(after, limit);
    round.report.runs = round.go_through(Examined::Runs, RUNS_PAGE, runs, |it| it.run.id, check_run).await?;
    let deliveries = |after, limit| store.deliveries_after(after, limit);
    let checked = round.go_through(Examined::Deliveries, PAGE, deliveries, |it| it.id, check_delivery);
    round.report.deliveries = checked.await?;
    let blobs = |after, limit| store.blob_files_after(after, limit);
    round.report.blobs = round.go_through(Examined::Blobs, PAGE, blobs, |it| it.blob.id, check_blob).await?;
    let logs = |after, limit| store.log_files_after(after, limit);
    let checked = round.go_through(Examined::Logs, PAGE, logs, |it| it.log.execution, check_log_file);
    round.report.logs = checked.await?;
    let usages = |after, limit| store.usage_files_after(after, limit);
    round.go_through(Examined::Usages, PAGE, usages, |it| it.usage.tenant, check_usage).await?;
    for of in Logged::ALL {
        let steps = |after: Option<String>, limit| async move {
            store.steps_files_after(of, after.as_deref(), limit).await
        };
        let check = |file: &_| check_steps(of, file);
        round.go_through(Examined::Steps(of), PAGE, steps, |it| it.id.clone(), check).await?;
    }
    Ok(round.report)
}

/// One examination.
struct Round<'s, S, P> {
    store: &'s S,
    /// The storage engine has found damage: what it cannot read then is no reason to come again later.
    damaged: bool,
    report: Report,
    seen: u64,
    progress: P,
}

impl<S: Store, P: FnMut(u64)> Round<'_, S, P> {
    /// All records of a kind, in the order of their ids; returns how many could be read. A page that cannot be read is
    /// read again in halves, until the record is found that is the reason.
    async fn go_through<I, F, A>(
        &mut self,
        of: Examined,
        page_max: usize,
        read: impl Fn(Option<I>, usize) -> A,
        id: impl Fn(&F) -> I,
        check: impl Fn(&F) -> Vec<Finding>,
    ) -> Result<u64, StoreError>
    where
        I: FromStr + ToString + Clone,
        A: Future<Output = Result<Vec<F>, StoreError>>,
    {
        let (mut after, mut limit, mut count) = (None, page_max, 0);
        loop {
            match read(after.clone(), limit).await {
                Ok(page) => {
                    let Some(last) = page.last() else { return Ok(count) };
                    after = Some(id(last));
                    page.iter().for_each(|file| self.report.add(check(file)));
                    self.tell(page.len());
                    count += page.len() as u64;
                    limit = (limit * 2).min(page_max);
                }
                Err(error) if !self.is_damage(&error) => return Err(error),
                Err(_) if limit > 1 => limit /= 2,
                Err(error) => match self.unreadable(of, after.map(|id| id.to_string()), &error).await? {
                    Some(next) => after = Some(next),
                    None => return Ok(count),
                },
            }
        }
    }

    fn tell(&mut self, records: usize) {
        self.seen += records as u64;
        (self.progress)(self.seen);
    }

    fn is_damage(&self, error: &StoreError) -> bool {
        match error {
            StoreError::Violation(_) => true,
            StoreError::Unavailable(_) => self.damaged,
            StoreError::Conflict(_) | StoreError::Unknown(_) => false,
        }
    }

    /// The next record cannot be read. Returns its id, to go on behind it; `None` if nobody can tell where that is.
    async fn unreadable<I: FromStr + ToString>(
        &mut self,
        of: Examined,
        after: Option<String>,
        error: &StoreError,
    ) -> Result<Option<I>, StoreError> {
        let next = match self.store.id_after(of, after.as_deref()).await {
            Err(error) if !self.is_damage(&error) => return Err(error),
            next => next.ok().flatten(),
        };
        let parsed: Option<I> = next.as_deref().and_then(|id| id.parse().ok());
        let parsed = parsed.filter(|id| Some(id.to_string()) == next);
        let reason = match error {
            StoreError::Violation(reason) => reason.clone(),
            StoreError::Conflict(_) | StoreError::Unavailable(_) | StoreError::Unknown(_) => {
                error.to_string()
            }
        };
        let rest = if parsed.is_some() { "" } else { "; what comes after it was not looked at" };
        let problem = format!("a row of {} or of what is filed under it: {reason}{rest}", of.table());
        let nameless = || after.map_or("the first".into(), |after| format!("the next after {after}"));
        let entity = next.unwrap_or_else(nameless);
        self.report.add(vec![Finding { invariant: "I5", entity, problem }]);
        Ok(parsed)
    }

    async fn examine_log(&mut self) -> Result<(), StoreError> {
        let entity = "the audit log".to_owned();
        let (invariant, problem) = match self.store.log_bounds().await {
            Err(error) if !self.is_damage(&error) => return Err(error),
            Err(error) => ("I5", error.to_string()),
            Ok(bounds) => {
                self.report.events = bounds.rows;
                if bounds.rows == bounds.last_seq {
                    return Ok(());
                }
                ("I7", format!("{} rows, but the last is number {}", bounds.rows, bounds.last_seq))
            }
        };
        self.report.add(vec![Finding { invariant, entity, problem }]);
        Ok(())
    }
}
