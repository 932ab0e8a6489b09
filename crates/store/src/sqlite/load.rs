//! Answers the asks of a batch, by key. What the book has, or this process wrote last, is not read again.

use std::collections::BTreeSet;
use std::sync::Arc;

use decisions::policy::CHUNK;
use decisions::records::{AttemptKey, Delivery, Execution, Job, ReadyKey, RunnerKey, Token, Webhook};
use decisions::{Ask, Book};
use rusqlite::Connection;
use wire::{ExecId, JobId, MessageId, RunId, TenantId, TokenId};

use crate::candidates::{ReadyAsk, best, counts_by_queue, ready_asks};
use crate::sqlite::known::{BlobMoves, Known};
use crate::sqlite::{logs, outbox, rows, tokens};

pub fn load(connection: &Connection, known: &Known, asks: &[Ask]) -> rusqlite::Result<Book> {
    let mut loader = Loader { connection, known, book: Book::default(), moves: None };
    for ask in asks {
        loader.answer(ask)?;
    }
    loader.ready(&ready_asks(asks))?;
    loader.bring_webhooks()?;
    Ok(loader.book)
}

pub struct Loader<'a> {
    pub connection: &'a Connection,
    pub known: &'a Known,
    pub book: Book,
    /// Where the books on their way leave blobs; made when it is first asked for.
    pub moves: Option<BlobMoves>,
}

