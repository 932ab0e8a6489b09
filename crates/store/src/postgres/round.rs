//! A round: statements that are sent together, so that they cost one trip to the server.

use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

/// One parameter: mostly an array, with an element per row.
pub type Param<'a> = Box<dyn ToSql + Sync + Send + 'a>;

#[derive(Default)]
pub struct Round<'a>(Vec<(&'static str, Vec<Param<'a>>)>);

impl<'a> Round<'a> {
    pub fn push(&mut self, sql: &'static str, params: Vec<Param<'a>>) {
        self.0.push((sql, params));
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn texts(&self) -> Vec<&'static str> {
        self.0.iter().map(|(sql, _)| *sql).collect()
    }

    pub fn params(&self) -> impl Iterator<Item = &[Param<'a>]> {
        self.0.iter().map(|(_, params)| params.as_slice())
    }
}

/// What the server says to one statement.
pub type Answer = Vec<Row>;

/// A round that failed.
pub struct Failed {
    /// The statement that failed; none if it was not sent, nor anything behind it.
    pub at: Option<usize>,
    pub error: Error,
}

impl Failed {
    pub fn before_sending(error: Error) -> Failed {
        Failed { at: None, error }
    }
}

/// Says all that a role or a database may have another default for. Outside of it nothing can be written: see the settings
/// of a connection.
pub const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
/// Every statement sees the same moment.
pub const BEGIN_READING: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
pub const COMMIT: &str = "COMMIT";
pub const ROLLBACK: &str = "ROLLBACK";
