//! The syncer's thread: brings to the disk what the writer committed, and only then tells whoever waits for it.
//!
//! The writer's commits go into SQLite's log without a sync (`synchronous=NORMAL`): after a power cut each of them is there as a
//! whole or not at all, and none without those before it. The sync is ours, so that the writer fills the next transaction
//! meanwhile, and commits that wait for the disk share one.
//!
//! Never: an answer before the sync that makes it true, not even to somebody who only reads.

use std::fs::File;
use std::io;
use std::iter;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;

use crate::StoreError;
use crate::sqlite::known::Landing;
use crate::sqlite::writer::Write;

/// What the writer did in one go, and what became of each book in it, in order.
pub struct Flight {
    /// What it committed, or tried to.
    pub commit: Option<Commit>,
    pub books: Vec<(Write, Fate)>,
}

/// A commit's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Commit(u64);

pub enum Fate {
    /// With the flight's commit, or on what was committed before.
    Written,
    NotWritten(Landing, StoreError),
    /// It rests on a book that was not written.
    Stranded(StoreError),
}

/// How far the disk is behind what readers can see; one end of it is the syncer's.
#[derive(Clone)]
pub struct Horizon {
    /// The newest commit that anybody may have seen.
    begun: Arc<AtomicU64>,
    durable: watch::Receiver<Commit>,
}

impl Horizon {
    /// For the writer, before it commits: from now on somebody may see it.
    pub fn begin(&self) {
        self.begun.fetch_add(1, Ordering::SeqCst);
    }

    pub fn newest(&self) -> Commit {
        Commit(self.begun.load(Ordering::SeqCst))
    }

    /// The syncer has ended, and with it the writer: nothing will be brought to the disk any more.
    pub fn is_lost(&self) -> bool {
        self.durable.has_changed().is_err()
    }

    /// Whatever was read before is on the disk.
    pub async fn reached(&self) -> Result<(), StoreError> {
        let seen = self.newest();
        let mut durable = self.durable.clone();
        match durable.wait_for(|durable| *durable >= seen).await {
            Ok(_) => Ok(()),
            Err(_) => Err(StoreError::Unavailable("the disk failed: what was read may not be there".into())),
        }
    }
}

pub struct Syncer {
    log: PathBuf,
    /// Opened with the first commit, when it is surely there. It stays the same file as long as a connection is open.
    file: Option<File>,
    news: UnboundedSender<(u64, Landing)>,
    durable: watch::Sender<Commit>,
}

impl Syncer {
    /// `news` hears what became of each book of the current generation, in order. The thread ends with whether everything
    /// that was committed is on the disk.
    pub fn start(
        log: PathBuf,
        news: UnboundedSender<(u64, Landing)>,
    ) -> (mpsc::Sender<Flight>, Horizon, JoinHandle<bool>) {
        let (flights, incoming) = mpsc::channel();
        let (durable, seen) = watch::channel(Commit(0));
        let syncer = Syncer { log, file: None, news, durable };
        let thread = thread::Builder::new()
            .name("sqlite-syncer".into())
            .spawn(move || syncer.serve(&incoming))
            .expect("a thread can be started");
        (flights, Horizon { begun: Arc::default(), durable: seen }, thread)
    }

    /// Ends with the writer, or when a sync fails: what the disk holds is then uncertain, and a second sync would not tell.
    /// A restart writes the log anew before it believes it.
    fn serve(mut self, incoming: &mpsc::Receiver<Flight>) -> bool {
        while let Ok(first) = incoming.recv() {
            let waiting = iter::from_fn(|| incoming.try_recv().ok());
            let flights: Vec<Flight> = iter::once(first).chain(waiting).collect();
            let newest = flights.iter().filter_map(|flight| flight.commit).next_back();
            if let Err(error) = newest.map_or(Ok(()), |_| self.sync()) {
                flights.into_iter().for_each(|flight| lose(flight, &error));
                return false;
            }
            if let Some(commit) = newest {
                self.durable.send_replace(commit);
            }
            flights.into_iter().for_each(|flight| self.land(flight));
        }
        true
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(File::open(&self.log)?);
        }
        self.file.as_ref().map_or(Ok(()), File::sync_data)
    }

    /// The loader hears before the callers do, and a generation's end after everything that was written in it.
    fn land(&self, flight: Flight) {
        for (write, fate) in &flight.books {
            let landing = match fate {
                Fate::Written => Landing::Durable,
                Fate::NotWritten(landing, _) => *landing,
                Fate::Stranded(_) => continue, // the loader knows by the one that it rests on
            };
            let _ = self.news.send((write.generation, landing)); // the loader may have ended
        }
        for (write, fate) in flight.books {
            write.answer(match fate {
                Fate::Written => Ok(()),
                Fate::NotWritten(_, error) | Fate::Stranded(error) => Err(error),
            });
        }
    }
}

/// Committed, and perhaps on the disk.
fn lose(flight: Flight, error: &io::Error) {
    for (write, fate) in flight.books {
        write.answer(Err(match fate {
            Fate::Written => StoreError::Unknown(format!("it was written, but the sync failed: {error}")),
            Fate::NotWritten(_, error) | Fate::Stranded(error) => error,
        }));
    }
}
