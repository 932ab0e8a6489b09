//! What a connection of ours may do outside of a transaction: nothing that lasts.

use tokio_postgres::error::SqlState;

use crate::postgres::address::Address;
use crate::postgres::connect::Connection;
use crate::postgres::round::{BEGIN, COMMIT, Round};
use crate::postgres::scratch::with_tables;

const WRITE: &str = "INSERT INTO keys (name, secret) VALUES ('one', sha256('one'))";
/// Something that is refused when it is carried out, as a beginning is on which a cancel fell.
const REFUSED: &str = "SELECT 1 / 0";

fn round(statements: &[&'static str]) -> Round<'static> {
    let mut round = Round::default();
    statements.iter().for_each(|sql| round.push(sql, vec![]));
    round
}

#[test]
fn what_is_sent_behind_a_refused_beginning_is_not_written() {
    with_tables("sessions", async |client, url| {
        let connection = Connection::open(&Address::parse(url).unwrap()).await.unwrap();
        let cases: [(&[&'static str], SqlState); 2] = [
            (&[WRITE], SqlState::READ_ONLY_SQL_TRANSACTION),
            (&[REFUSED, WRITE, COMMIT], SqlState::DIVISION_BY_ZERO),
        ];
        let written = "SELECT count(*) FROM keys";
        for (statements, code) in cases {
            let Err(failed) = connection.run(round(statements)).await else { panic!("{statements:?}") };
            assert_eq!((failed.at, failed.error.code()), (Some(0), Some(&code)));
            assert_eq!(client.query_one_scalar::<i64, _>(written, &[]).await.unwrap(), 0, "{statements:?}");
        }
        assert!(connection.run(round(&[BEGIN, WRITE, COMMIT])).await.is_ok());
        assert_eq!(client.query_one_scalar::<i64, _>(written, &[]).await.unwrap(), 1);
    });
}

/// Whoever ended it, and whether or not we have noticed yet.
#[test]
fn a_round_on_a_connection_that_was_ended_while_it_was_idle_was_not_sent() {
    with_tables("ended", async |client, url| {
        let connection = Connection::open(&Address::parse(url).unwrap()).await.unwrap();
        const WHO: &str = "SELECT pg_backend_pid()";
        let Ok(answers) = connection.run(round(&[WHO])).await else { panic!("it is new") };
        let backend: i32 = answers[0][0].get(0);
        let end = "SELECT pg_terminate_backend($1, 10000)";
        assert!(client.query_one_scalar::<bool, _>(end, &[&backend]).await.unwrap());
        for _ in 0..2 {
            let Err(failed) = connection.run(round(&[WHO])).await else { panic!("it was ended") };
            assert_eq!(failed.at, None, "{}", failed.error);
        }
    });
}
