//! The writer's thread: books, from `BEGIN IMMEDIATE` to `COMMIT`. Whoever waits for them hears of it from the syncer.
//!
//! Books come in the order in which they were decided, each on top of those before it, and those that wait share a commit.
//! What comes while they are written goes into the next: if one commit took all that is under way, nobody would have
//! anything to do during its sync. When a book is not written, those behind it rest on something that never was: they are
//! conflicts, and are decided again.

use std::iter;
use std::ops::ControlFlow::{self, Break, Continue};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use decisions::Book;
use rusqlite::{Connection, ErrorCode};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;

use crate::StoreError;
use crate::log_groups::Group;
use crate::sqlite::known::Landing;
use crate::sqlite::syncer::{Fate, Flight, Horizon, Syncer};
use crate::sqlite::{refused, save, wal};

/// The loader's end of it. Dropped, it waits until the file is put away and closed.
pub struct Writer {
    pub writes: mpsc::Sender<Write>,
    /// What became of each book of the current generation, in order.
    pub landings: UnboundedReceiver<(u64, Landing)>,
    /// Dropped last: the thread ends when nobody can send it anything.
    _thread: Joined,
}

struct Joined(Option<JoinHandle<()>>);

impl Drop for Joined {
    fn drop(&mut self) {
        let _ = self.0.take().map(JoinHandle::join); // if it panicked, that was said
    }
}

pub struct Write {
    pub book: Arc<Book>,
    /// The book's transitions, as they are stored.
    pub events: Vec<Group>,
    pub generation: u64,
    pub reply: oneshot::Sender<Result<(), StoreError>>,
}

impl Write {
    /// Durable or not, it is as the result says, heard or not.
    pub fn answer(self, result: Result<(), StoreError>) {
        let _ = self.reply.send(result);
    }
}

impl Writer {
    /// `log` is where SQLite puts what this connection commits.
    pub fn start(connection: Connection, log: PathBuf) -> (Writer, Horizon) {
        let (writes, incoming) = mpsc::channel();
        let (news, landings) = unbounded_channel();
        let (flights, horizon, syncer) = Syncer::start(log, news);
        // Before anything is read by it: what others write from here on is noticed, also by the first book.
        let data_version = data_version(&connection).ok();
        let pen = Pen {
            connection,
            flights,
            syncer,
            horizon: horizon.clone(),
            generation: 0,
            data_version,
            unsynced: true,
        };
        let thread = thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || pen.serve(&incoming))
            .expect("a thread can be started");
        (Writer { writes, landings, _thread: Joined(Some(thread)) }, horizon)
    }
}

struct Pen {
    connection: Connection,
    flights: mpsc::Sender<Flight>,
    syncer: JoinHandle<bool>,
    horizon: Horizon,
    generation: u64,
    /// Changes when another connection commits, not when this one does.
    data_version: Option<i64>,
    /// Another process has committed, and we do not know that it is on the disk; or may have, since the file was opened.
    unsynced: bool,
}

/// Why a book is not written.
#[derive(Clone)]
enum Refused {
    /// The file is not as it was decided on.
    Foreign,
    Failed(StoreError),
}

impl From<rusqlite::Error> for Refused {
    fn from(error: rusqlite::Error) -> Refused {
        Refused::Failed(refused(error))
    }
}

impl Refused {
    fn fate(self) -> Fate {
        match self {
            Refused::Foreign => Fate::NotWritten(Landing::Foreign, conflict("another process has written")),
            Refused::Failed(error) => Fate::NotWritten(Landing::NotWritten, error),
        }
    }
}

/// The most books in one transaction.
const TOGETHER_MAX: usize = 64;

impl Pen {
    fn serve(mut self, incoming: &mpsc::Receiver<Write>) {
        while let Ok(first) = incoming.recv() {
            let waiting = iter::from_fn(|| incoming.try_recv().ok());
            let writes = iter::once(first).chain(waiting).take(TOGETHER_MAX).collect();
            if self.take(writes).is_break() {
                return; // what the disk holds is no longer certain; a restart writes the log anew
            }
        }
        self.put_away();
    }

