//! The writer's thread: one book at a time, from `BEGIN IMMEDIATE` to a durable `COMMIT`.
//!
//! Books come in the order in which they were decided, each on top of those before it. When one is not written, those
//! behind it rest on something that never was: they are conflicts, and are decided again.

use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use decisions::Book;
use rusqlite::{Connection, ErrorCode};
use tokio::sync::oneshot;

use crate::StoreError;
use crate::sqlite::known::Landing;
use crate::sqlite::{refused, save};

/// The loader's end of the thread.
pub struct Writer {
    pub writes: mpsc::Sender<Write>,
    /// What became of each book of the current generation, in order.
    pub landings: mpsc::Receiver<(u64, Landing)>,
}

pub struct Write {
    pub book: Arc<Book>,
    pub generation: u64,
    pub reply: oneshot::Sender<Result<(), StoreError>>,
}

impl Writer {
    pub fn start(connection: Connection) -> Writer {
        let (writes, incoming) = mpsc::channel();
        let (news, landings) = mpsc::channel();
        let pen = Pen { connection, news, generation: 0, data_version: None };
        thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || pen.serve(&incoming))
            .expect("a thread can be started");
        Writer { writes, landings }
    }
}

struct Pen {
    connection: Connection,
    news: mpsc::Sender<(u64, Landing)>,
    generation: u64,
    /// Changes when another connection commits, not when this one does.
    data_version: Option<i64>,
}

impl Pen {
    fn serve(mut self, incoming: &mpsc::Receiver<Write>) {
        while let Ok(write) = incoming.recv() {
            if self.take(write).is_break() {
                return; // what the disk holds is no longer certain; only a restart reads it anew
            }
        }
    }

    fn take(&mut self, Write { book, generation, reply }: Write) -> ControlFlow<()> {
        if generation != self.generation {
            let _ = reply.send(Err(conflict("the batch before it was not written"))); // nobody may be listening
            return Continue(());
        }
        let (landing, result) = match self.write(&book) {
            Ok(true) => (Landing::Durable, Ok(())),
            Ok(false) => (Landing::Foreign, Err(conflict("another process has written"))),
            Err(error) => (Landing::NotWritten, Err(error)),
        };
        if result.is_err() {
            self.roll_back();
            self.generation += 1;
        }
        let uncertain = matches!(result, Err(StoreError::Unknown(_)));
        let _ = self.news.send((generation, landing)); // the loader may have ended; it hears before the caller does
        let _ = reply.send(result); // durable or not, it is as the result says, heard or not
        if uncertain { Break(()) } else { Continue(()) }
    }

    /// False when the file is not as the book was decided on.
    fn write(&mut self, book: &Book) -> Result<bool, StoreError> {
        if book.is_unchanged() {
            return self.is_ours().map_err(refused);
        }
        self.connection
            .prepare_cached("BEGIN IMMEDIATE")
            .and_then(|mut begin| begin.execute([]))
            .map_err(refused)?;
        // From here to the end of the transaction nobody else can write.
        if !self.is_ours().map_err(refused)? {
            return Ok(false);
        }
        save::save(&self.connection, book).map_err(refused)?;
        self.commit()?;
        Ok(true)
    }

    /// Nobody else has written since the last look. The first look has nothing to compare with, and nothing was known
    /// before it.
    fn is_ours(&mut self) -> rusqlite::Result<bool> {
        let version =
            self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        let before = self.data_version.replace(version);
        Ok(before.is_none_or(|before| before == version))
    }

    /// A full disk is noticed before the commit record is written; any other failure here may have come after it.
    fn commit(&self) -> Result<(), StoreError> {
        let committed =
            self.connection.prepare_cached("COMMIT").and_then(|mut statement| statement.execute([]));
        match committed {
            Ok(_) => Ok(()),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => Err(refused(error)),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Err(refused(error)),
            Err(error) => Err(StoreError::Unknown(error.to_string())),
        }
    }

    fn roll_back(&self) {
        if !self.connection.is_autocommit() {
            // Failing, it leaves the transaction open; the next BEGIN says so, and nothing is acknowledged meanwhile.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }
}

fn conflict(what: &str) -> StoreError {
    StoreError::Conflict(what.into())
}
