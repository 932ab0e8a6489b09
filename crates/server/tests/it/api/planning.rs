//! Runs that are planned from their repository, and what keeps a plan from being made.

use std::sync::Arc;
use std::time::{Duration, Instant};

use decisions::Policy;
use decisions::records::Trust;
use decisions::runs::{CreateRun, RunOrigin};
use serde_json::{Value, json};
use server::{Clock, Engine};
use store::{Memory, Store};
use tokio::net::{TcpListener, TcpStream};
use wire::RunId;

use crate::api::site::{PATIENCE, Site, Tenant, on_each_store};

on_each_store!(
    a_repository_that_cannot_be_read_is_named_with_the_reason,
    a_cancel_wins_over_a_plan_that_is_on_its_way,
    no_more_than_two_repositories_are_read_at_once,
);

/// A git server that takes connections and says nothing.
struct Silent {
    listener: TcpListener,
}

impl Silent {
    async fn new() -> Silent {
        Silent { listener: TcpListener::bind("127.0.0.1:0").await.expect("a port") }
    }

    fn repository(&self, name: &str) -> Value {
        let address = self.listener.local_addr().expect("bound");
        json!({"repository": format!("git://{address}/{name}"), "ref": "main"})
    }

    async fn visitor(&self) -> TcpStream {
        let visitor = tokio::time::timeout(PATIENCE, self.listener.accept()).await;
        visitor.expect("somebody comes").expect("accepted").0
    }
}

async fn trigger<S: Store>(site: &Site<S>, tenant: &Tenant, trigger: Value) -> String {
    let made = site.post(&tenant.tenant, &format!("{}/runs", tenant.path), trigger).await.expect(201);
    format!("{}/runs/{}", tenant.path, made["id"].as_str().expect("an id"))
}

async fn ended<S: Store>(site: &Site<S>, tenant: &Tenant, path: &str) -> Value {
    let began = Instant::now();
    loop {
        let run = site.get(&tenant.tenant, path).await.expect(200);
        if run["finished_at"].is_string() {
            return run;
        }
        assert!(began.elapsed() < PATIENCE, "{run}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn a_repository_that_cannot_be_read_is_named_with_the_reason<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    for (asked, reason) in [
        (json!({"repository": "/nowhere/at/all"}), "does not appear to be a git repository"),
        (json!({"repository": "ext::sh -c true"}), "write https://"),
        (json!({"repository": "/nowhere", "ref": "--upload-pack=x"}), "must not begin with `-`"),
        (json!({"repository": "/nowhere", "commit": "abc"}), "give the full id"),
    ] {
        let path = trigger(&site, &acme, asked).await;
        let run = ended(&site, &acme, &path).await;
        assert_eq!(run["outcome"], "FAILED");
        assert!(run["status_message"].as_str().is_some_and(|text| text.contains(reason)), "{run}");
    }
}

async fn a_cancel_wins_over_a_plan_that_is_on_its_way<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let silent = Silent::new().await;
    let path = trigger(&site, &acme, silent.repository("a")).await;
    let visitor = silent.visitor().await;
    site.post(&acme.tenant, &format!("{path}/cancel"), json!({"reason": "not needed"})).await.expect(202);
    assert_eq!(ended(&site, &acme, &path).await["outcome"], "CANCELED");
    drop(visitor);
    // The planner's own word comes later, and changes nothing.
    let next = trigger(&site, &acme, json!({"repository": "/nowhere"})).await;
    ended(&site, &acme, &next).await;
    assert_eq!(ended(&site, &acme, &path).await["outcome"], "CANCELED");
}

async fn no_more_than_two_repositories_are_read_at_once<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let silent = Silent::new().await;
    let mut paths = Vec::new();
    for name in ["a", "b", "c"] {
        paths.push(trigger(&site, &acme, silent.repository(name)).await);
    }
    let (first, second) = (silent.visitor().await, silent.visitor().await);
    let third = tokio::time::timeout(Duration::from_millis(200), silent.listener.accept()).await;
    assert!(third.is_err(), "there are two places");
    drop(first);
    let third = silent.visitor().await;
    drop((second, third));
    for path in paths {
        assert_eq!(ended(&site, &acme, &path).await["outcome"], "FAILED");
    }
}

#[tokio::test]
async fn who_takes_too_long_is_told_how_to_get_more_time() {
    let policy = Policy { plan_timeout: Duration::from_secs(2), ..Policy::default() };
    let site = Site::open(Arc::new(Memory::default()), policy, None).await;
    let acme = site.tenant("acme").await;
    let silent = Silent::new().await;
    let path = trigger(&site, &acme, silent.repository("a")).await;
    let _visitor = silent.visitor().await;
    let run = ended(&site, &acme, &path).await;
    assert!(run["status_message"].as_str().is_some_and(|text| text.contains("--plan-timeout")), "{run}");
}

#[tokio::test]
async fn a_server_that_starts_again_plans_what_the_one_before_left() {
    let site = crate::api::site::in_memory().await;
    let acme = site.tenant("acme").await;
    let silent = Silent::new().await;
    let path = trigger(&site, &acme, silent.repository("a")).await;
    let first = silent.visitor().await;
    let (server, store, folder) = site.into_parts();
    // A repository that says nothing holds nobody up.
    let began = Instant::now();
    server.stop().await;
    assert!(began.elapsed() < PATIENCE / 3);
    drop(first);
    let site = Site::open(store, Policy::default(), folder).await;
    drop(silent.visitor().await);
    assert_eq!(ended(&site, &acme, &path).await["outcome"], "FAILED");
}

/// Another server took it and died, or nobody knows whether its commit came through: no hint of it comes here.
#[tokio::test]
async fn a_run_that_nobody_plans_is_found() {
    let site = crate::api::site::in_memory().await;
    let acme = site.tenant("acme").await;
    let tenant = site.get(&acme.tenant, &acme.path).await.expect(200);
    let elsewhere = Engine::start(site.store.clone(), Clock::start(), Policy::default());
    let create = CreateRun {
        id: RunId::from_u128(7),
        tenant: tenant["id"].as_str().expect("an id").parse().expect("a tenant's id"),
        trigger_key: None,
        origin: RunOrigin { repository: Some("/nowhere".into()), ..RunOrigin::default() },
        trust: Trust::Trusted,
        fail_fast: false,
        plan: None,
    };
    elsewhere.perform(create).await.expect("a run");
    elsewhere.stop().await;
    let run = ended(&site, &acme, &format!("{}/runs/{}", acme.path, RunId::from_u128(7))).await;
    assert!(run["status_message"].as_str().is_some_and(|text| text.contains("git repository")), "{run}");
}
