//! Opening: what is refused is left as it was found.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use store::{OpenError, Postgres, Store};
use tokio_postgres::Client;

use crate::postgres::database::{connect, with_database};
use crate::stores::block_on;

#[test]
fn two_servers_may_open_a_new_database_at_once() {
    with_database(|url| async move {
        let opened = tokio::join!(
            Postgres::open(&url),
            Postgres::open(&url),
            Postgres::open(&url),
            Postgres::open(&url)
        );
        let (one, ..) = (opened.0.unwrap(), opened.1.unwrap(), opened.2.unwrap(), opened.3.unwrap());
        assert_eq!(one.tenants().await, Ok(vec![]));
        let client = connect(&url).await;
        let row = client.query_one("SELECT count(*) FROM refinery_schema_history", &[]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), 1);
        assert_eq!(one.integrity().await, Ok(vec![]));
    });
}

#[test]
fn a_newer_schema_is_refused_and_left_alone() {
    with_database(|url| async move {
        drop(Postgres::open(&url).await.unwrap());
        let client = connect(&url).await;
        client
            .batch_execute("INSERT INTO refinery_schema_history VALUES (999, 'later', 'x', 'y')")
            .await
            .unwrap();
        let before = everything(&client).await;
        for opened in [Postgres::open(&url).await, Postgres::open_existing(&url).await] {
            assert_eq!(opened.unwrap_err(), OpenError::Newer { found: 999, known: 1 });
        }
        assert_eq!(everything(&client).await, before);
    });
}

/// All tables with all that is in them.
async fn everything(client: &Client) -> String {
    let sql = "SELECT schema_to_xml_and_xmlschema(current_schema(), true, false, '')::text";
    client.query_one_scalar(sql, &[]).await.unwrap()
}

/// A server that is killed loses its connection, at whatever step it was.
#[test]
fn a_first_start_that_is_killed_leaves_a_database_that_opens() {
    let cut_short = &AtomicU32::new(0);
    for delay in 0..12 {
        with_database(|url| async move {
            let mine = format!("killed_{}_{delay}", std::process::id());
            let joint = if url.contains('?') { '&' } else { '?' };
            let named = format!("{url}{joint}application_name={mine}");
            let opening = tokio::spawn(async move { Postgres::open(&named).await.is_ok() });
            tokio::time::sleep(Duration::from_millis(5 + 6 * delay)).await;
            let client = connect(&url).await;
            let kill =
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1";
            let _: i64 = client.query_one_scalar(kill, &[&mine]).await.unwrap();
            cut_short.fetch_add(u32::from(!opening.await.unwrap()), Ordering::Relaxed);
            assert_eq!(Postgres::open(&url).await.unwrap().tenants().await, Ok(vec![]));
            let history = "SELECT count(*) FROM refinery_schema_history";
            let lines: i64 = client.query_one_scalar(history, &[]).await.unwrap();
            assert_eq!(lines, 1);
        });
    }
    assert!(cut_short.load(Ordering::Relaxed) > 0, "none of them was in the middle");
}

#[test]
fn an_empty_database_is_not_filled_by_somebody_who_only_looks() {
    with_database(|url| async move {
        let opened = Postgres::open_existing(&url).await;
        assert_eq!(opened.unwrap_err(), OpenError::Corrupt("no Delta CI tables".into()));
        let client = connect(&url).await;
        let tables: i64 = client
            .query_one_scalar("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", &[])
            .await
            .unwrap();
        assert_eq!(tables, 0);
        drop(Postgres::open(&url).await.unwrap());
        Postgres::open_existing(&url).await.unwrap();
    });
}

#[test]
fn a_database_that_does_not_fit_its_history_is_refused() {
    for damage in [
        "DROP TABLE refinery_schema_history",
        "DELETE FROM refinery_schema_history",
        "UPDATE refinery_schema_history SET checksum = '1'",
        "UPDATE refinery_schema_history SET applied_on = 'yesterday'",
        "ALTER TABLE refinery_schema_history DROP COLUMN name",
        "DROP TABLE event_head",
    ] {
        with_database(|url| async move {
            drop(Postgres::open(&url).await.unwrap());
            let client = connect(&url).await;
            client.batch_execute(damage).await.unwrap();
            let before = everything(&client).await;
            for opened in [Postgres::open(&url).await, Postgres::open_existing(&url).await] {
                assert!(matches!(opened, Err(OpenError::Corrupt(_))), "{damage}: {opened:?}");
            }
            assert_eq!(everything(&client).await, before, "{damage}");
        });
    }
}

