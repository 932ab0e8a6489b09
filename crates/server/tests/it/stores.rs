//! Fresh stores for tests: one in memory, one in a file of its own, one in a database of its own.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use store::{Memory, Postgres, Sqlite, Store};
use tokio::runtime::{Builder, Runtime};

/// Where a store keeps its records; opened again, it has what was saved.
pub trait Place {
    type Store: Store;
    const NAME: &'static str;
    async fn open(&self) -> Arc<Self::Store>;
}

/// Far beyond what closing a file takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// What dies with the process is not this: memory stands for a disk that never fails.
#[derive(Default)]
pub struct InMemory(Arc<Memory>);

impl Place for InMemory {
    type Store = Memory;
    const NAME: &'static str = "memory";

    async fn open(&self) -> Arc<Memory> {
        self.0.clone()
    }
}

pub struct InFile {
    folder: tempfile::TempDir,
}

impl InFile {
    pub fn new() -> InFile {
        InFile { folder: tempfile::tempdir().expect("a temporary folder can be made") }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("delta.db")
    }

    /// The file with everything in it, and nobody has it open. A store that was asked something may be closed last by one who
    /// only reads, and leaves its log; one that was only opened is closed by its writer, on a thread that outlives it.
    pub fn put_away(&self) -> PathBuf {
        drop(Sqlite::open(&self.path()).expect("it can be opened"));
        let log = self.folder.path().join("delta.db-wal");
        let until = Instant::now() + PATIENCE;
        while std::fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
            assert!(Instant::now() < until, "somebody has {} open", log.display());
            std::thread::yield_now();
        }
        self.path()
    }
}

impl Place for InFile {
    type Store = Sqlite;
    const NAME: &'static str = "SQLite";

    async fn open(&self) -> Arc<Sqlite> {
        Arc::new(Sqlite::open(&self.path()).expect("a new file can be opened"))
    }
}

/// A database of its own, on the server that the tests are given.
pub struct InDatabase {
    url: String,
}

impl InDatabase {
    pub fn new() -> InDatabase {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let server = std::env::var("DELTACI_TEST_POSTGRES")
            .unwrap_or_else(|_| panic!("no PostgreSQL to test with: run `cargo xtask test`"));
        let name = format!("server_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let made = Command::new(psql())
            .args(["--no-psqlrc", "--quiet", "--command", &format!("CREATE DATABASE {name}"), &server])
            .output()
            .expect("psql can be run");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        InDatabase { url: named(&server, &name) }
    }
}

/// A database that scripts use in turn, with its connections: making them takes longer than running a script.
pub struct SharedDatabase {
    pub runtime: Runtime,
    pub place: Opened<Postgres>,
}

impl SharedDatabase {
    pub fn get() -> MutexGuard<'static, SharedDatabase> {
        static SHARED: OnceLock<Mutex<SharedDatabase>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| Mutex::new(SharedDatabase::new()));
        shared.lock().unwrap_or_else(PoisonError::into_inner) // a script that failed leaves a sound database
    }

    fn new() -> SharedDatabase {
        let place = InDatabase::new();
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime can be made");
        let store = runtime.block_on(place.open());
        SharedDatabase { runtime, place: Opened(store) }
    }
}

/// A store that stays open.
pub struct Opened<S>(Arc<S>);

impl Place for Opened<Postgres> {
    type Store = Postgres;
    const NAME: &'static str = "PostgreSQL";

    async fn open(&self) -> Arc<Postgres> {
        self.0.clone()
    }
}

impl Place for InDatabase {
    type Store = Postgres;
    const NAME: &'static str = "PostgreSQL";

    async fn open(&self) -> Arc<Postgres> {
        Arc::new(Postgres::open(&self.url).await.expect("a new database can be opened"))
    }
}

/// The URL with another database in it.
fn named(server: &str, database: &str) -> String {
    let (address, options) = match server.split_once('?') {
        Some((address, options)) => (address, format!("?{options}")),
        None => (server, String::new()),
    };
    let (_, after_scheme) = address.split_once("://").expect("the server is given as a URL");
    let host = match after_scheme.split_once('/') {
        Some((host, _)) => host,
        None => after_scheme,
    };
    format!("postgres://{host}/{database}{options}")
}

/// The newest that Debian keeps, whose program on PATH is a slow wrapper; else what is on PATH.
fn psql() -> PathBuf {
    let mut folders: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .map(|entries| entries.flatten().map(|entry| entry.path().join("bin")).collect())
        .unwrap_or_default();
    folders.sort();
    folders.reverse();
    folders.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    let found = folders.into_iter().map(|folder| folder.join("psql")).find(|program| program.is_file());
    found.expect("psql is below /usr/lib/postgresql or on PATH")
}
