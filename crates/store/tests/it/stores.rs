//! A fresh store of each kind for a test, gone afterwards; and the macro that runs one test on several kinds.

use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};

use store::{Memory, Postgres, Sqlite};
use tokio_postgres::{Client, NoTls};

use crate::desk::Desk;

/// Runs async tests `fn(Desk<S>)` of the module around it, each on each of the kinds of store: `test::kind`.
macro_rules! on_stores {
    ($($kind:ident),+ => [ $($test:ident),+ $(,)? ]) => { $crate::stores::on_stores!(@each [ $($kind)+ ] $($test)+); };
    (@each $kinds:tt $($test:ident)+) => { $( $crate::stores::on_stores!(@one $test $kinds); )+ };
    (@one $test:ident [ $($kind:ident)+ ]) => {
        mod $test {
            $( #[test] fn $kind() { $crate::stores::$kind(super::$test); } )+
        }
    };
}
pub(crate) use on_stores;

/// Several workers: what waits for somebody else must not keep them from going on.
pub fn block_on(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(test);
}

pub fn memory<F: Future<Output = ()>>(test: impl FnOnce(Desk<Memory>) -> F) {
    block_on(async { test(Desk::at(Memory::default())).await });
}

pub fn sqlite<F: Future<Output = ()>>(test: impl FnOnce(Desk<Sqlite>) -> F) {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&folder.path().join("deltaci.db")).unwrap();
    block_on(async { test(Desk::at(store)).await });
}

pub fn postgres<F: Future<Output = ()>>(test: impl FnOnce(Desk<Postgres>) -> F) {
    block_on(async {
        let database = Database::make().await;
        test(Desk::at(Postgres::open(&database.url).await.unwrap())).await;
        database.drop().await;
    });
}

/// A schema of its own in the database that `cargo xtask test` provides: as empty as a new database, and much quicker to
/// make. That of a failed test is left for a look.
pub struct Database {
    pub url: String,
    name: String,
    server: Client,
}

impl Database {
    pub async fn make() -> Database {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let address = std::env::var("DELTACI_TEST_POSTGRES")
            .expect("DELTACI_TEST_POSTGRES names no server: run the tests with `cargo xtask test`");
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("deltaci_store_{}_{number}", std::process::id());
        let server = connect(&address).await;
        server.batch_execute(&format!("CREATE SCHEMA {name}")).await.unwrap();
        let joint = if address.contains('?') { '&' } else { '?' };
        Database { url: format!("{address}{joint}options=-csearch_path%3D{name}"), name, server }
    }

    pub async fn drop(self) {
        let quietly = format!("SET client_min_messages = error; DROP SCHEMA {} CASCADE", self.name);
        self.server.batch_execute(&quietly).await.unwrap();
    }
}

/// The bare driver, to look and to interfere.
pub async fn connect(url: &str) -> Client {
    let (client, driver) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(driver);
    client
}
