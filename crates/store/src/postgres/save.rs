//! Save: one trip. What was loaded is changed, or held still, provided that it has not moved; then comes what is new, the
//! audit log, and the commit. A statement that fails takes the rest with it: the commit behind it commits nothing.
//!
//! Whoever waits here waits for somebody who is further along the same order of tables and keys, so there is no
//! deadlock; what is new comes in the order of the keys that others may take beside its id. Queue entries are outside that
//! order, and are never waited for. Should there be a deadlock all the same, it is a conflict.

use decisions::Book;

use crate::StoreError;
use crate::postgres::cache::{Cache, Save};
use crate::postgres::load::Session;
use crate::postgres::pool::Lent;
use crate::postgres::round::{BEGIN, COMMIT, ROLLBACK, Round};
use crate::postgres::tables::Versions;
use crate::postgres::{Postgres, changes, events, fault, inserts};

pub async fn save(store: &Postgres, session: Session, book: Book) -> Result<(), StoreError> {
    let Session { writer, versions } = session;
    if book.is_unchanged() {
        if let Some(lent) = writer {
            roll_back(lent).await;
        }
        return Ok(());
    }
    let mut round = Round::default();
    let lent = match writer {
        Some(lent) => lent,
        None => {
            round.push(BEGIN, vec![]);
            store.writers.take().await?
        }
    };
    fill(&mut round, &book, &versions, &store.cache());
    match write(&lent, round).await {
        Ok(logged) => {
            lent.give_back();
            if let Some(save) = logged {
                store.cache().saved(save, &book);
            }
            Ok(())
        }
        Err(error) => {
            store.cache().forget();
            match error {
                StoreError::Conflict(_) | StoreError::Violation(_) => roll_back(lent).await,
                // Whatever ails that server, the next save may find another one: a connection that was kept would lead to
                // a server that cannot write for as long as that one lives.
                StoreError::Unavailable(_) | StoreError::Unknown(_) => drop(lent),
            }
            Err(error)
        }
    }
}

/// The last two statements are the log and the commit.
fn fill<'a>(round: &mut Round<'a>, book: &'a Book, versions: &Versions, cache: &Cache) {
    changes::push(round, book, versions);
    inserts::push(round, book, cache);
    events::log(round, &book.appended.transitions);
    round.push(COMMIT, vec![]);
}

async fn write(lent: &Lent, round: Round<'_>) -> Result<Option<Save>, StoreError> {
    let commit = round.len() - 1;
    let failed = match lent.connection.run(round).await {
        Ok(answers) => return Ok(events::logged(&answers)),
        Err(failed) => failed,
    };
    // Nothing was even sent, or the server said no to a statement before the commit. Also to the beginning: what comes behind
    // stands alone then, and may not write.
    let is_undone = match (failed.at, failed.error.as_db_error()) {
        (None, _) => true,
        (Some(at), Some(no)) => at < commit && fault::is_of_the_server(no),
        (Some(_), None) => false,
    };
    Err(if is_undone { fault::not_written(&failed.error) } else { fault::perhaps_written(&failed.error) })
}

/// If that fails, the connection is dropped, and the server rolls back by itself.
async fn roll_back(lent: Lent) {
    let mut round = Round::default();
    round.push(ROLLBACK, vec![]);
    if lent.connection.run(round).await.is_ok() {
        lent.give_back();
    }
}
