//! Load: the asks of a batch, answered together, in one snapshot.
//!
//! Each round asks for all that is known to be needed; what comes may show that more is: the family of an execution, the
//! run of a job. Mostly it is one round, because this process wrote last and remembers.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::mem::take;

use decisions::Ask;
use decisions::policy::CHUNK;
use wire::TenantId;

use crate::postgres::cache::Save;
use crate::postgres::filling::Filling;
use crate::postgres::pool::Lent;
use crate::postgres::questions as sql;
use crate::postgres::recall::recall;
use crate::postgres::round::{BEGIN_READING, COMMIT, Param, Round};
use crate::postgres::rows::{Cells, count, scope};
use crate::postgres::tables::Versions;
use crate::postgres::wanted::Wanted;
use crate::postgres::{Postgres, artifacts, fault, ready};
use crate::{Loaded, StoreError};

/// After the first: what is named leads to families, families to runs, runs to webhooks.
const ROUNDS_MAX: usize = 4;

/// What a save needs to know of its load.
pub struct Session {
    /// The open transaction that holds the candidates for leases, if there were any to hold.
    pub(super) writer: Option<Lent>,
    pub(super) versions: Versions,
}

pub async fn load(store: &Postgres, asks: &[Ask]) -> Result<Loaded<Session>, StoreError> {
    let mut wanted = Wanted::by(asks);
    let mut writer = None;
    if !wanted.ready.is_empty() {
        // Before the snapshot is taken: it then shows every candidate as queued, and nobody can change that.
        let (lent, candidates) = ready::pick(&store.writers, &wanted.ready).await?;
        (writer, wanted.candidates) = (Some(lent), candidates);
    }
    let reader = store.readers.take().await?;
    let mut filling = begin(store, &reader, wanted).await?;
    for _ in 0..ROUNDS_MAX {
        let questions = questions(&mut filling);
        if questions.is_empty() {
            break;
        }
        answer(&reader, &mut filling, questions).await?;
    }
    tokio::spawn(end(reader));
    let moment = filling.moment;
    let (as_of, now) = moment.ok_or_else(|| StoreError::Unavailable("event_head has no row".into()))?;
    store.cache().loaded(as_of, filling.runners_found);
    Ok(Loaded { book: filling.book, now, session: Session { writer, versions: filling.versions } })
}

/// Takes the snapshot and asks the first round, believing that nobody else has written since our last save. If that was
/// wrong, everything is asked for, in the same snapshot.
async fn begin(store: &Postgres, reader: &Lent, wanted: Wanted) -> Result<Filling, StoreError> {
    let mut filling = Filling::with(wanted.clone());
    let believed = {
        let cache = store.cache();
        recall(&mut filling, &cache);
        cache.last()
    };
    let mut asked = vec![
        Question { sql: BEGIN_READING, params: vec![], take: Filling::nothing },
        Question { sql: sql::MOMENT, params: vec![], take: Filling::moment },
    ];
    asked.extend(questions(&mut filling));
    answer(reader, &mut filling, asked).await?;
    let seen = filling.moment.map(|(save, _)| save);
    if believed.is_some() && seen != believed {
        let moment = filling.moment;
        filling = Filling::with(wanted);
        filling.moment = moment;
        recall_if_ours(store, seen, &mut filling).await;
    }
    Ok(filling)
}

/// How often others may have their turn before we believe that a save was not ours.
const TURNS_MAX: usize = 64;

