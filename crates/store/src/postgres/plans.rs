//! Questions that ticks ask go through their partial indexes, on tables in which hardly anything is due.

use std::collections::BTreeMap;

use tokio_postgres::NoTls;

use crate::postgres::address::Address;
use crate::postgres::{artifact_finders, open};

/// So many that a planner who reads all of them is wrong.
const FILL: &str = "
    INSERT INTO tenants (id, name, state, status_message, desired_config, revision, created_at, updated_at)
    VALUES ('ten_1', 'one', 'ready', '', '{}', 1, now(), now());
    INSERT INTO blobs (id, digest, length, state, refs, barrier_until, epoch, created_at, updated_at)
    SELECT 'blob_' || i, sha256(i::text::bytea), 1, 'live', (i % 1000 > 0)::int, now(), 0, now(), now()
    FROM generate_series(1, 20000) i;
    INSERT INTO uploads (id, tenant_id, digest, length, blob_id, state, parts, etags, expires_at, litter, created_at,
        updated_at)
    SELECT 'upl_' || i, 'ten_1', sha256(i::text::bytea), 1, 'blob_' || i,
        CASE WHEN i % 1000 = 0 THEN 'initiated' ELSE 'committed' END, '[]', '[]', now(), i % 1000 = 1, now(), now()
    FROM generate_series(1, 20000) i;
    INSERT INTO versions (id, tenant_id, package, version, state, retention_until, purged, created_at, updated_at)
    SELECT 'ver_' || i, 'ten_1', 'p', i::text, CASE WHEN i % 1000 = 0 THEN 'tombstoned' ELSE 'published' END, now(),
        false, now(), now()
    FROM generate_series(1, 20000) i;
    ANALYZE blobs, uploads, versions";

#[test]
fn what_is_due_is_found_by_its_index() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = std::env::var("DELTACI_TEST_POSTGRES")
            .expect("DELTACI_TEST_POSTGRES names no server: run the tests with `cargo xtask test`");
        let name = format!("deltaci_plans_{}", std::process::id());
        let joint = if server.contains('?') { '&' } else { '?' };
        let url = format!("{server}{joint}options=-csearch_path%3D{name}");
        let (client, driver) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(driver);
        client.batch_execute(&format!("CREATE SCHEMA {name}")).await.unwrap();
        open::migrate(&Address::parse(&url).unwrap()).await.unwrap();
        client.batch_execute(FILL).await.unwrap();
        let questions: BTreeMap<&str, &str> = BTreeMap::from([
            ("blobs_unreferenced", artifact_finders::BLOBS_UNREFERENCED.as_str()),
            ("uploads_expiring", artifact_finders::UPLOADS_DUE),
            ("uploads_litter", artifact_finders::LITTER.as_str()),
            ("versions_retained", artifact_finders::VERSIONS_DUE),
        ]);
        for (index, sql) in questions {
            // A value that the planner cannot see, as in a statement that is prepared once for all.
            let limit = if sql.contains("$2") { "$2" } else { "$1" };
            let sql = sql.replace(limit, "100").replace("$1", "(SELECT 'blob_')");
            let rows = client.query(&format!("EXPLAIN {sql}"), &[]).await.unwrap();
            let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
            let plan = plan.join("\n");
            assert!(
                plan.contains(&format!("using {index} on")) || plan.contains(&format!("on {index}")),
                "{plan}"
            );
        }
        let quietly = format!("SET client_min_messages = error; DROP SCHEMA {name} CASCADE");
        client.batch_execute(&quietly).await.unwrap();
    });
}
