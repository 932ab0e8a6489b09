//! Questions that ticks ask go through their partial indexes, whatever the planner knows of the tables.

use rusqlite::Connection;

use crate::sqlite::{artifacts, blobs, caches, logs, open, uploads};

fn plan(connection: &Connection, sql: &str) -> String {
    let mut statement = connection.prepare(&["EXPLAIN QUERY PLAN ", sql].concat()).unwrap();
    let mut rows = statement.raw_query(); // no values: the plan does not depend on them
    let mut steps = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        steps.push(row.get::<_, String>(3).unwrap());
    }
    steps.join("; ")
}

#[test]
fn what_is_due_is_found_by_its_index() {
    let folder = tempfile::tempdir().unwrap();
    let connection = open::connect_and_migrate(&folder.path().join("deltaci.db")).unwrap();
    for (sql, index) in [
        (blobs::unreferenced_sql(), "blobs_unreferenced"),
        (artifacts::UPLOADS_DUE.into(), "uploads_expiring"),
        (uploads::litter_sql(), "uploads_litter"),
        (artifacts::VERSIONS_DUE.into(), "versions_retained"),
        (artifacts::BUNDLES_DUE.into(), "bundles_kept"),
        (caches::UNUSED.into(), "caches_used"),
        (logs::DUE.into(), "logs_in_chunks"),
        (blobs::HERE.into(), "blobs_digest"),
    ] {
        let plan = plan(&connection, &sql);
        assert!(plan.contains(&format!("INDEX {index}")), "{sql}: {plan}");
        assert!(!plan.contains("B-TREE"), "nothing is sorted: {sql}: {plan}");
    }
}
