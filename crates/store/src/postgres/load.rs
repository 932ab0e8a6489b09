//! Load: the asks of a batch, answered together, as of one moment.
//!
//! Mostly it is one trip, because this process wrote last and remembers: it asks for what is not remembered, and then which
//! save was the last. If that is the last of ours, as it was before, everything is of one moment.
//!
//! Else there are rounds in one snapshot. Each asks for all that is known to be needed; what comes may show that more is: the
//! family of an execution, the run of a job.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::mem::take;

use decisions::Ask;
use decisions::policy::CHUNK;
use decisions::records::ReadyKey;
use wire::TenantId;

use crate::postgres::cache::Save;
use crate::postgres::filling::{Filling, Member};
use crate::postgres::moment::{MOMENT, Moment};
use crate::postgres::pool::Lent;
use crate::postgres::questions as sql;
use crate::postgres::ready::Picked;
use crate::postgres::recall::recall;
use crate::postgres::round::{Answer, BEGIN_READING, COMMIT, Param, Round};
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
    let wanted = Wanted::by(asks);
    let Trip { writer, candidates, filling } = trip(store, &wanted).await?;
    let filling = match filling {
        Some(filling) => filling,
        None => read(store, wanted, candidates).await?,
    };
    let moment = filling.moment.ok_or_else(|| StoreError::Unavailable("event_head has no row".into()))?;
    store.cache().loaded(moment.last, filling.found);
    let session = Session { writer, versions: filling.versions };
    Ok(Loaded { book: filling.book, now: moment.now, session })
}

#[derive(Default)]
struct Trip {
    writer: Option<Lent>,
    candidates: BTreeSet<ReadyKey>,
    /// If that was enough.
    filling: Option<Filling>,
}

/// Picks candidates if any are asked for, and asks for what is not remembered, if nobody but us seems to save.
async fn trip(store: &Postgres, wanted: &Wanted) -> Result<Trip, StoreError> {
    let (is_picking, is_likely) = (!wanted.ready.is_empty(), store.cache().is_alone());
    if !is_picking && !is_likely {
        return Ok(Trip::default());
    }
    // Before we look at what we remember: a connection that is made now makes us forget.
    let lent = if is_picking { store.writers.take().await? } else { store.readers.take().await? };
    let (mut filling, believed) = believed(store, wanted, &BTreeSet::new());
    let (round, takers) = if is_likely { apart(questions(&mut filling)) } else { Default::default() };
    let Picked { candidates, answers, moment } = match is_picking {
        true => ready::pick(&lent, &wanted.ready, round).await?,
        false => look(&lent, round).await?,
    };
    // Then nobody saved between what is remembered and the last answer: all of it is of one moment.
    let is_one_moment = is_likely && believed == Some(moment.last);
    // Else what is remembered by now may be all of a later one, if nothing came from the tables.
    let is_to_be_recalled = is_likely && !is_one_moment && takers.is_empty();
    let mut trip = Trip { candidates, ..Trip::default() };
    if is_picking {
        trip.writer = Some(lent);
    } else {
        lent.give_back();
    }
    if is_to_be_recalled {
        filling = Filling::with(wanted.clone());
    }
    if is_one_moment || is_to_be_recalled {
        take_all(&mut filling, takers, answers)?;
        filling.bring_candidates(&trip.candidates);
        let is_recalled = recall_if_ours(store, moment.last, &mut filling).await;
        filling.moment = Some(moment);
        let is_whole = (is_one_moment || is_recalled) && questions(&mut filling).is_empty();
        trip.filling = is_whole.then_some(filling);
    }
    Ok(trip)
}

/// Each question sees what is there when it is asked; the moment is after all of them.
async fn look(reader: &Lent, mut questions: Round<'_>) -> Result<Picked, StoreError> {
    questions.push(MOMENT, vec![]);
    let answers = reader.connection.run(questions).await;
    let answers = answers.map_err(|failed| fault::not_written(&failed.error))?;
    let moment = Moment::shown(answers.last().expect("one answer a statement"))?;
    Ok(Picked { candidates: BTreeSet::new(), answers, moment })
}

/// What is known, should nobody else have saved since our last save, which is the second.
fn believed(store: &Postgres, wanted: &Wanted, candidates: &BTreeSet<ReadyKey>) -> (Filling, Option<Save>) {
    let mut filling = Filling::with(wanted.clone());
    filling.bring_candidates(candidates);
    let cache = store.cache();
    recall(&mut filling, &cache);
    (filling, cache.last())
}

