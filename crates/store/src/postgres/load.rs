//! Load: the asks of a batch, answered together in three rounds and one snapshot.
//!
//! First what the asks name, then the families that follow from it, then the runs and webhooks that follow from those.

use std::collections::BTreeSet;
use std::fmt::Display;

use decisions::Ask;
use decisions::policy::CHUNK;
use decisions::records::ReadyKey;
use wire::TenantId;

use crate::postgres::filling::{Filling, Member};
use crate::postgres::pool::{Lent, Pool};
use crate::postgres::questions as sql;
use crate::postgres::round::{BEGIN_READING, COMMIT, Param, Round};
use crate::postgres::rows::{Cells, count};
use crate::postgres::tables::Versions;
use crate::postgres::wanted::Wanted;
use crate::postgres::{fault, ready};
use crate::{Loaded, StoreError};

/// What a save needs to know of its load.
pub struct Session {
    /// The open transaction that holds the candidates for leases, if there were any to hold.
    pub(super) writer: Option<Lent>,
    pub(super) versions: Versions,
}

pub async fn load(writers: &Pool, readers: &Pool, asks: &[Ask]) -> Result<Loaded<Session>, StoreError> {
    let wanted = Wanted::by(asks);
    // Before the snapshot is taken: it then shows every candidate as queued, and nobody can change that.
    let (writer, candidates) = match wanted.ready.as_slice() {
        [] => (None, BTreeSet::new()),
        asks => ready::pick(writers, asks).await.map(|(lent, candidates)| (Some(lent), candidates))?,
    };
    let mut filling = Filling::default();
    let reader = readers.take().await?;
    let questions = what_is_named(&mut filling, wanted, candidates);
    answer(&reader, &mut filling, questions).await?;
    let questions = families(&filling);
    answer(&reader, &mut filling, questions).await?;
    let questions = what_families_belong_to(&filling);
    answer(&reader, &mut filling, questions).await?;
    reader.give_back();
    let now =
        filling.now.ok_or_else(|| StoreError::Unavailable("the server does not tell the time".into()))?;
    Ok(Loaded { book: filling.book, now, session: Session { writer, versions: filling.versions } })
}

/// A statement, and what becomes of each of its rows.
struct Question {
    sql: &'static str,
    params: Vec<Param<'static>>,
    take: fn(&mut Filling, &mut Cells<'_>) -> Result<(), StoreError>,
}

async fn answer(reader: &Lent, filling: &mut Filling, questions: Vec<Question>) -> Result<(), StoreError> {
    let mut round = Round::default();
    let mut takers = Vec::with_capacity(questions.len());
    for Question { sql, params, take } in questions {
        round.push(sql, params);
        takers.push(take);
    }
    let answers = reader.connection.run(round).await.map_err(|failed| fault::not_written(&failed.error))?;
    for (take, answer) in takers.into_iter().zip(answers) {
        answer.rows.iter().try_for_each(|row| take(filling, &mut Cells::of(row)))?;
    }
    Ok(())
}

/// Adds a question, unless it would ask for nothing.
macro_rules! ask {
    ($questions:ident, $sql:expr, $take:ident, $keys:expr $(, $param:expr)*) => {
        let keys = $keys;
        if !keys.is_empty() {
            let params: Vec<Param<'static>> = vec![Box::new(keys) $(, Box::new($param))*];
            $questions.push(Question { sql: $sql, params, take: Filling::$take });
        }
    };
}

/// The first round also begins the transaction, and with it the snapshot. What can wait is kept for the second.
fn what_is_named(filling: &mut Filling, wanted: Wanted, candidates: BTreeSet<ReadyKey>) -> Vec<Question> {
    let mut asked = vec![
        Question { sql: BEGIN_READING, params: vec![], take: Filling::nothing },
        Question { sql: sql::CLOCK, params: vec![], take: Filling::clock },
    ];
    let (job_tenants, job_keys) = tenants_and_keys(wanted.job_keys);
    let (trigger_tenants, trigger_keys) = tenants_and_keys(wanted.triggers);
    ask!(asked, &sql::EXECUTIONS_BY_ID, execution, texts(&wanted.executions));
    ask!(asked, sql::JOBS_BY_KEY, job_key, job_tenants, job_keys);
    ask!(asked, &sql::RUNS_BY_TRIGGER, trigger, trigger_tenants, trigger_keys);
    ask!(asked, &sql::TENANTS_BY_ID, tenant, texts(&wanted.tenants));
    ask!(asked, &sql::TENANTS_BY_NAME, tenant_name, texts(&wanted.tenant_names));
    ask!(asked, &sql::DELIVERIES_BY_ID, delivery, texts(&wanted.deliveries));
    ask!(asked, sql::PLANS, plan, texts(&wanted.plans));
    ask!(asked, sql::SUCCEEDED, succeeded, texts(&wanted.succeeded));
    ask!(asked, sql::SWEEPS, sweep, texts(&wanted.sweeps), CHUNK as i64);
    ask!(asked, sql::RELEASES, release, texts(&wanted.releases), CHUNK as i64);
    filling.members = wanted.jobs.into_iter().map(Member::of).collect();
    filling.members.extend(candidates.iter().map(|key| Member::of(key.attempt.job)));
    filling.specs = wanted.specs;
    filling.specs.extend(candidates.iter().map(|key| key.attempt.job));
    filling.runs = wanted.runs;
    filling.runners = wanted.runners;
    filling.book.ready = candidates;
    asked
}

fn families(filling: &Filling) -> Vec<Question> {
    let mut asked = Vec::new();
    let jobs: Vec<String> = filling.members.iter().map(|member| member.job.to_string()).collect();
    let own_attempts: Vec<Option<i32>> = filling.members.iter().map(|it| it.own_attempt.map(count)).collect();
    let executions: Vec<Option<String>> =
        filling.members.iter().map(|member| member.execution.map(|id| id.to_string())).collect();
    ask!(asked, &sql::FAMILIES, family, jobs, own_attempts, executions);
    ask!(asked, &sql::RUNS_BY_ID, run, texts(&filling.runs));
    ask!(asked, &sql::RUNNERS_BY_ID, runner, texts(&filling.runners));
    ask!(asked, sql::SPECS, spec, texts(&filling.specs));
    asked
}

/// The last round also ends the transaction.
fn what_families_belong_to(filling: &Filling) -> Vec<Question> {
    let mut asked = Vec::new();
    let runs = filling.runs.iter().filter(|run| !filling.book.runs.has(run));
    ask!(asked, &sql::RUNS_BY_ID, run, texts(runs));
    ask!(asked, &sql::WEBHOOKS_BY_TENANT, webhook, texts(filling.tenants()));
    asked.push(Question { sql: COMMIT, params: vec![], take: Filling::nothing });
    asked
}

fn texts(keys: impl IntoIterator<Item = impl Display>) -> Vec<String> {
    keys.into_iter().map(|key| key.to_string()).collect()
}

fn tenants_and_keys(keys: BTreeSet<(TenantId, String)>) -> (Vec<String>, Vec<String>) {
    keys.into_iter().map(|(tenant, key)| (tenant.to_string(), key)).unzip()
}