/// Everything in the schema, by its name.
async fn catalog(client: &Client) -> Vec<String> {
    let sql = "
        SELECT relkind::text || ' ' || relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
        UNION SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        UNION SELECT 'type ' || typname FROM pg_type WHERE typnamespace = 'public'::regnamespace ORDER BY 1";
    let rows = client.query(sql, &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

#[test]
fn a_database_of_somebody_else_is_left_as_it_is() {
    for theirs in [
        "CREATE TABLE jobs (id integer)",
        "CREATE TABLE logs (line text)",
        "CREATE VIEW keys AS SELECT 1 AS one",
        "CREATE TABLE sales (day date); CREATE INDEX runs_due ON sales (day)",
        "CREATE TYPE caches AS ENUM ('hot', 'cold')",
        "CREATE SEQUENCE uploads",
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "CREATE TABLE refinery_schema_history (version int4 PRIMARY KEY, name VARCHAR(255), \
             applied_on VARCHAR(255), checksum VARCHAR(255));
         INSERT INTO refinery_schema_history VALUES (1, 'theirs', '2026-01-01T00:00:00Z', '1')",
    ] {
        with_database(|url| async move {
            let client = connect(&url).await;
            client.batch_execute(theirs).await.unwrap();
            let before = (catalog(&client).await, everything(&client).await);
            for opened in [Postgres::open(&url).await, Postgres::open_existing(&url).await] {
                assert!(matches!(opened, Err(OpenError::Corrupt(_))), "{theirs}: {opened:?}");
            }
            assert_eq!((catalog(&client).await, everything(&client).await), before, "{theirs}");
        });
    }
}

#[test]
fn a_role_without_the_right_is_told_so() {
    with_database(|url| async move {
        let client = connect(&url).await;
        let role = format!("deltaci_guest_{}", std::process::id());
        client.batch_execute(&format!("CREATE ROLE {role}")).await.unwrap();
        let joint = if url.contains('?') { '&' } else { '?' };
        let as_guest = format!("{url}{joint}options=-crole%3D{role}");
        let before = catalog(&client).await;
        let forbidden = |opened: Result<Postgres, OpenError>| {
            let told =
                matches!(&opened, Err(OpenError::Unreachable(why)) if why.contains("permission denied"));
            assert!(told, "{opened:?}");
        };
        forbidden(Postgres::open(&as_guest).await);
        assert_eq!(catalog(&client).await, before);
        drop(Postgres::open(&url).await.unwrap());
        forbidden(Postgres::open(&as_guest).await);
        forbidden(Postgres::open_existing(&as_guest).await);
        client.batch_execute(&format!("DROP ROLE {role}")).await.unwrap();
    });
}

#[test]
fn a_server_that_takes_the_line_and_says_nothing_is_given_up() {
    block_on(async {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = silent.local_addr().unwrap().port();
        let url = format!("postgres://ann@127.0.0.1:{port}/ci?connect_timeout=1");
        let OpenError::Unreachable(why) = Postgres::open(&url).await.unwrap_err() else { panic!() };
        assert_eq!(why, format!("127.0.0.1:{port}/ci: no answer within 2 s"));
    });
}

#[test]
fn a_first_start_that_was_interrupted_is_taken_up_again() {
    with_database(|url| async move {
        // The history's table is made first, in a transaction of its own.
        let table = "CREATE TABLE refinery_schema_history (version int4 PRIMARY KEY, name VARCHAR(255), \
                     applied_on VARCHAR(255), checksum VARCHAR(255))";
        connect(&url).await.batch_execute(table).await.unwrap();
        Postgres::open(&url).await.unwrap();
    });
}

#[test]
fn a_server_that_cannot_be_reached_is_named_without_the_password() {
    with_database(|url| async move {
        let gone = Postgres::open("postgres://ann:hunter2@127.0.0.1:1/ci").await.unwrap_err();
        let OpenError::Unreachable(message) = gone else { panic!("{gone:?}") };
        assert!(message.contains("127.0.0.1:1/ci") && !message.contains("hunter2"), "{message}");
        let missing = Postgres::open(&format!("{url}_missing")).await.unwrap_err();
        assert!(matches!(missing, OpenError::Unreachable(_)), "{missing:?}");
    });
}
