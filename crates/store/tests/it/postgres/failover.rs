//! A server that may not write, for a while or for good: nothing is kept that leads to it.

use store::{OpenError, Postgres, Store, StoreError};
use tokio_postgres::Client;

use crate::postgres::database::{connect, with_database};
use crate::postgres::server::{Server, lease, submit};

async fn is_refused(server: &Server, why: &str) {
    let refused = server.perform([submit().into()]).await;
    assert!(matches!(&refused, Err(StoreError::Unavailable(it)) if it.contains(why)), "{refused:?}");
}

async fn set_for_all(client: &Client, setting: &str) {
    let name: String = client.query_one_scalar("SELECT current_database()", &[]).await.unwrap();
    client.batch_execute(&format!("ALTER DATABASE {name} {setting}")).await.unwrap();
    let others = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
                  WHERE datname = current_database() AND pid <> pg_backend_pid()";
    client.execute(others, &[]).await.unwrap();
}

#[test]
fn a_database_that_is_read_only_for_a_while_is_written_to_again_without_a_restart() {
    with_database(|url| async move {
        let server = Server::start(&url).await;
        server.submit().await;
        let client = connect(&url).await;
        set_for_all(&client, "SET default_transaction_read_only = on").await;
        for _ in 0..3 {
            is_refused(&server, "does not allow writes").await;
        }
        let opened = Postgres::open(&url).await;
        assert!(
            matches!(&opened, Err(OpenError::Unreachable(why)) if why.contains("does not allow writes")),
            "{opened:?}"
        );
        let looking = Postgres::open_existing(&url).await.unwrap();
        assert_eq!(looking.integrity().await, Ok(vec![]), "whoever only looks may");

        set_for_all(&client, "RESET default_transaction_read_only").await;
        server.submit().await;
        assert_eq!(looking.job_files_after(None, 10).await.unwrap().len(), 2);
    });
}

/// Behind one address there may be another server tomorrow; a connection still leads to the one of yesterday.
#[test]
fn a_connection_to_a_server_that_may_no_longer_write_is_not_used_again() {
    with_database(|url| async move {
        let server = Server::start(&url).await;
        server.submit().await;
        let of_yesterday = "
            CREATE TABLE of_yesterday AS SELECT pid FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid();
            CREATE FUNCTION may_write() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF EXISTS (SELECT FROM of_yesterday WHERE pid = pg_backend_pid()) THEN
                    RAISE EXCEPTION USING ERRCODE = 'read_only_sql_transaction', MESSAGE = 'it may not write';
                END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER may_write BEFORE UPDATE ON event_head FOR EACH ROW EXECUTE FUNCTION may_write()";
        connect(&url).await.batch_execute(of_yesterday).await.unwrap();
        is_refused(&server, "25006").await;
        server.submit().await;
    });
}

/// Whatever a role or a database has as its default, our transactions are what they say.
#[test]
fn the_default_isolation_of_a_database_does_not_matter() {
    with_database(|url| async move {
        let client = connect(&url).await;
        set_for_all(&client, "SET default_transaction_isolation = serializable").await;
        let server = Server::start(&url).await;
        let noted = "
            CREATE TABLE noted (isolation text);
            CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                INSERT INTO noted VALUES (current_setting('transaction_isolation'));
                RETURN NEW;
            END $$;
            CREATE TRIGGER note BEFORE UPDATE ON event_head FOR EACH ROW EXECUTE FUNCTION note();
            CREATE TRIGGER note BEFORE INSERT ON keys FOR EACH ROW EXECUTE FUNCTION note()";
        client.batch_execute(noted).await.unwrap();
        server.submit().await;
        server.must(lease("r1")).await;
        assert_eq!(server.store.key("one", [1; 32]).await, Ok([1; 32]));
        assert_eq!(server.store.key("one", [2; 32]).await, Ok([1; 32]), "whoever comes first decides");
        let rows = client.query("SELECT isolation FROM noted", &[]).await.unwrap();
        let noted: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(noted, ["read committed"; 4]);
    });
}
