//! The `CHECK` lists in both schemas are the states of the machines' tables, no more and no less.

use std::collections::{BTreeMap, BTreeSet};

use decisions::failures::FailureClass;
use decisions::records::{Progress, Sweep, TokenKind, Trust};
use machines::{Description, Machine, ROSTER, execution, job, lease};
use rusqlite::Connection;
use store::{Postgres, Sqlite};

use crate::stores::{Database, block_on, connect};

type Lists = BTreeMap<(String, String), BTreeSet<String>>;

fn names<'n>(names: impl IntoIterator<Item = &'n str>) -> BTreeSet<String> {
    names.into_iter().map(Into::into).collect()
}

fn states(machine: &str) -> BTreeSet<String> {
    let machine = ROSTER.into_iter().find(|it| it.name == machine).expect("the roster names it");
    names(machine.states.iter().map(|state| state.name))
}

/// What the run's last step leaves: the states in which a run has ended.
fn run_outcomes() -> BTreeSet<String> {
    let run = Description::named("run").unwrap();
    names(run.steps().filter(|(_, row)| row.event == "Report").map(|(from, _)| from))
}

/// Every column that may only hold certain names, in either database.
fn expected() -> Lists {
    let lists = [
        ("tenants", "state", states("tenant")),
        ("tokens", "kind", names(TokenKind::ALL.map(TokenKind::as_str))),
        ("runs", "state", states("run")),
        ("runs", "outcome", run_outcomes()),
        ("runs", "sweep", names(Sweep::ALL.map(Sweep::as_str))),
        ("runs", "trust", names(Trust::ALL.map(Trust::as_str))),
        ("jobs", "state", states("job")),
        ("attempts", "state", states("attempt")),
        ("attempts", "failure_class", names(FailureClass::ALL.map(FailureClass::as_str))),
        ("executions", "lease_state", states("lease")),
        ("executions", "status", states("execution")),
        ("executions", "outcome", names(["SUCCEEDED", "FAILED"])),
        ("effects", "kind", names(["result", "webhook"])),
        ("deliveries", "state", states("delivery")),
        ("blobs", "state", states("blob")),
        ("uploads", "state", states("upload")),
        ("versions", "state", states("version")),
        ("caches", "trust", names(Trust::ALL.map(Trust::as_str))),
        ("collections", "state", names(Progress::ALL.map(Progress::as_str))),
    ];
    lists.into_iter().map(|(table, column, list)| ((table.into(), column.into()), list)).collect()
}

/// What an index over executions must ask: the answers of the machines' own questions.
fn live() -> BTreeSet<String> {
    names(lease::State::STATES.iter().filter(|state| state.is_live()).map(|state| state.as_str()))
}

fn committed() -> BTreeSet<String> {
    names(execution::State::STATES.iter().filter(|state| state.has_committed()).map(|state| state.as_str()))
}

/// The names between single quotes; several in one pair are an array.
fn quoted(sql: &str) -> BTreeSet<String> {
    let texts = sql.split('\'').skip(1).step_by(2);
    texts.flat_map(|text| text.trim_matches(['{', '}']).split(',')).map(Into::into).collect()
}

/// The parenthesised expressions that follow `CHECK`.
fn checks(sql: &str) -> Vec<&str> {
    let mut checks = Vec::new();
    for (start, word) in sql.match_indices("CHECK (") {
        let body = &sql[start + word.len() - 1..];
        let mut depth = 0;
        let end = body.find(|letter| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            depth == 0
        });
        checks.push(&body[1..end.expect("parentheses close")]);
    }
    checks
}

/// The first word of an expression is the column it is about.
fn column_of(check: &str) -> String {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    let from_word = check.trim_start_matches(|letter| !is_letter(letter));
    from_word.split(|letter| !is_letter(letter)).next().unwrap_or_default().into()
}

