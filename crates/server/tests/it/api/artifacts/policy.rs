//! The policy: allows, holds back, or is away; and without a verdict nothing is published.

use std::sync::Arc;

use decisions::Policy;
use serde_json::{Value, json};
use server::artifacts::Judge;
use store::Memory;

use crate::api::artifacts::text;
use crate::api::site::{ADMIN, Reply, Site, Tenant};

const RULES: &str = r#"
package deltaci

publish := {"decision": "allow"} if input.version == "good"

publish := {"decision": "quarantine", "reason": sprintf("%s by %s of %s", [input.package, input.actor, input.tenant])} if input.version == "held"

publish := {"decision": "perhaps"} if input.version == "odd"
"#;

async fn governed() -> (Site<Memory>, Tenant) {
    let judge = Judge::from_rego("rules.rego", RULES.into()).expect("they are Rego");
    governed_by(judge).await
}

async fn governed_by(judge: Judge) -> (Site<Memory>, Tenant) {
    let store = Arc::new(Memory::default());
    let site = Site::open_with(store, Policy::default(), None, judge, None).await;
    let acme = site.tenant("acme").await;
    let digest = site.bring(&acme, b"bytes").await;
    let path = format!("{}/packages/app/versions", acme.path);
    for version in ["good", "held", "odd", "other"] {
        let entries = json!([{"path": "a", "digest": digest}]);
        site.post(&acme.tenant, &path, json!({"version": version, "entries": entries})).await.expect(201);
    }
    (site, acme)
}

async fn say(site: &Site<Memory>, token: &str, version: &str, word: &str) -> Reply {
    let path = format!("/v1/tenants/acme/packages/app/versions/{version}/{word}");
    let body = if word == "tombstone" { json!({"retention_seconds": 60}) } else { json!({}) };
    site.post(token, &path, body).await
}

async fn shown(site: &Site<Memory>, version: &str) -> Value {
    site.get(ADMIN, &format!("/v1/tenants/acme/packages/app/versions/{version}")).await.expect(200)
}

#[tokio::test]
async fn what_is_allowed_is_published() {
    let (site, acme) = governed().await;
    assert_eq!(say(&site, &acme.tenant, "good", "publish").await.expect(200)["state"], "published");
    say(&site, &acme.tenant, "good", "tombstone").await.expect(200);
    assert_eq!(say(&site, &acme.tenant, "good", "restore").await.expect(200)["state"], "published");
}

#[tokio::test]
async fn what_is_held_back_stays_a_draft_until_an_administrator_releases_it() {
    let (site, acme) = governed().await;
    for _ in 0..2 {
        let problem = say(&site, &acme.tenant, "held", "publish").await.refused(409, "quarantined");
        assert!(text(&problem["detail"]).contains("app by tenant of acme"), "{problem}");
    }
    let held = shown(&site, "held").await;
    assert_eq!((&held["state"], &held["quarantine"]), (&json!("draft"), &json!("app by tenant of acme")));
    say(&site, &acme.tenant, "held", "release").await.refused(403, "forbidden");
    let released = say(&site, ADMIN, "held", "release").await.expect(200);
    assert_eq!((&released["state"], &released["quarantine"]), (&json!("published"), &json!(null)));
}

#[tokio::test]
async fn without_a_verdict_nothing_is_published() {
    let (site, acme) = governed().await;
    for version in ["odd", "other"] {
        for (token, word) in [(&*acme.tenant, "publish"), (ADMIN, "release")] {
            let reply = say(&site, token, version, word).await;
            reply.refused(503, "policy_unavailable");
            assert_eq!(reply.header("retry-after"), "1");
        }
        let draft = shown(&site, version).await;
        assert_eq!((&draft["state"], &draft["quarantine"]), (&json!("draft"), &json!(null)));
    }
}

#[tokio::test]
async fn an_endpoint_is_asked_and_failing_that_nothing_is_published() {
    use axum::Json;
    use axum::routing::post;
    let app = axum::Router::new().route(
        "/v1/data/deltaci/publish",
        post(async |Json(asked): Json<Value>| match asked["input"]["version"].as_str() {
            Some("good") => Json(json!({"result": {"decision": "allow"}})),
            Some("held") => Json(json!({"result": {"decision": "quarantine", "reason": "not today"}})),
            Some("odd") => Json(json!({"result": true})),
            _ => Json(json!({})),
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it listens");
    let serving = tokio::spawn(serve(listener, app));
    let judge =
        Judge::from_address(&format!("http://{address}/v1/data/deltaci/publish")).expect("an address");
    let (site, acme) = governed_by(judge).await;
    say(&site, &acme.tenant, "good", "publish").await.expect(200);
    let problem = say(&site, &acme.tenant, "held", "publish").await.refused(409, "quarantined");
    assert!(text(&problem["detail"]).contains("not today"));
    say(&site, &acme.tenant, "odd", "publish").await.refused(503, "policy_unavailable");
    say(&site, &acme.tenant, "other", "publish").await.refused(503, "policy_unavailable");
    serving.abort();
    assert_eq!(shown(&site, "other").await["state"], "draft");
    // Published is published, whoever is away.
    say(&site, &acme.tenant, "good", "publish").await.expect(200);
}

async fn serve(listener: tokio::net::TcpListener, app: axum::Router) {
    while let Ok((socket, _)) = listener.accept().await {
        let service = hyper_util::service::TowerToHyperService::new(app.clone());
        let socket = hyper_util::rt::TokioIo::new(socket);
        tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(socket, service));
    }
}
