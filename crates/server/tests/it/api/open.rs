//! What is open to everybody.

use std::collections::BTreeSet;

use store::{Memory, Store};

use crate::api::site::{ADMIN, Site, on_each_store};
use hyper::body::Bytes;

on_each_store!(
    whoever_asks_learns_that_the_server_lives_and_is_ready,
    the_document_lists_operations_with_unique_ids,
    metrics_count_transitions_commands_and_requests_without_ids,
);

async fn whoever_asks_learns_that_the_server_lives_and_is_ready<S: Store>(site: Site<S>) {
    for (path, text) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        let reply = site.send("GET", path, &[], Bytes::new()).await;
        assert_eq!((reply.status, reply.text().as_str()), (200, text));
    }
    let machines = site.send("GET", "/v1/machines", &[], Bytes::new()).await.expect(200);
    assert_eq!(machines["machines"].as_array().map(Vec::len), Some(11));
    assert_eq!(machines, server::machines_json::document());
}

async fn the_document_lists_operations_with_unique_ids<S: Store>(site: Site<S>) {
    assert_eq!(site.document["openapi"], "3.1.0");
    let mut ids = BTreeSet::new();
    let mut count = 0;
    for (path, item) in site.document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            count += 1;
            let id = operation["operationId"].as_str().expect("an id").to_string();
            assert!(ids.insert(id.clone()), "{id} twice");
            // Whoever has the address of a part may send it.
            let open = !path.starts_with("/v1/") || path == "/v1/machines" || path.starts_with("/v1/parts/");
            assert_eq!(operation["security"].is_null(), open, "{method} {path}");
            assert!(operation["summary"].is_string(), "{method} {path} says nothing of itself");
        }
    }
    assert_eq!(count, 65, "routes come and go: say so here");
}

async fn metrics_count_transitions_commands_and_requests_without_ids<S: Store>(site: Site<S>) {
    let tenant = site.tenant("acme").await;
    let (_, lease) = site.active_job(&tenant).await;
    site.complete(&tenant, &lease, "SUCCEEDED", 0).await.expect(200);
    site.get(ADMIN, "/nowhere").await.refused(404, "no_such_route");
    let text = site.send("GET", "/metrics", &[], Bytes::new()).await.text();
    for line in [
        "deltaci_state_transitions_total{machine=\"lease\",from=\"GRANTED\",to=\"ACTIVE\"} 1",
        "deltaci_commands_total{command=\"Complete\",outcome=\"ok\"} 1",
        "deltaci_http_requests_total{route=\"/v1/runner/complete\",status=\"200\"} 1",
        "deltaci_http_requests_total{route=\"none\",status=\"404\"} 1",
        "deltaci_leases_waiting 0",
        "deltaci_command_duration_seconds_count",
        "deltaci_batch_size_count",
        "deltaci_process_resident_memory_bytes",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    for id in ["job_0", "run_0", "ten_0", "exec_0", "acme"] {
        assert!(!text.contains(id), "{id} in a label:\n{text}");
    }
}

#[tokio::test]
async fn a_store_that_is_away_is_said_with_a_time_to_come_back() {
    let site = crate::api::site::in_memory().await;
    let tenant = site.tenant("acme").await;
    for (fault, code) in
        [(store::Fault::LoseRequest, "store_unavailable"), (store::Fault::LoseAnswer, "outcome_unknown")]
    {
        site.store.inject([fault]);
        let path = format!("{}/jobs", tenant.path);
        let reply = site.post(&tenant.tenant, &path, serde_json::json!({"payload": 1})).await;
        reply.refused(503, code);
        assert_eq!(reply.header("retry-after"), "1");
    }
    let text = site.send("GET", "/metrics", &[], Bytes::new()).await.text();
    assert!(text.contains("deltaci_errors_total{kind=\"store_unavailable\"} 1"), "{text}");
    let _: &Memory = &site.store;
}
