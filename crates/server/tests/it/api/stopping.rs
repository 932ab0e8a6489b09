//! Stopping and starting again: nobody is left hanging, and what was granted stays granted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use decisions::Policy;
use decisions::tenants::EnsureTenant;
use hyper::body::Bytes;
use serde_json::json;
use server::Mint;
use server::artifacts::Judge;
use server::outbox::Rules;
use server::serve::{Duty, STOP_TIME_MAX, Server, Settings};
use store::Memory;
use store::blobs::Blobs;

use crate::api::site::{ADMIN, PATIENCE, Site, bearer, in_file, in_memory, open};
use crate::watched::Watched;

#[tokio::test]
async fn a_runner_that_waits_is_sent_away_when_the_server_stops() {
    let site = in_memory().await;
    let acme = site.tenant("acme").await;
    let (address, auth) = (site.address(), bearer(&acme.runner));
    let waiting = tokio::spawn(async move {
        let headers = [("authorization", auth.as_str()), ("content-type", "application/json")];
        let body = json!({"runner_id": "r1", "wait_seconds": 60}).to_string();
        open(address, "POST", "/v1/runner/lease", &headers, body.into()).await.status()
    });
    let began = Instant::now();
    while !site.send("GET", "/metrics", &[], Bytes::new()).await.text().contains("leases_waiting 1\n") {
        assert!(began.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let began = Instant::now();
    site.into_parts().0.stop().await;
    assert_eq!(waiting.await.expect("the client lives"), 204);
    assert!(began.elapsed() < STOP_TIME_MAX, "it was not waited for");
}

#[tokio::test]
async fn a_lease_survives_a_restart() {
    let site = in_file().await;
    let acme = site.tenant("acme").await;
    let (job, lease) = site.active_job(&acme).await;
    let (server, store, folder) = site.into_parts();
    server.stop().await;
    let site = Site::open(store, Policy::default(), folder).await;
    site.complete(&acme, &lease, "SUCCEEDED", 0).await.expect(200);
    let shown = site.get(&acme.tenant, &format!("{}/jobs/{job}", acme.path)).await.expect(200);
    assert_eq!(shown["state"], "SUCCEEDED");
}

#[tokio::test]
async fn a_store_that_hangs_does_not_keep_a_server_from_ending() {
    let store = Arc::new(Watched::held(Memory::default()));
    store.release_one(); // for the tenant that every server has
    let site = Site::open(store.clone(), Policy::default(), None).await;
    store.save_waits().await;
    let engine = site.server.engine().clone();
    let create = EnsureTenant { id: Mint.tenant(engine.clock().now()), name: "late".into() };
    let hanging = tokio::spawn(async move { engine.perform(create).await });
    store.save_waits().await;
    tokio::time::pause();
    tokio::time::timeout(PATIENCE * 10, site.into_parts().0.stop()).await.expect("it ends");
    assert!(!hanging.is_finished(), "nobody is told of what is not known");
}

#[tokio::test]
async fn an_admin_token_is_minted_at_the_first_start_only() {
    let store: Arc<Memory> = Arc::default();
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let blobs = Blobs::open(folder.path().to_str().expect("a text")).await.expect("a new folder");
    let settings = || Settings {
        listen: Some(([127, 0, 0, 1], 0).into()),
        duty: Duty::All,
        policy: Policy::default(),
        admin_token: None,
        blobs: blobs.clone(),
        judge: Judge::Absent,
        outbox: Rules::default(),
        collect_every: Duration::from_secs(3600),
        archive_logs_after: None,
        mirrors: None,
    };
    let server = Server::start(store.clone(), settings()).await.expect("it starts");
    let minted = server.minted.clone().expect("there was none");
    server.stop().await;
    let server = Server::start(store.clone(), settings()).await.expect("it starts again");
    assert_eq!(server.minted, None);
    let address = server.address.expect("it listens");
    let headers = [("authorization", &*bearer(minted.expose()))];
    let reply = open(address, "GET", "/v1/tenants", &headers, Bytes::new()).await;
    assert_eq!(reply.status(), 200);
    let headers = [("authorization", &*bearer(ADMIN))];
    let reply = open(address, "GET", "/v1/tenants", &headers, Bytes::new()).await;
    assert_eq!(reply.status(), 401);
    server.stop().await;
}
