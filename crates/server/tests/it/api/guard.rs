//! Who sees what: on every route of the document, with every kind of token.

use hyper::body::Bytes;
use serde_json::{Value, json};
use store::Store;

use crate::api::site::{ADMIN, Reply, Site, Tenant, bearer, on_each_store};

on_each_store!(
    without_a_valid_token_every_guarded_route_is_closed,
    a_second_tenant_sees_nothing_of_the_first_on_any_route,
    a_token_of_the_wrong_kind_is_told_so,
    a_lease_of_another_tenant_is_unknown,
    the_scheme_may_be_written_in_any_case,
);

/// A route of the document that asks for a token.
struct Route {
    method: String,
    path: String,
}

fn guarded<S: Store>(site: &Site<S>) -> Vec<Route> {
    let mut routes = Vec::new();
    for (path, item) in site.document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            // An answer to HEAD has no body to compare; its rules are those of GET.
            if operation["security"].is_array() && method != "head" {
                routes.push(Route { method: method.to_uppercase(), path: path.clone() });
            }
        }
    }
    assert!(routes.len() > 20, "the document lists the routes");
    routes
}

/// The first tenant's things, by the part of the path that names their kind.
struct Things(Vec<(&'static str, String)>);

impl Things {
    async fn of<S: Store>(site: &Site<S>, tenant: &Tenant) -> Things {
        let plan = json!({"plan": {"jobs": [{"name": "a", "steps": ["true"]}]}});
        let run = site.post(&tenant.tenant, &format!("{}/runs", tenant.path), plan).await.expect(201);
        let tokens = site.get(&tenant.tenant, &format!("{}/tokens", tenant.path)).await.expect(200);
        let announced = json!({"digest": format!("sha256:{}", "0".repeat(64)), "length": 1});
        let upload =
            site.post(&tenant.tenant, &format!("{}/uploads", tenant.path), announced).await.expect(201);
        let text = |value: &Value| value.as_str().expect("an id").to_string();
        Things(vec![
            ("runs", text(&run["id"])),
            ("jobs", text(&run["jobs"][0]["id"])),
            ("tokens", text(&tokens["items"][0]["id"])),
            ("uploads", text(&upload["id"])),
            ("caches", "cache_00000000000000000000000002".into()),
            ("gc", "gc_00000000000000000000000002".into()),
        ])
    }

    fn path(&self, template: &str, tenant: &str) -> String {
        let named = self.0.iter().find(|(kind, _)| template.contains(&format!("/{kind}/{{id}}")));
        let id = named.map_or("", |(_, id)| id);
        plain(template).replace("{tenant}", tenant).replace("{id}", id)
    }

    /// A route with an id of the same kind that nothing has.
    fn path_to_nothing(&self, template: &str, tenant: &str) -> String {
        let named = self.0.iter().find(|(kind, _)| template.contains(&format!("/{kind}/{{id}}")));
        let id = named.map_or(String::new(), |(_, id)| {
            let prefix = id.split('_').next().expect("a prefix");
            format!("{prefix}_00000000000000000000000001")
        });
        plain(template).replace("{tenant}", tenant).replace("{id}", &id)
    }
}

/// Things that are named and not numbered have the same names for everybody.
fn plain(template: &str) -> String {
    let names = [("{digest}", &*format!("sha256:{}", "0".repeat(64))), ("{name}", "app"), ("{version}", "1")];
    let named = names.iter().fold(template.to_string(), |path, (part, name)| path.replace(part, name));
    named.replace("{path}", "bin/app")
}

async fn call<S: Store>(site: &Site<S>, token: &str, route: &Route, path: &str) -> Reply {
    let headers = [("authorization", &*bearer(token)), ("content-type", "application/json")];
    let body = if route.method == "POST" { Bytes::from_static(b"{}") } else { Bytes::new() };
    site.send(&route.method, path, &headers, body).await
}

/// What two answers must share so that nobody can tell them apart.
fn looks(reply: &Reply) -> (u16, Bytes) {
    (reply.status, reply.body.clone())
}

async fn without_a_valid_token_every_guarded_route_is_closed<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let things = Things::of(&site, &acme).await;
    let strange = format!("dci_{}_{}", "0".repeat(26), "0".repeat(64));
    for route in guarded(&site) {
        let path = things.path(&route.path, "acme");
        let none = site.send(&route.method, &path, &[], Bytes::new()).await;
        let basic = site.send(&route.method, &path, &[("authorization", "Basic YTpi")], Bytes::new()).await;
        let unknown = call(&site, "something", &route, &path).await;
        let never_made = call(&site, &strange, &route, &path).await;
        let mut changed = acme.tenant.clone();
        let last = if changed.pop() == Some('0') { '1' } else { '0' };
        changed.push(last);
        let forged = call(&site, &changed, &route, &path).await;
        for reply in [none, basic, unknown, never_made, forged] {
            reply.refused(401, "unauthorized");
            assert!(reply.header("www-authenticate").starts_with("Bearer"), "{} {path}", route.method);
        }
    }
}

async fn a_second_tenant_sees_nothing_of_the_first_on_any_route<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let beta = site.tenant("beta").await;
    let things = Things::of(&site, &acme).await;
    let acme_id = site.get(ADMIN, "/v1/tenants/acme").await.expect(200)["id"].clone();
    let acme_id = acme_id.as_str().expect("an id");
    for route in guarded(&site).iter().filter(|route| route.path.contains("{tenant}")) {
        let nobody = call(&site, &beta.tenant, route, &things.path(&route.path, "nobody")).await;
        nobody.refused(404, "tenant_not_found");
        for named in ["acme", acme_id] {
            for token in [&beta.tenant, &beta.runner] {
                let theirs = call(&site, token, route, &things.path(&route.path, named)).await;
                assert_eq!(looks(&theirs), looks(&nobody), "{} {}", route.method, route.path);
            }
        }
        if route.path.contains("{id}") {
            let theirs = call(&site, &beta.tenant, route, &things.path(&route.path, "beta")).await;
            let missing =
                call(&site, &beta.tenant, route, &things.path_to_nothing(&route.path, "beta")).await;
            assert_eq!(theirs.status, 404, "{} {}", route.method, route.path);
            assert_eq!(looks(&theirs), looks(&missing), "{} {}", route.method, route.path);
        }
    }
    for (_, id) in &things.0 {
        let path = format!("/v1/tenants/beta/events?entity={id}");
        site.get(&beta.tenant, &path).await.refused(404, "entity_not_found");
    }
    let asked = json!({"runner_id": "r1", "job_id": things.0[1].1});
    site.post(&beta.runner, "/v1/runner/lease", asked).await.refused(404, "job_not_found");
    let log = site.get(&beta.tenant, "/v1/tenants/beta/events").await.expect(200).to_string();
    for (_, id) in &things.0 {
        assert!(!log.contains(id), "{id} in {log}");
    }
}

