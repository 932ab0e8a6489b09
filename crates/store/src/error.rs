//! What can go wrong with a store, split by what the caller may do next.

/// The world failed us.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Not written: somebody moved first. Load and decide again.
    #[error("the records moved between load and save ({0})")]
    Conflict(String),
    /// Not written: a constraint of the database refused something in the batch, or a record that it asks for cannot be read.
    /// Split it.
    #[error("a record was refused ({0})")]
    Violation(String),
    /// Not written: retry later.
    #[error("the store is not available ({0})")]
    Unavailable(String),
    /// Perhaps written: only an idempotent command may be sent again.
    #[error("the store did not say whether it wrote ({0})")]
    Unknown(String),
}

/// A database that we will not open. It is left as it was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error("the database has schema version {found}, this program knows up to {known}: use a newer deltaci")]
    Newer { found: i64, known: i64 },
    #[error(
        "the database is damaged or is not one of ours ({0}): restore it from a backup; nothing was changed"
    )]
    Corrupt(String),
    #[error("the database is not one of ours ({0}): name another one; nothing was changed")]
    Foreign(String),
    /// Which of the two it is, nobody can see.
    #[error(
        "the database has no tables yet ({0}): either its first start was cut short, then start the server again, or it is a \
         copy without its log, then copy the file that ends in -wal with it"
    )]
    Unfinished(String),
    #[error(
        "{log} is the log of a database, and there is none beside it: put {database} back, or to begin anew move the log \
         away; nothing was changed"
    )]
    LogAlone { log: String, database: String },
    #[error(
        "the database may not be written to ({0}): a server has to; check the file's permissions and how its disk is mounted"
    )]
    WriteProtected(String),
    #[error("the database server is too old ({0}): PostgreSQL 15 or newer is needed")]
    ServerTooOld(String),
    #[error("the database cannot be opened ({0}): check the path, the address and the permissions")]
    Unreachable(String),
}