impl Loader<'_> {
    fn answer(&mut self, ask: &Ask) -> rusqlite::Result<()> {
        match ask {
            Ask::Tenant(id) => self.tenant(*id),
            Ask::TenantName(name) => self.tenant_name(name),
            Ask::Run(id) => self.run(*id),
            Ask::Plan(id) => self.plan(*id),
            Ask::Succeeded(id) => self.succeeded(*id),
            Ask::Group(id) => self.group(*id),
            Ask::GroupOf(run, name) => self.group_of(*run, name.as_deref()),
            Ask::Family(id) => self.family(*id),
            Ask::Execution(id) => self.execution_family(*id),
            // If it is there all the same, its key is taken, and the writer says so.
            Ask::NewJob(id) if self.known.recall::<Job>(id).is_none() => Ok(()),
            Ask::NewJob(id) => self.family(*id),
            Ask::NewExecution(id) if self.known.recall::<Execution>(id).is_none() => Ok(()),
            Ask::NewExecution(id) => self.execution_family(*id),
            Ask::Runner(key) => self.runner(key),
            Ask::Trigger(tenant, key) => self.trigger(*tenant, key),
            Ask::JobKey(tenant, key) => self.job_key(*tenant, key),
            Ask::Ready { .. } => Ok(()), // answered together: they compete for the same attempts
            Ask::Spec(id) => self.spec(*id),
            Ask::Sweep(id) => self.sweep(*id),
            Ask::Release(id) => self.release(*id),
            Ask::Delivery(id) => self.delivery(*id),
            Ask::Claim(id) => self.claim(*id),
            Ask::Token(id) => self.token(*id),
            Ask::Log(id) => self.log(*id),
            Ask::Upload(id) => self.upload(*id),
            Ask::Content(tenant, digest) => self.content(*tenant, *digest),
            Ask::Usage(tenant) => self.usage(*tenant),
            Ask::VersionName(name) => self.version_name(name),
            Ask::Version(id) => self.version(*id),
            Ask::Blob(id) => self.possessed(*id),
            Ask::Bundle(id) => self.bundle(*id),
            Ask::Cache(name) => self.cache(name),
            Ask::Collector => self.collector(),
            Ask::Collection(id) => self.collection(*id),
        }
    }

    pub fn tenant(&mut self, id: TenantId) -> rusqlite::Result<()> {
        if !self.book.tenants.has(&id)
            && let Some(tenant) = or_read(self.known.recall(&id), || rows::tenant(self.connection, id))?
        {
            self.book.tenants.bring(tenant);
        }
        Ok(())
    }

    fn tenant_name(&mut self, name: &str) -> rusqlite::Result<()> {
        if let Some(id) = self.known.tenant_named(name) {
            self.book.tenant_names.insert(name.into(), id);
            return self.tenant(id);
        }
        let sql = joined(rows::TENANT, " WHERE name = ?1");
        if let Some(tenant) = rows::one(self.connection, &sql, [name], rows::read_tenant)? {
            self.book.tenant_names.insert(name.into(), tenant.id);
            self.book.tenants.bring(tenant);
        }
        Ok(())
    }

    pub fn run(&mut self, id: RunId) -> rusqlite::Result<()> {
        if !self.book.runs.has(&id)
            && let Some(run) = or_read(self.known.recall(&id), || rows::run(self.connection, id))?
        {
            self.book.runs.bring(run);
        }
        Ok(())
    }

    fn plan(&mut self, id: RunId) -> rusqlite::Result<()> {
        let sql = "SELECT plan FROM run_plans WHERE run_id = ?1";
        let read = || rows::one(self.connection, sql, [id.text().as_str()], |row| row.get::<_, String>(0));
        let plan: Option<Arc<str>> = or_read(self.known.plan(id), read)?;
        self.book.plans.extend(plan.map(|plan| (id, plan)));
        Ok(())
    }

    fn succeeded(&mut self, id: RunId) -> rusqlite::Result<()> {
        let sql = "SELECT name, id FROM jobs WHERE run_id = ?1 AND state = 'SUCCEEDED'";
        let jobs: Vec<(String, JobId)> = rows::all(self.connection, sql, [id.text().as_str()], |row| {
            Ok((row.get(0)?, rows::id(row, 1)?))
        })?;
        self.book.succeeded.insert(id, jobs.into_iter().collect());
        Ok(())
    }

    fn family(&mut self, id: JobId) -> rusqlite::Result<()> {
        if !self.book.jobs.has(&id) {
            let job = or_read(self.known.recall(&id), || rows::job(self.connection, id))?;
            let Some(job) = job else { return Ok(()) };
            self.book.jobs.bring(job);
        }
        let job = self.book.jobs.peek(&id).expect("it was brought just now");
        let (key, run) = (AttemptKey { job: id, index: job.attempts }, job.run);
        if let Some(run) = run {
            self.run(run)?;
        }
        self.attempt(key)?;
        match self.book.attempts.peek(&key).and_then(|attempt| attempt.execution) {
            Some(execution) => self.execution(execution),
            None => Ok(()),
        }
    }

    fn attempt(&mut self, key: AttemptKey) -> rusqlite::Result<()> {
        if !self.book.attempts.has(&key)
            && let Some(attempt) = or_read(self.known.recall(&key), || rows::attempt(self.connection, key))?
        {
            self.book.attempts.bring(attempt);
        }
        Ok(())
    }

    fn execution_family(&mut self, id: ExecId) -> rusqlite::Result<()> {
        self.execution(id)?;
        let Some(execution) = self.book.executions.peek(&id) else { return Ok(()) };
        let key = execution.attempt;
        self.attempt(key)?;
        self.family(key.job)?;
        let (execution, job) = (self.book.executions.peek(&id), self.book.jobs.peek(&key.job));
        match execution.zip(job).map(|(execution, job)| execution.runner_key(job.tenant)) {
            Some(runner) => self.runner(&runner),
            None => Ok(()),
        }
    }

    fn execution(&mut self, id: ExecId) -> rusqlite::Result<()> {
        if !self.book.executions.has(&id)
            && let Some(execution) = or_read(self.known.recall(&id), || rows::execution(self.connection, id))?
        {
            self.book.executions.bring(execution);
        }
        Ok(())
    }

    fn runner(&mut self, key: &RunnerKey) -> rusqlite::Result<()> {
        if !self.book.runners.has(key)
            && let Some(runner) = or_read(self.known.recall(key), || rows::runner(self.connection, key))?
        {
            self.book.runners.bring(runner);
        }
        Ok(())
    }

    fn token(&mut self, id: TokenId) -> rusqlite::Result<()> {
        let read = || tokens::token(self.connection, id);
        if let Some(token) = or_read(self.known.flying::<Token>(&id), read)? {
            self.book.tokens.bring(token);
        }
        Ok(())
    }

    fn log(&mut self, id: ExecId) -> rusqlite::Result<()> {
        if let Some(log) = or_read(self.known.recall(&id), || logs::log(self.connection, id))? {
            self.book.logs.bring(log);
        }
        Ok(())
    }

    fn trigger(&mut self, tenant: TenantId, key: &str) -> rusqlite::Result<()> {
        if let Some(id) = self.known.run_triggered(&(tenant, key.into())) {
            self.book.triggers.insert((tenant, key.into()), id);
            return self.run(id);
        }
        let sql = joined(rows::RUN, " WHERE tenant_id = ?1 AND trigger_key = ?2");
        if let Some(run) = rows::one(self.connection, &sql, (tenant.text().as_str(), key), rows::read_run)? {
            self.book.triggers.insert((tenant, key.into()), run.id);
            self.book.runs.bring(run);
        }
        Ok(())
    }

    fn job_key(&mut self, tenant: TenantId, key: &str) -> rusqlite::Result<()> {
        let sql = "SELECT id FROM jobs WHERE tenant_id = ?1 AND job_key = ?2";
        let read = || rows::one(self.connection, sql, (tenant.text().as_str(), key), rows::read_id::<JobId>);
        let id = self.known.job_keyed(&(tenant, key.into())).map_or_else(read, |id| Ok(Some(id)))?;
        if let Some(id) = id {
            self.book.job_keys.insert((tenant, key.into()), id);
            self.family(id)?;
        }
        Ok(())
    }

    fn ready(&mut self, asks: &[ReadyAsk]) -> rusqlite::Result<()> {
        let sql = joined(rows::READY, " WHERE queue_id = ?1 ORDER BY rank, since, job_id, attempt LIMIT ?2");
        if asks.is_empty() {
            return Ok(());
        }
        let moves = self.known.queue_moves();
        let mut found: BTreeSet<ReadyKey> = BTreeSet::new();
        for (queue, count) in counts_by_queue(asks) {
            // The table may or may not show the moves of books on their way; afterwards the list does.
            let count = count + moves.left.iter().filter(|key| key.queue == queue).count();
            found.extend(rows::all(self.connection, &sql, (queue.0, count as i64), rows::read_ready)?);
            found.extend(moves.entered.iter().filter(|key| key.queue == queue));
        }
        found.retain(|key| !moves.left.contains(key));
        let found: Vec<ReadyKey> = found.into_iter().collect();
        for key in best(asks, &found) {
            self.book.ready.insert(key);
            self.family(key.attempt.job)?;
            self.spec(key.attempt.job)?;
        }
        Ok(())
    }

    fn spec(&mut self, id: JobId) -> rusqlite::Result<()> {
        if self.book.specs.contains_key(&id) {
            return Ok(());
        }
        let sql = "SELECT spec FROM job_specs WHERE job_id = ?1";
        let read = || rows::one(self.connection, sql, [id.text().as_str()], |row| row.get::<_, String>(0));
        let spec: Option<Arc<str>> = or_read(self.known.spec(id), read)?;
        self.book.specs.extend(spec.map(|spec| (id, spec)));
        Ok(())
    }

    fn sweep(&mut self, id: RunId) -> rusqlite::Result<()> {
        self.run(id)?;
        let Some(run) = self.book.runs.peek(&id) else { return Ok(()) };
        let after = run.swept_to.unwrap_or(JobId::FIRST);
        let sql = "SELECT id FROM jobs WHERE run_id = ?1 AND id > ?2 \
                   AND state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELED') ORDER BY id LIMIT ?3";
        let params = (id.text().as_str().to_owned(), after.text().as_str().to_owned(), CHUNK as i64);
        let jobs = rows::all(self.connection, sql, params, rows::read_id::<JobId>)?;
        jobs.iter().try_for_each(|job| self.family(*job))?;
        self.book.sweeps.insert(id, jobs);
        Ok(())
    }

    fn release(&mut self, id: JobId) -> rusqlite::Result<()> {
        self.family(id)?;
        let Some(job) = self.book.jobs.peek(&id) else { return Ok(()) };
        let after = job.released_to.unwrap_or(JobId::FIRST);
        let sql = "SELECT dependent_id FROM job_needs WHERE needed_id = ?1 AND dependent_id > ?2 \
                   ORDER BY dependent_id LIMIT ?3";
        let params = (id.text().as_str().to_owned(), after.text().as_str().to_owned(), CHUNK as i64);
        let jobs = rows::all(self.connection, sql, params, rows::read_id::<JobId>)?;
        jobs.iter().try_for_each(|job| self.family(*job))?;
        self.book.dependents.insert(id, jobs);
        Ok(())
    }

    fn delivery(&mut self, id: MessageId) -> rusqlite::Result<()> {
        let sql = joined(rows::DELIVERY, " WHERE id = ?1");
        let read = || rows::one(self.connection, &sql, [id.text().as_str()], rows::read_delivery);
        let delivery = or_read(self.known.flying::<Delivery>(&id), read)?;
        let Some(delivery) = delivery else { return Ok(()) };
        let reports = delivery.reports;
        self.book.deliveries.bring(delivery);
        match reports {
            Some(run) => self.run(run),
            None => Ok(()),
        }
    }

    fn claim(&mut self, id: MessageId) -> rusqlite::Result<()> {
        self.delivery(id)?;
        let Some(asked) = self.book.deliveries.peek(&id).filter(|it| it.is_ordered()) else { return Ok(()) };
        let head = outbox::lane_head(self.connection, self.known, asked)?;
        self.book.lane_heads.extend(head.map(|head| (id, head)));
        Ok(())
    }

    fn bring_webhooks(&mut self) -> rusqlite::Result<()> {
        let of_jobs = self.book.jobs.peek_all().map(|job| job.tenant);
        let of_runs = self.book.runs.peek_all().map(|run| run.tenant);
        let of_versions = self.book.versions.peek_all().map(|version| version.name.tenant);
        let of_tenants = self.book.tenants.peek_all().map(|tenant| tenant.id);
        let tenants: BTreeSet<TenantId> =
            of_jobs.chain(of_runs).chain(of_versions).chain(of_tenants).collect();
        let sql = joined(rows::WEBHOOK, " WHERE tenant_id = ?1");
        let flying =
            self.known.all_flying::<Webhook>().filter(|webhook| tenants.contains(&webhook.key.tenant));
        for webhook in flying {
            self.book.webhooks.bring(webhook.clone());
        }
        for tenant in tenants {
            for webhook in rows::all(self.connection, &sql, [tenant.text().as_str()], rows::read_webhook)? {
                self.book.webhooks.bring(webhook);
            }
        }
        Ok(())
    }
}

/// What is remembered, or else what the file says.
pub fn or_read<R: ?Sized, T: Into<Arc<R>>>(
    known: Option<&Arc<R>>,
    read: impl FnOnce() -> rusqlite::Result<Option<T>>,
) -> rusqlite::Result<Option<Arc<R>>> {
    known.cloned().map_or_else(|| Ok(read()?.map(T::into)), |record| Ok(Some(record)))
}

/// The statement cache goes by text; joining two constants costs less than parsing SQL again.
fn joined(select: &str, rest: &str) -> String {
    [select, rest].concat()
}