/// All that is not remembered, in one snapshot, in as many rounds as it takes.
async fn read(
    store: &Postgres,
    wanted: Wanted,
    candidates: BTreeSet<ReadyKey>,
) -> Result<Filling, StoreError> {
    let reader = store.readers.take().await?;
    let mut filling = begin(store, &reader, wanted, candidates).await?;
    for _ in 0..ROUNDS_MAX {
        let questions = questions(&mut filling);
        if questions.is_empty() {
            break;
        }
        answer(&reader, &mut filling, questions).await?;
    }
    tokio::spawn(end(reader));
    Ok(filling)
}

/// Takes the snapshot and asks the first round, believing that nobody else has saved since our last save. If that was
/// wrong, everything is asked for, in the same snapshot.
async fn begin(
    store: &Postgres,
    reader: &Lent,
    wanted: Wanted,
    candidates: BTreeSet<ReadyKey>,
) -> Result<Filling, StoreError> {
    let (mut filling, believed) = believed(store, &wanted, &candidates);
    let mut asked = vec![
        Question { sql: BEGIN_READING, params: vec![], take: Filling::nothing },
        Question { sql: MOMENT, params: vec![], take: Filling::moment },
    ];
    asked.extend(questions(&mut filling));
    answer(reader, &mut filling, asked).await?;
    let Some(moment) = filling.moment else { return Ok(filling) };
    if believed.is_some_and(|believed| believed != moment.last) {
        filling = Filling::with(wanted);
        filling.bring_candidates(&candidates);
        filling.moment = Some(moment);
        recall_if_ours(store, moment.last, &mut filling).await;
    }
    Ok(filling)
}

/// How often others may have their turn before we believe that a save was not ours.
const TURNS_MAX: usize = 64;

/// Recalls if what the snapshot shows is the last save of ours: that of the batch before, which was committed just now. Its
/// answer may still be on its way to us. Looked at and taken at once: a later save of ours would be newer than the snapshot.
async fn recall_if_ours(store: &Postgres, seen: Save, filling: &mut Filling) -> bool {
    for _ in 0..TURNS_MAX {
        let last = {
            let cache = store.cache();
            if cache.last() == Some(seen) {
                recall(filling, &cache);
                return true;
            }
            cache.last()
        };
        // Another server's, unless it is the next after our last.
        if last.is_none_or(|last| seen.number != last.number + 1) {
            return false;
        }
        tokio::task::yield_now().await;
    }
    false
}

/// Nobody waits for the end of a transaction that has only read.
async fn end(reader: Lent) {
    let mut round = Round::default();
    round.push(COMMIT, vec![]);
    if reader.connection.run(round).await.is_ok() {
        reader.give_back();
    }
}

/// What becomes of a row.
type Take = fn(&mut Filling, &mut Cells<'_>) -> Result<(), StoreError>;

/// A statement, and what becomes of each of its rows.
pub struct Question {
    pub sql: &'static str,
    pub params: Vec<Param<'static>>,
    pub take: Take,
}

async fn answer(reader: &Lent, filling: &mut Filling, questions: Vec<Question>) -> Result<(), StoreError> {
    let (round, takers) = apart(questions);
    let answers = reader.connection.run(round).await.map_err(|failed| fault::not_written(&failed.error))?;
    take_all(filling, takers, answers)
}

fn apart(questions: Vec<Question>) -> (Round<'static>, Vec<Take>) {
    let (mut round, mut takers) = (Round::default(), Vec::with_capacity(questions.len()));
    for Question { sql, params, take } in questions {
        round.push(sql, params);
        takers.push(take);
    }
    (round, takers)
}

fn take_all(filling: &mut Filling, takers: Vec<Take>, answers: Vec<Answer>) -> Result<(), StoreError> {
    let mut all = takers.into_iter().zip(answers);
    all.try_for_each(|(take, answer)| answer.iter().try_for_each(|row| take(filling, &mut Cells::of(row))))
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
    needs.executions.append(&mut needs.wanted.new_executions);
    needs.members.extend(take(&mut needs.wanted.new_jobs).into_iter().map(Member::of));
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
    for tenant in &needs.webhooks {
        filling.found.webhooks.insert(*tenant, Vec::new());
    }
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
