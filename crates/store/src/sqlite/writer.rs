//! The writer's thread: one batch at a time, from `BEGIN IMMEDIATE` to a durable `COMMIT`.

use std::sync::mpsc;
use std::thread;

use decisions::{Ask, Book};
use rusqlite::{Connection, ErrorCode};
use tokio::sync::oneshot;

use crate::StoreError;
use crate::sqlite::cache::Cache;
use crate::sqlite::{load, refused, save};

/// A handle to the thread; when the last one is gone, the thread ends and closes the file.
pub struct Writer {
    requests: mpsc::Sender<Request>,
}

struct Request {
    asks: Vec<Ask>,
    reply: oneshot::Sender<Result<Book, StoreError>>,
    /// What becomes of the batch; dropped, it is rolled back.
    saves: mpsc::Receiver<Save>,
}

struct Save {
    book: Book,
    reply: oneshot::Sender<Result<(), StoreError>>,
}

/// An open write transaction. Saved, it commits; dropped, it rolls back.
pub struct Session {
    save: mpsc::Sender<Save>,
}

impl Writer {
    pub fn start(connection: Connection) -> Writer {
        let (requests, incoming) = mpsc::channel();
        thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || serve(&connection, &incoming))
            .expect("a thread can be started");
        Writer { requests }
    }

    pub async fn load(&self, asks: Vec<Ask>) -> Result<(Book, Session), StoreError> {
        let (save, saves) = mpsc::channel();
        let (reply, answer) = oneshot::channel();
        let gone = || StoreError::Unavailable("the writer has stopped".into());
        self.requests.send(Request { asks, reply, saves }).map_err(|_| gone())?;
        let book = answer.await.map_err(|_| gone())??;
        Ok((book, Session { save }))
    }
}

impl Session {
    pub async fn save(self, book: Book) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        self.save
            .send(Save { book, reply })
            .map_err(|_| StoreError::Unavailable("the writer has stopped".into()))?;
        answer.await.unwrap_or_else(|_| Err(StoreError::Unknown("the writer stopped while it wrote".into())))
    }
}

fn serve(connection: &Connection, incoming: &mpsc::Receiver<Request>) {
    let mut cache = Cache::default();
    while let Ok(request) = incoming.recv() {
        let ended = batch(connection, &mut cache, request);
        if ended.is_break() {
            return; // what the disk holds is no longer certain; only a restart reads it anew
        }
    }
}

/// One load and what follows it.
fn batch(connection: &Connection, cache: &mut Cache, request: Request) -> std::ops::ControlFlow<()> {
    use std::ops::ControlFlow::{Break, Continue};
    let loaded = begin(connection)
        .and_then(|()| cache.refresh(connection))
        .and_then(|()| load::load(connection, cache, &request.asks))
        .map_err(refused);
    let failed = loaded.is_err();
    if request.reply.send(loaded).is_err() || failed {
        roll_back(connection);
        return Continue(());
    }
    let Ok(Save { book, reply }) = request.saves.recv() else {
        roll_back(connection);
        return Continue(());
    };
    if book.is_unchanged() {
        roll_back(connection);
        let _ = reply.send(Ok(())); // whoever asked may be gone; nothing was at stake
        return Continue(());
    }
    let result = save::save(connection, &book).map_err(refused).and_then(|()| commit(connection));
    match result {
        Ok(()) => cache.committed(&book),
        Err(_) => roll_back(connection),
    }
    let uncertain = matches!(result, Err(StoreError::Unknown(_)));
    let _ = reply.send(result); // durable or not, it is as the result says, heard or not
    if uncertain { Break(()) } else { Continue(()) }
}

fn begin(connection: &Connection) -> rusqlite::Result<()> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    Ok(())
}

/// A full disk is noticed before the commit record is written; any other failure here may have come after it.
fn commit(connection: &Connection) -> Result<(), StoreError> {
    let committed = connection.prepare_cached("COMMIT").and_then(|mut statement| statement.execute([]));
    match committed {
        Ok(_) => Ok(()),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => Err(refused(error)),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Err(refused(error)),
        Err(error) => Err(StoreError::Unknown(error.to_string())),
    }
}

fn roll_back(connection: &Connection) {
    if !connection.is_autocommit() {
        // Failing, it leaves the transaction open; the next BEGIN says so, and nothing is acknowledged meanwhile.
        let _ = connection.execute_batch("ROLLBACK");
    }
}
