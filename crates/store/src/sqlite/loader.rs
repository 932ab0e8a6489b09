//! The loader: answers the asks of one batch at a time, while the writer still saves the one before.
//!
//! A batch is open from its load until its save is handed in or given up; the next load waits for that, not for the disk.
//! It sees what is on its way to the disk as if it were there, and nothing decided on it is answered before it is.
//!
//! On the thread of whoever asks: most answers are remembered, and changing threads for them took two thirds as long again.
//! What must be read from the disk holds that thread up meanwhile.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::SendError;

use decisions::{Ask, Book};
use rusqlite::Connection;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};

use crate::StoreError;
use crate::log_groups::grouped;
use crate::sqlite::known::Known;
use crate::sqlite::syncer::Horizon;
use crate::sqlite::writer::{Write, Writer};
use crate::sqlite::{load, refused};

/// When it and all sessions are gone, the threads of writer and syncer end and close the file.
pub struct Loader {
    desk: Arc<Mutex<Desk>>,
}

/// An open batch; dropped, nothing has happened.
pub struct Session {
    desk: OwnedMutexGuard<Desk>,
}

impl Loader {
    /// `reading` and `writing` are connections to the same file, and `log` is its write-ahead log.
    pub fn start(reading: Connection, writing: Connection, log: PathBuf) -> (Loader, Horizon) {
        let (writer, horizon) = Writer::start(writing, log);
        let desk = Desk { connection: reading, writer, known: Known::default() };
        (Loader { desk: Arc::new(Mutex::new(desk)) }, horizon)
    }

    pub async fn load(&self, asks: &[Ask]) -> Result<(Book, Session), StoreError> {
        let mut desk = self.desk.clone().lock_owned().await;
        let book = desk.load(asks).await?;
        Ok((book, Session { desk }))
    }
}

impl Session {
    pub async fn save(self, book: Book) -> Result<(), StoreError> {
        let Session { mut desk } = self;
        let answer = desk.hand_in(book);
        drop(desk); // the next batch need not wait for the disk
        answer.await.unwrap_or_else(|_| Err(StoreError::Unknown("the writer stopped while it wrote".into())))
    }
}

fn stopped() -> StoreError {
    StoreError::Unavailable("the writer has stopped".into())
}

struct Desk {
    connection: Connection,
    writer: Writer,
    known: Known,
}

impl Desk {
    async fn load(&mut self, asks: &[Ask]) -> Result<Book, StoreError> {
        self.hear_news()?;
        if asks.iter().any(must_see_the_disk) {
            self.wait_for_landing().await?;
        }
        load::load(&self.connection, &self.known, asks).map_err(refused)
    }

    fn hand_in(&mut self, book: Book) -> oneshot::Receiver<Result<(), StoreError>> {
        let (reply, answer) = oneshot::channel();
        let book = Arc::new(book);
        self.known.took_off(book.clone());
        let events = grouped(&book.appended.transitions); // here, because the writer has the most to do
        let write = Write { book, events, generation: self.known.generation(), reply };
        if let Err(SendError(write)) = self.writer.writes.send(write) {
            write.answer(Err(stopped()));
        }
        answer
    }

    fn hear_news(&mut self) -> Result<(), StoreError> {
        loop {
            match self.writer.landings.try_recv() {
                Ok((generation, landing)) => self.known.landed(generation, landing),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(stopped()),
            }
        }
    }

    async fn wait_for_landing(&mut self) -> Result<(), StoreError> {
        while !self.known.nothing_is_flying() {
            let (generation, landing) = self.writer.landings.recv().await.ok_or_else(stopped)?;
            self.known.landed(generation, landing);
        }
        Ok(())
    }
}

/// Lists that are read from the tables as they stand; everything else is known by its key.
fn must_see_the_disk(ask: &Ask) -> bool {
    match ask {
        Ask::Sweep(_) | Ask::Release(_) | Ask::Succeeded(_) | Ask::Group(_) | Ask::GroupOf(..) => true,
        // By key as well, but with lists behind them, and rare enough to wait.
        Ask::VersionName(_)
        | Ask::Version(_)
        | Ask::Blob(_)
        | Ask::Bundle(_) => true,
        Ask::Tenant(_)
        | Ask::TenantName(_)
        | Ask::Run(_)
        | Ask::Plan(_)
        | Ask::Family(_)
        | Ask::NewJob(_)
        | Ask::Execution(_)
        | Ask::NewExecution(_)
        | Ask::Runner(_)
        | Ask::Trigger(..)
        | Ask::JobKey(..)
        | Ask::Ready { .. }
        | Ask::Spec(_)
        | Ask::Token(_)
        | Ask::Log(_)
        | Ask::Upload(_)
        | Ask::Content(..)
        | Ask::Usage(_)
        | Ask::Cache(_)
        // Every upload asks for it.
        | Ask::Collector
        | Ask::Collection(_)
        | Ask::Delivery(_)
        | Ask::Claim(_) => false,
    }
}
