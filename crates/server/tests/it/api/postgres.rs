//! The same API over PostgreSQL: one story through most of its routes, since each store has its own SQL behind them.

use decisions::Policy;
use serde_json::{Value, json};

use crate::api::site::{ADMIN, PATIENCE, Site};
use crate::stores::{InDatabase, Place};

#[tokio::test]
async fn a_story_through_most_routes_reads_the_same_on_postgresql() {
    let place = InDatabase::new();
    let site = Site::open(place.open().await, Policy::default(), None).await;
    let acme = site.tenant("acme").await;
    let beta = site.tenant("beta").await;
    let runs = format!("{}/runs", acme.path);
    let plan = json!({"trigger_key": "k", "plan": {"jobs": [{"name": "a", "runs_on": ["os:linux"]}, {"name": "b", "needs": ["a"]}]}});
    let run = site.post(&acme.tenant, &runs, plan.clone()).await.expect(201);
    assert_eq!(site.post(&acme.tenant, &runs, plan).await.expect(200), run);
    let job = run["jobs"][0]["id"].as_str().expect("an id").to_string();
    let asked = json!({"runner_id": "r1", "capabilities": ["os:linux"], "wait_seconds": 20});
    let granted = site.post(&acme.runner, "/v1/runner/lease", asked).await.expect(200);
    let lease = granted["lease_id"].as_str().expect("a lease id");
    site.ack(&acme, &job, lease).await.expect(200);
    assert_eq!(site.append(&acme, lease, 0, "zwölf\n".as_bytes()).await.expect(200), json!({"offset": 7}));
    assert_eq!(site.append(&acme, lease, 3, b"x").await.refused(416, "log_offset")["offset"], 7);
    let runners = site.get(&acme.tenant, &format!("{}/runners", acme.path)).await.expect(200);
    assert_eq!(runners["items"][0]["holds"][0]["job_id"], job);
    site.complete(&acme, lease, "SUCCEEDED", 0).await.expect(200);
    let log = site.get(&acme.tenant, &format!("{}/jobs/{job}/log", acme.path)).await;
    assert_eq!(log.text(), "zwölf\n");
    crate::api::archived::archive(&site).await;
    let log = site.get(&acme.tenant, &format!("{}/jobs/{job}/log", acme.path)).await;
    assert_eq!(log.text(), "zwölf\n", "wherever it lies");
    let shown = site.get(&acme.tenant, &format!("{}/jobs/{job}", acme.path)).await.expect(200);
    assert_eq!(
        (&shown["state"], &shown["attempts"][0]["executions"][0]["log"]["bytes"]),
        (&json!("SUCCEEDED"), &json!(7))
    );
    let page = site.get(&acme.tenant, &format!("{runs}?limit=1")).await.expect(200);
    assert_eq!((&page["items"][0]["id"], &page["next"]), (&run["id"], &Value::Null));
    for tenant in [&acme, &beta] {
        let events =
            site.get(&tenant.tenant, &format!("{}/events?limit=1000", tenant.path)).await.expect(200);
        let told = events["items"].to_string().contains(&job);
        assert_eq!(told, tenant.name == "acme", "{events}");
    }
    let entity = format!("{}/events?entity={job}/1", acme.path);
    assert!(site.get(&acme.tenant, &entity).await.expect(200)["items"][0]["machine"] == "attempt");
    let path = format!("{}/tokens", acme.path);
    let listed = site.get(ADMIN, &path).await.expect(200);
    let id = listed["items"][1]["id"].as_str().expect("an id");
    site.delete(ADMIN, &format!("{path}/{id}")).await.expect(204);
    planless(&site, &runs, &acme.tenant).await;
    site.server.stop().await;
}

async fn planless<S: store::Store>(site: &Site<S>, runs: &str, token: &str) {
    let made = site.post(token, runs, json!({})).await.expect(201);
    let path = format!("{runs}/{}", made["id"].as_str().expect("an id"));
    let began = std::time::Instant::now();
    while site.get(token, &path).await.expect(200)["outcome"] != "FAILED" {
        assert!(began.elapsed() < PATIENCE, "it ends without a plan");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}