    /// Everybody has gone, and all that was committed is on the disk, if the syncer says so.
    fn put_away(self) {
        drop(self.flights);
        if self.syncer.join().unwrap_or(false) {
            let _ = wal::put_away_on_close(&self.connection, true); // if not, the next start finds the log
        }
    }

    /// All of them in one commit.
    fn take(&mut self, writes: Vec<Write>) -> ControlFlow<()> {
        let before = self.horizon.newest();
        let (mut written, mut failed, mut stranded) = (Vec::new(), None, Vec::new());
        for write in writes {
            if failed.is_some() || write.generation != self.generation {
                stranded.push((write, Fate::Stranded(conflict("the batch before it was not written"))));
                continue;
            }
            match self.write(&write) {
                Ok(()) => written.push(write),
                Err(refused) => failed = Some((write, refused.fate())),
            }
        }
        let committed = if failed.is_some() { self.commit_only(&written) } else { self.commit() };
        let uncertain = matches!(committed, Err(Refused::Failed(StoreError::Unknown(_))));
        if committed.is_err() || failed.is_some() {
            self.roll_back();
            self.generation += 1;
        }
        let fate = |write| match &committed {
            Ok(()) => (write, Fate::Written),
            Err(refused) => (write, refused.clone().fate()),
        };
        let books = written.into_iter().map(fate).chain(failed).chain(stranded).collect();
        let newest = self.horizon.newest();
        let told = self.flights.send(Flight { commit: (newest > before).then_some(newest), books });
        // A transaction that cannot be undone must not be gone on with.
        let stuck = !self.connection.is_autocommit();
        if told.is_err() || uncertain || stuck { Break(()) } else { Continue(()) }
    }

    /// Into the open transaction, or a new one.
    fn write(&mut self, Write { book, events, .. }: &Write) -> Result<(), Refused> {
        if self.connection.is_autocommit() {
            if book.is_unchanged() {
                self.require_ours()?;
                if self.unsynced {
                    self.horizon.begin(); // what it answers by may be another process's: a sync is due all the same
                }
                return Ok(());
            }
            self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
            // From here to the end of the transaction nobody else can write.
            self.require_ours()?;
        }
        Ok(save::save(&self.connection, book, events)?)
    }

    /// Without the book that failed: from the start, because it may have left half of itself.
    fn commit_only(&mut self, written: &[Write]) -> Result<(), Refused> {
        self.roll_back();
        written.iter().try_for_each(|write| self.write(write))?;
        self.commit()
    }

    /// Nobody else has written since the last look.
    fn require_ours(&mut self) -> Result<(), Refused> {
        let version = data_version(&self.connection)?;
        let before = self.data_version.replace(version);
        if before.is_none_or(|before| before == version) {
            return Ok(());
        }
        self.unsynced = true;
        Err(Refused::Foreign)
    }

    /// A full disk is noticed before the commit record is written; any other failure here may have come after it.
    fn commit(&mut self) -> Result<(), Refused> {
        if self.connection.is_autocommit() {
            return Ok(()); // nobody changed anything
        }
        self.horizon.begin();
        self.unsynced = false; // one log, one sync
        let committed =
            self.connection.prepare_cached("COMMIT").and_then(|mut statement| statement.execute([]));
        match committed {
            Ok(_) => Ok(()),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => Err(error.into()),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Err(error.into()),
            Err(error) => Err(Refused::Failed(StoreError::Unknown(error.to_string()))),
        }
    }

    fn roll_back(&self) {
        if !self.connection.is_autocommit() {
            // Failing, it leaves the transaction open, and nothing more is written.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }
}

fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

fn conflict(what: &str) -> StoreError {
    StoreError::Conflict(what.into())
}
