//! Save: two rounds. The first changes what was loaded, provided that it has not moved; the second adds what is new and
//! commits.
//!
//! Whoever waits here waits for somebody who is further along the same order of tables and keys, so there is no
//! deadlock. Queue entries are outside that order, and are never waited for.

use decisions::Book;

use crate::StoreError;
use crate::postgres::cache::Save;
use crate::postgres::changes::{self, Check};
use crate::postgres::load::Session;
use crate::postgres::pool::Lent;
use crate::postgres::round::{ROLLBACK, Round};
use crate::postgres::{Postgres, events, fault, inserts};

pub async fn save(store: &Postgres, session: Session, book: Book) -> Result<(), StoreError> {
    let Session { writer, versions } = session;
    if book.is_unchanged() {
        if let Some(lent) = writer {
            roll_back(lent).await;
        }
        return Ok(());
    }
    let is_begun = writer.is_some();
    let lent = match writer {
        Some(lent) => lent,
        None => store.writers.take().await?,
    };
    // Both rounds are made up before anything is awaited: the book cannot be looked at from two threads.
    let (changes, checks) = changes::round(&book, &versions, is_begun);
    let inserts = inserts::round(&book, &store.cache());
    match write(&lent, changes, checks, inserts).await {
        Ok(logged) => {
            lent.give_back();
            if let Some(save) = logged {
                store.cache().saved(save, &book);
            }
            Ok(())
        }
        Err(error) => {
            store.cache().forget();
            roll_back(lent).await;
            Err(error)
        }
    }
}

async fn write(
    lent: &Lent,
    changes: Round<'_>,
    checks: Vec<Check>,
    inserts: Round<'_>,
) -> Result<Option<Save>, StoreError> {
    let answers = lent.connection.run(changes).await.map_err(|failed| fault::not_written(&failed.error))?;
    for (check, answer) in checks.iter().zip(&answers) {
        check.hold(answer)?;
    }
    let commit = inserts.len() - 1;
    match lent.connection.run(inserts).await {
        Ok(answers) => Ok(events::logged(&answers)),
        // The server said no to a statement before the commit, or the commit was not even sent.
        Err(failed) if failed.at.is_none_or(|at| at < commit && failed.error.as_db_error().is_some()) => {
            Err(fault::not_written(&failed.error))
        }
        Err(failed) => Err(fault::perhaps_written(&failed.error)),
    }
}

/// If that fails, the connection is dropped, and the server rolls back by itself.
async fn roll_back(lent: Lent) {
    let mut round = Round::default();
    round.push(ROLLBACK, vec![]);
    if lent.connection.run(round).await.is_ok() {
        lent.give_back();
    }
}
