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

/// The ends that a server announces for itself, between two statements or in the middle of one: it is shut down (57P01 to
/// 57P03), the database is dropped (57P04), the session or its transaction was idle for too long (57P05, 25P03), or the
/// transaction took too long (25P04, since PostgreSQL 17).
const ENDS: &[&str] = &["57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "25P04"];

/// An error that certainly left nothing written.
pub fn not_written(error: &Error) -> StoreError {
    match error.as_db_error() {
        Some(refused) => classify(refused),
        None => StoreError::Unavailable(error.to_string()),
    }
}

/// A no of the server itself, so nothing that was sent behind the statement is carried out. What ends the connection may
/// come from something in between, a pooler, which has lost its server and does not know how far that one came.
pub fn is_of_the_server(refused: &DbError) -> bool {
    says_how_far(refused.parsed_severity(), refused.code())
}

fn says_how_far(severity: Option<Severity>, code: &SqlState) -> bool {
    match severity {
        Some(Severity::Error) => true,
        Some(Severity::Fatal) => ENDS.contains(&code.code()),
        Some(
            Severity::Panic
            | Severity::Warning
            | Severity::Notice
            | Severity::Debug
            | Severity::Info
            | Severity::Log,
        )
        | None => false,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_believed_only_from_the_server_itself() {
        let believed = |severity, code| says_how_far(Some(severity), &SqlState::from_code(code));
        for refused in ["23505", "40001", "25006", "53100", "08P01"] {
            assert!(believed(Severity::Error, refused), "{refused}");
        }
        for end in ["57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "25P04"] {
            assert!(believed(Severity::Fatal, end), "{end}");
        }
        for end in ["08P01", "08006", "53300", "58000", "XX000", "28000", "57014"] {
            assert!(!believed(Severity::Fatal, end), "{end}");
        }
        assert!(!believed(Severity::Panic, "57P01"));
        assert!(!says_how_far(None, &SqlState::ADMIN_SHUTDOWN));
    }
}
