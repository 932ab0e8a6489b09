//! A schema with our tables for a test inside this room, gone afterwards unless the test failed.

use tokio_postgres::{Client, NoTls};

use crate::postgres::address::Address;
use crate::postgres::open;

/// Gives the test a bare connection to the schema, and its address.
pub fn with_tables(name: &str, test: impl AsyncFnOnce(&Client, &str)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = std::env::var("DELTACI_TEST_POSTGRES")
            .expect("DELTACI_TEST_POSTGRES names no server: run the tests with `cargo xtask test`");
        let name = format!("deltaci_{name}_{}", std::process::id());
        let joint = if server.contains('?') { '&' } else { '?' };
        let url = format!("{server}{joint}options=-csearch_path%3D{name}");
        let (client, driver) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(driver);
        client.batch_execute(&format!("CREATE SCHEMA {name}")).await.unwrap();
        open::migrate(&Address::parse(&url).unwrap()).await.unwrap();
        test(&client, &url).await;
        let quietly = format!("SET client_min_messages = error; DROP SCHEMA {name} CASCADE");
        client.batch_execute(&quietly).await.unwrap();
    });
}
