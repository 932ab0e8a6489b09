//! A database of its own for each test, on the server that `cargo xtask test` provides.

use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::{Client, NoTls};

/// Gives the test the address of an empty database, which is gone afterwards unless the test failed.
pub fn with_database<F: Future<Output = ()>>(test: impl FnOnce(String) -> F) {
    let admin = std::env::var("DELTACI_TEST_POSTGRES")
        .expect("DELTACI_TEST_POSTGRES names no server: run the tests with `cargo xtask test`");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("deltaci_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let client = connect(&admin).await;
        client.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
        test(with_name(&admin, &name)).await;
        client.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await.unwrap();
    });
}

fn with_name(admin: &str, name: &str) -> String {
    let (place, query) =
        admin.split_once('?').map_or((admin, String::new()), |(at, it)| (at, format!("?{it}")));
    let (server, _) = place.rsplit_once('/').expect("the address names a database");
    format!("{server}/{name}{query}")
}

/// The bare driver, to look and to interfere.
pub async fn connect(url: &str) -> Client {
    let (client, driver) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(driver);
    client
}
