//! What the server's errors mean for the batch: decide again, split it, wait, or ask what happened.

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::StoreError;

/// Keys that somebody else may have taken since the load; whoever decides again finds theirs. The other unique indexes
/// are invariants, which no race can break.
const TAKEN_BY_OTHERS: &[&str] = &[
    "tenants_pkey",
    "tenants_name_key",
    "webhooks_pkey",
    "queues_pkey",
    "runners_pkey",
    "run_groups_pkey",
    "runs_pkey",
    "runs_trigger",
    "jobs_pkey",
    "jobs_key",
    "attempts_pkey",
    "executions_pkey",
    "deliveries_pkey",
    "tokens_pkey",
    "logs_pkey",
    "uploads_pkey",
    "blobs_pkey",
    "blobs_digest",
    "possessions_pkey",
    "usages_pkey",
    "versions_pkey",
    "versions_name",
    "bundles_pkey",
    "caches_pkey",
    "collections_pkey",
    "collections_running",
    "collector_pkey",
];

/// An error that certainly left nothing written.
pub fn not_written(error: &Error) -> StoreError {
    match error.as_db_error() {
        Some(refused) => classify(refused),
        None => StoreError::Unavailable(error.to_string()),
    }
}

/// The server has closed the connection with it: nothing that was sent behind is carried out.
pub fn is_the_end(refused: &DbError) -> bool {
    matches!(refused.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
}

/// An error after the commit was sent, from the commit itself or because the connection is gone.
pub fn perhaps_written(error: &Error) -> StoreError {
    StoreError::Unknown(match error.as_db_error() {
        Some(refused) => describe(refused),
        None => error.to_string(),
    })
}

fn classify(refused: &DbError) -> StoreError {
    let text = describe(refused);
    match refused.code() {
        &SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED => StoreError::Conflict(text),
        &SqlState::UNIQUE_VIOLATION
            if refused.constraint().is_some_and(|it| TAKEN_BY_OTHERS.contains(&it)) =>
        {
            StoreError::Conflict(text)
        }
        // 23: a constraint. 22: a value that cannot be stored, such as a zero byte in a text. 54: one that is too big,
        // such as a long key. All of them lie in a record, so the batch without that record will pass.
        code if ["22", "23", "54"].iter().any(|class| code.code().starts_with(class)) => {
            StoreError::Violation(text)
        }
        _ => StoreError::Unavailable(text),
    }
}

/// Code, message and constraint. Not the detail: it quotes values.
fn describe(refused: &DbError) -> String {
    let constraint = refused.constraint().map(|name| format!(", {name}")).unwrap_or_default();
    format!("{}: {}{constraint}", refused.code().code(), refused.message())
}