fn check_lists(mut found: Lists) {
    // An index on live leases asks for `finished_at`, so that is tied to the state.
    let is_finished = found.remove(&("executions".into(), "finished_at".into()));
    assert_eq!(is_finished, Some(live()));
    // Whose a token may be depends on its kind.
    let owned = found.remove(&("tokens".into(), "tenant_id".into()));
    assert_eq!(owned, Some(names(["admin", "tenant"])));
    // Only a success may be reused; the constraint begins with `NOT reusable`.
    let reusable = found.remove(&("jobs".into(), "NOT".into()));
    assert_eq!(reusable, Some(names([job::State::Succeeded.as_str()])));
    // Likewise, `Commit` was taken only from what has committed.
    let committed = found.remove(&("executions".into(), "NOT".into()));
    let doors = [execution::State::Committed, execution::State::Done];
    assert!(doors.iter().all(|state| state.has_committed()));
    assert_eq!(committed, Some(names(doors.map(|state| state.as_str()))));
    assert_eq!(found, expected());
}

#[test]
fn the_lists_in_sqlite_are_the_machines_states() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deltaci.db");
    let _store = Sqlite::open(&path).unwrap();
    let raw = Connection::open(&path).unwrap();
    let mut tables = raw.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").unwrap();
    let tables: Vec<(String, String)> =
        tables.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
    let mut found = Lists::new();
    for (table, sql) in &tables {
        for check in checks(sql).into_iter().filter(|check| check.contains('\'')) {
            found.insert((table.clone(), column_of(check)), quoted(check));
        }
    }
    check_lists(found);
    let index = "SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = 'executions_committed'";
    let index: String = raw.query_row(index, [], |row| row.get(0)).unwrap();
    assert_eq!(quoted(&index), committed());
}

#[test]
fn the_lists_in_postgres_are_the_machines_states() {
    block_on(async {
        let database = Database::make().await;
        drop(Postgres::open(&database.url).await.unwrap());
        let raw = connect(&database.url).await;
        let constraints = "SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint \
                           WHERE contype = 'c' AND connamespace = current_schema()::regnamespace";
        let mut found = Lists::new();
        for row in raw.query(constraints, &[]).await.unwrap() {
            let (table, check): (String, String) = (row.get(0), row.get(1));
            let check = check.strip_prefix("CHECK ").unwrap();
            if check.contains('\'') {
                found.insert((table, column_of(check)), quoted(check));
            }
        }
        check_lists(found);
        // What the index on committed executions asks.
        let generated = "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef \
                         JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum \
                         WHERE adrelid = 'executions'::regclass AND attname = 'has_committed'";
        let generated: String = raw.query_one(generated, &[]).await.unwrap().get(0);
        assert_eq!(quoted(&generated), committed());
        database.drop().await;
    });
}

/// PostgreSQL has more, for what several servers share; what SQLite has is there under the same names.
#[test]
fn both_databases_have_the_same_columns() {
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deltaci.db");
        let _store = Sqlite::open(&path).unwrap();
        let database = Database::make().await;
        drop(Postgres::open(&database.url).await.unwrap());
        let mut sqlite = columns_of_sqlite(&Connection::open(&path).unwrap());
        assert!(sqlite.remove("clock").is_some(), "PostgreSQL has a clock of its own");
        let postgres = columns_of_postgres(&database.url).await;
        assert!(sqlite.len() > 10);
        for (table, columns) in sqlite {
            assert!(
                postgres[&table].is_superset(&columns),
                "{table}: {columns:?} and {:?}",
                postgres[&table]
            );
        }
        database.drop().await;
    });
}

type Columns = BTreeMap<String, BTreeSet<String>>;

fn columns_of_sqlite(raw: &Connection) -> Columns {
    let sql = "SELECT m.name, p.name FROM sqlite_schema m JOIN pragma_table_info(m.name) p \
               WHERE m.type = 'table' AND m.name NOT LIKE 'refinery%' AND m.name NOT LIKE 'sqlite%'";
    let mut columns = Columns::new();
    let mut statement = raw.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    for (table, column) in rows.map(Result::unwrap) {
        columns.entry(table).or_default().insert(column);
    }
    columns
}

async fn columns_of_postgres(url: &str) -> Columns {
    let sql = "SELECT table_name::text, column_name::text FROM information_schema.columns \
               WHERE table_schema = current_schema() AND table_name NOT LIKE 'refinery%'";
    let mut columns = Columns::new();
    for row in connect(url).await.query(sql, &[]).await.unwrap() {
        columns.entry(row.get(0)).or_default().insert(row.get(1));
    }
    columns
}
