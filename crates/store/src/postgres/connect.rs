//! One connection, its settings and its prepared statements.

use std::collections::HashMap;
use std::sync::Mutex;

use futures_util::TryStreamExt;
use futures_util::future::{join_all, try_join_all};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, NoTls, Statement};

use crate::postgres::address::Address;
use crate::postgres::round::{Answer, Failed, Param, Round};

/// Every statement of ours goes by keys, from a list of them into an index, whatever the tables' sizes. A plan made
/// while a table was empty must not become a scan of all its rows when it is full, and planning each time costs more
/// than most statements. Hence: one plan per statement, and only this kind of plan. (`jit` would be triggered by the
/// costs that the planner invents for what is switched off.)
///
/// A server that hangs or lost its network gives its locks back after a while. A commit that is answered is on disk,
/// also where the database's default says otherwise.
///
/// Outside of a transaction that says it writes, nothing does: should a round's beginning be refused, what was sent behind it
/// would stand alone, and each statement be a commit of its own.
pub const SETTINGS: &str = "
    SET plan_cache_mode = force_generic_plan;
    SET enable_seqscan = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off;
    SET enable_memoize = off;
    SET jit = off;
    SET client_min_messages = warning;
    SET lock_timeout = '10s';
    SET idle_in_transaction_session_timeout = '30s';
    SET default_transaction_read_only = on;
    SET default_transaction_isolation = 'read committed';
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
";

type Driver = JoinHandle<Result<(), Error>>;

/// Connects without any setting: for a look at a server we know nothing about. An error is in words.
pub async fn connect(address: &Address) -> Result<Client, String> {
    let (client, _) = in_time(address, dial(address)).await?;
    Ok(client)
}

async fn dial(address: &Address) -> Result<(Client, Driver), Error> {
    let (client, driver) = address.config().connect(NoTls).await?;
    Ok((client, tokio::spawn(driver)))
}

/// The driver's own limit ends when there is a line; whoever is at its other end may still say nothing.
async fn in_time<T>(address: &Address, opening: impl Future<Output = Result<T, Error>>) -> Result<T, String> {
    let limit = address.opening_max();
    match timeout(limit, opening).await {
        Ok(opened) => opened.map_err(|error| address.explain(&error)),
        Err(_) => Err(format!("{address}: no answer within {} s", limit.as_secs())),
    }
}

pub struct Connection {
    client: Client,
    /// Until somebody has asked how it ended.
    driver: Mutex<Option<Driver>>,
    statements: Mutex<HashMap<&'static str, Statement>>,
}

impl Connection {
    pub async fn open(address: &Address) -> Result<Connection, String> {
        let opening = async {
            let (client, driver) = dial(address).await?;
            client.batch_execute(SETTINGS).await?;
            Ok(Connection { client, driver: Mutex::new(Some(driver)), statements: Mutex::default() })
        };
        in_time(address, opening).await
    }

    pub fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Sends all statements of the round at once and returns their rows. The server executes them in order; after one
    /// that failed, those behind it had no effect, provided that they are in one transaction.
    pub async fn run(&self, round: Round<'_>) -> Result<Vec<Answer>, Failed> {
        let texts = round.texts();
        // Prepared beforehand, all of them: one that had to be prepared within the round would be overtaken.
        let statements = self.prepare(&texts).await.map_err(Failed::before_sending)?;
        let was_closed = self.is_closed();
        let answers = statements.iter().zip(round.params()).enumerate().map(|(at, (statement, params))| {
            // Requests go out in the order in which their futures are first polled: that of this list.
            async move { self.send(statement, params).await.map_err(|error| Failed { at: Some(at), error }) }
        });
        // All are waited for: while they come in, a later answer may be seen before an earlier one, and what counts is
        // the first statement that failed, not those that failed because of it.
        let answers: Result<Vec<Answer>, Failed> = join_all(answers).await.into_iter().collect();
        match answers {
            Err(failed) if was_closed || self.ended_unasked(&failed).await => {
                Err(Failed::before_sending(failed.error))
            }
            Ok(_) | Err(_) => answers,
        }
    }

    /// The server ended the connection while it had answered everything that was sent: the driver gives an error to the
    /// request that waits for an answer, and keeps one for which there is none. Then what failed was on its way to the driver.
    async fn ended_unasked(&self, failed: &Failed) -> bool {
        if !failed.error.is_closed() {
            return false;
        }
        let driver = self.driver.lock().expect("no panic holds it").take();
        match driver {
            Some(driver) => matches!(driver.await, Ok(Err(end)) if end.as_db_error().is_some()),
            None => false,
        }
    }

    async fn send(&self, statement: &Statement, params: &[Param<'_>]) -> Result<Answer, Error> {
        let params = params.iter().map(|param| &**param as &(dyn ToSql + Sync));
        self.client.query_raw(statement, params).await?.try_collect().await
    }

    async fn prepare(&self, texts: &[&'static str]) -> Result<Vec<Statement>, Error> {
        try_join_all(texts.iter().map(|text| self.statement(text))).await
    }

    async fn statement(&self, text: &'static str) -> Result<Statement, Error> {
        if let Some(known) = self.statements.lock().expect("no panic holds it").get(text) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(text).await?;
        self.statements.lock().expect("no panic holds it").insert(text, statement.clone());
        Ok(statement)
    }
}
