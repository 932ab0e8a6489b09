//! Tenants: made, listed, looked at.

use serde_json::json;
use store::Store;

use crate::api::site::{ADMIN, Site, on_each_store};

on_each_store!(
    a_tenant_that_wants_nothing_is_ready_at_once,
    tenants_are_listed_in_pages,
    a_tenant_that_cannot_be_made_is_refused,
);

async fn a_tenant_that_wants_nothing_is_ready_at_once<S: Store>(site: Site<S>) {
    let made =
        site.post(ADMIN, "/v1/tenants", json!({"name": "acme", "desired_config": {}})).await.expect(201);
    assert_eq!((&made["name"], &made["state"]), (&json!("acme"), &json!("ready")));
    assert_eq!((&made["desired_config"], &made["workflow"]), (&json!({}), &json!(null)));
    let id = made["id"].as_str().expect("an id");
    for named in ["acme", id] {
        assert_eq!(site.get(ADMIN, &format!("/v1/tenants/{named}")).await.expect(200), made);
    }
    site.post(ADMIN, "/v1/tenants", json!({"name": "acme"})).await.refused(409, "tenant_exists");
}

async fn tenants_are_listed_in_pages<S: Store>(site: Site<S>) {
    for name in ["a", "b", "c"] {
        site.post(ADMIN, "/v1/tenants", json!({"name": name})).await.expect(201);
    }
    let mut seen = Vec::new();
    let mut path = "/v1/tenants?limit=3".to_string();
    loop {
        let page = site.get(ADMIN, &path).await.expect(200);
        let names = page["items"].as_array().expect("items").iter().map(|it| it["name"].to_string());
        seen.extend(names);
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/v1/tenants?limit=3&after={next}");
    }
    assert_eq!(seen, [r#""default""#, r#""a""#, r#""b""#, r#""c""#]);
}

async fn a_tenant_that_cannot_be_made_is_refused<S: Store>(site: Site<S>) {
    for (body, field) in [
        (json!({}), "name"),
        (json!({"name": "Not A Name"}), "name"),
        (json!({"name": ""}), "name"),
        (json!({"name": "x", "desired_config": {"runners": {}}}), "desired_config"),
        (json!({"name": "x", "desired_config": []}), "desired_config"),
        (json!({"name": "x", "desired_config": {"quota": {"runs_active": 1}}}), "desired_config"),
        (json!({"name": "x", "desired_config": {"quota": {"storage_bytes": 0.5}}}), "desired_config"),
        (json!({"name": "x", "desired_config": {"retention_seconds": 0}}), "desired_config"),
    ] {
        let problem = site.post(ADMIN, "/v1/tenants", body.clone()).await.refused(422, "invalid_input");
        assert_eq!(problem["field"], field, "{body}: {problem}");
    }
    site.get(ADMIN, "/v1/tenants/nobody").await.refused(404, "tenant_not_found");
    site.get(ADMIN, "/v1/tenants/ten_01m7gsb8rkeve8kbfzhpx976qh").await.refused(404, "tenant_not_found");
}
