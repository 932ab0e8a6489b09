//! The loader's thread: answers the asks of one batch at a time, while the writer still saves the one before.
//!
//! A batch is open from its load until its save is handed in or given up; the next load waits for that, not for the disk.
//! It sees what is on its way to the disk as if it were there, and nothing decided on it is answered before it is.

use std::sync::Arc;
use std::sync::mpsc::{self, TryRecvError};
use std::thread::{self, JoinHandle};

use decisions::{Ask, Book};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::StoreError;
use crate::log_groups::grouped;
use crate::sqlite::known::Known;
use crate::sqlite::writer::{Write, Writer};
use crate::sqlite::{load, refused};

/// A handle to the thread; when the last one is gone, both threads end and close the file.
pub struct Loader {
    requests: mpsc::Sender<Request>,
    threads: [JoinHandle<()>; 2],
}

struct Request {
    asks: Vec<Ask>,
    reply: oneshot::Sender<Result<Book, StoreError>>,
    /// What becomes of the batch; dropped, nothing has happened.
    saves: mpsc::Receiver<Save>,
}

struct Save {
    book: Book,
    reply: oneshot::Sender<Result<(), StoreError>>,
}

/// An open batch.
pub struct Session {
    save: mpsc::Sender<Save>,
}

impl Loader {
    /// `reading` and `writing` are connections to the same file.
    pub fn start(reading: Connection, writing: Connection) -> Loader {
        let (requests, incoming) = mpsc::channel();
        let (writer, writing) = Writer::start(writing);
        let desk = Desk { connection: reading, writer, known: Known::default() };
        let loading = thread::Builder::new()
            .name("sqlite-loader".into())
            .spawn(move || desk.serve(&incoming))
            .expect("a thread can be started");
        Loader { requests, threads: [loading, writing] }
    }

    /// Both threads live as long as this handle, unless the disk failed the writer.
    pub fn has_stopped(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    pub async fn load(&self, asks: Vec<Ask>) -> Result<(Book, Session), StoreError> {
        let (save, saves) = mpsc::channel();
        let (reply, answer) = oneshot::channel();
        self.requests.send(Request { asks, reply, saves }).map_err(|_| stopped())?;
        let book = answer.await.map_err(|_| stopped())??;
        Ok((book, Session { save }))
    }
}

impl Session {
    pub async fn save(self, book: Book) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        self.save.send(Save { book, reply }).map_err(|_| stopped())?;
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
    fn serve(mut self, incoming: &mpsc::Receiver<Request>) {
        while let Ok(Request { asks, reply, saves }) = incoming.recv() {
            let loaded = self.load(&asks);
            let failed = loaded.is_err();
            if reply.send(loaded).is_err() || failed {
                continue;
            }
            if let Ok(save) = saves.recv() {
                self.hand_in(save);
            }
        }
    }

    fn load(&mut self, asks: &[Ask]) -> Result<Book, StoreError> {
        self.hear_news()?;
        if asks.iter().any(must_see_the_disk) {
            self.wait_for_landing()?;
        }
        load::load(&self.connection, &self.known, asks).map_err(refused)
    }

    fn hand_in(&mut self, Save { book, reply }: Save) {
        let book = Arc::new(book);
        self.known.took_off(book.clone());
        let events = grouped(&book.appended.transitions); // here, because the writer has the most to do
        let write = Write { book, events, generation: self.known.generation(), reply };
        if let Err(mpsc::SendError(write)) = self.writer.writes.send(write) {
            let _ = write.reply.send(Err(stopped())); // whoever asked may be gone; nothing was written
        }
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

    fn wait_for_landing(&mut self) -> Result<(), StoreError> {
        while !self.known.nothing_is_flying() {
            let (generation, landing) = self.writer.landings.recv().map_err(|_| stopped())?;
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
        | Ask::Bundle(_)
        | Ask::Collector
        | Ask::Collection(_) => true,
        Ask::Tenant(_)
        | Ask::TenantName(_)
        | Ask::Run(_)
        | Ask::Plan(_)
        | Ask::Family(_)
        | Ask::Execution(_)
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
        | Ask::Delivery(_)
        | Ask::Claim(_) => false,
    }
}