/// Recalls if what the snapshot shows is the last save of ours: that of the batch before, which was committed just now. Its
/// answer may still be on its way to us. Looked at and taken at once: a later save of ours would be newer than the snapshot.
async fn recall_if_ours(store: &Postgres, seen: Option<Save>, filling: &mut Filling) {
    for _ in 0..TURNS_MAX {
        let last = {
            let cache = store.cache();
            if cache.last() == seen {
                return recall(filling, &cache);
            }
            cache.last()
        };
        // Another server's, unless it is the next after our last.
        if seen.zip(last).is_none_or(|(seen, last)| seen.number != last.number + 1) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// Nobody waits for the end of a transaction that has only read.
async fn end(reader: Lent) {
    let mut round = Round::default();
    round.push(COMMIT, vec![]);
    if reader.connection.run(round).await.is_ok() {
        reader.give_back();
    }
}

/// A statement, and what becomes of each of its rows.
pub struct Question {
    pub sql: &'static str,
    pub params: Vec<Param<'static>>,
    pub take: fn(&mut Filling, &mut Cells<'_>) -> Result<(), StoreError>,
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

pub(super) use ask;

/// Everything that is needed, as far as is known; it is no longer needed afterwards.
fn questions(filling: &mut Filling) -> Vec<Question> {
    let mut needs = take(&mut filling.needs);
    let mut asked = Vec::new();
    artifacts::questions(&mut asked, &mut needs);
    asked.extend(what_is_named(needs.wanted));
    let jobs: Vec<String> = needs.members.iter().map(|member| member.job.to_string()).collect();
    let own_attempts: Vec<Option<i32>> = needs.members.iter().map(|it| it.own_attempt.map(count)).collect();
    let executions: Vec<Option<String>> =
        needs.members.iter().map(|member| member.execution.map(|id| id.to_string())).collect();
    ask!(asked, &sql::EXECUTIONS_BY_ID, execution, texts(needs.executions));
    ask!(asked, &sql::FAMILIES, family, jobs, own_attempts, executions);
    ask!(asked, &sql::RUNS_BY_ID, run, texts(needs.runs));
    let groups: Vec<Vec<u8>> = needs.groups.iter().map(|group| group.0.to_vec()).collect();
    ask!(asked, &sql::GROUPS_BY_ID, group, groups.clone());
    ask!(asked, &sql::RUNS_OF_GROUPS, group_run, groups, CHUNK as i64);
    let (runner_tenants, runners): (Vec<String>, Vec<String>) =
        needs.runners.iter().map(|key| (scope(key.tenant), key.id.to_string())).unzip();
    ask!(asked, &sql::RUNNERS_BY_KEY, runner, runner_tenants, runners);
    ask!(asked, &sql::LOGS_BY_ID, log, texts(needs.logs));
    ask!(asked, sql::SPECS, spec, texts(needs.specs));
    ask!(asked, &sql::WEBHOOKS_BY_TENANT, webhook, texts(needs.webhooks));
    asked
}

fn what_is_named(wanted: Wanted) -> Vec<Question> {
    let mut asked = Vec::new();
    let (job_tenants, job_keys) = tenants_and_keys(wanted.job_keys);
    let (trigger_tenants, trigger_keys) = tenants_and_keys(wanted.triggers);
    ask!(asked, sql::JOBS_BY_KEY, job_key, job_tenants, job_keys);
    ask!(asked, &sql::RUNS_BY_TRIGGER, trigger, trigger_tenants, trigger_keys);
    ask!(asked, &sql::TENANTS_BY_ID, tenant, texts(wanted.tenants));
    ask!(asked, &sql::TENANTS_BY_NAME, tenant_name, texts(wanted.tenant_names));
    ask!(asked, &sql::DELIVERIES_BY_ID, delivery, texts(wanted.deliveries));
    ask!(asked, sql::LANE_HEADS, lane_head, texts(wanted.claims));
    ask!(asked, &sql::TOKENS_BY_ID, token, texts(wanted.tokens));
    ask!(asked, sql::PLANS, plan, texts(wanted.plans));
    ask!(asked, sql::SUCCEEDED, succeeded, texts(wanted.succeeded));
    ask!(asked, sql::SWEEPS, sweep, texts(wanted.sweeps), CHUNK as i64);
    ask!(asked, sql::RELEASES, release, texts(wanted.releases), CHUNK as i64);
    asked
}

pub fn texts(keys: impl IntoIterator<Item = impl Display>) -> Vec<String> {
    keys.into_iter().map(|key| key.to_string()).collect()
}

fn tenants_and_keys(keys: BTreeSet<(TenantId, String)>) -> (Vec<String>, Vec<String>) {
    keys.into_iter().map(|(tenant, key)| (tenant.to_string(), key)).unzip()
}