async fn a_token_of_the_wrong_kind_is_told_so<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let things = Things::of(&site, &acme).await;
    let shared = site.post(ADMIN, "/v1/admin/tokens", json!({"kind": "runner"})).await.expect(201);
    let shared = shared["token"].as_str().expect("a token");
    for route in guarded(&site) {
        let path = things.path(&route.path, "acme");
        let wrong: &[&str] = if route.path.contains("{tenant}") {
            &[&acme.runner, shared]
        } else if route.path.starts_with("/v1/runner/") {
            &[&acme.tenant]
        } else {
            &[&acme.tenant, &acme.runner, shared]
        };
        for token in wrong {
            call(&site, token, &route, &path).await.refused(403, "forbidden");
        }
    }
}

async fn a_lease_of_another_tenant_is_unknown<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let beta = site.tenant("beta").await;
    let (job, lease) = site.active_job(&acme).await;
    for reply in [
        site.ack(&beta, &job, &lease).await,
        site.complete(&beta, &lease, "SUCCEEDED", 0).await,
        site.append(&beta, &lease, 0, b"mine now").await,
    ] {
        let stale = reply.expect(409);
        assert_eq!((&stale["type"], &stale["reason"]), (&json!("StaleLease"), &json!("LEASE_UNKNOWN")));
    }
    let shown = site.get(&acme.tenant, &format!("{}/jobs/{job}", acme.path)).await.expect(200);
    assert_eq!(shown["state"], "RUNNING");
}

async fn the_scheme_may_be_written_in_any_case<S: Store>(site: Site<S>) {
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let header = format!("{scheme} {ADMIN}");
        let headers = [("authorization", header.as_str())];
        site.send("GET", "/v1/tenants", &headers, Bytes::new()).await.expect(200);
    }
}
