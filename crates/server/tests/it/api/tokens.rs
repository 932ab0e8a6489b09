//! Tokens: made, shown once, listed, revoked.

use serde_json::json;
use store::Store;
use wire::TokenSecret;

use crate::api::site::{ADMIN, Site, on_each_store};

on_each_store!(
    a_token_is_shown_once_and_opens_what_its_kind_says,
    a_revoked_token_opens_nothing_from_that_moment,
    tokens_of_no_tenant_are_the_administrators,
    only_the_hash_is_kept,
);

async fn a_token_is_shown_once_and_opens_what_its_kind_says<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let made =
        site.post(&acme.tenant, "/v1/tenants/acme/tokens", json!({"kind": "tenant", "name": "ci"})).await;
    let made = made.expect(201);
    let token = made["token"].as_str().expect("a token");
    site.get(token, "/v1/tenants/acme").await.expect(200);
    let listed = site.get(token, "/v1/tenants/acme/tokens").await.expect(200);
    let items = listed["items"].as_array().expect("items");
    assert_eq!(items.len(), 3);
    assert!(!listed.to_string().contains("dci_"), "{listed}");
    let mine = items.iter().find(|it| it["id"] == made["id"]).expect("it is listed");
    assert_eq!(
        (&mine["name"], &mine["state"], &mine["kind"]),
        (&json!("ci"), &json!("active"), &json!("tenant"))
    );
    for body in [
        json!({"kind": "admin"}),
        json!({"kind": "tenant", "name": "x".repeat(201)}),
        json!({"kind": "king"}),
    ] {
        site.post(ADMIN, "/v1/tenants/acme/tokens", body).await.refused(422, "invalid_input");
    }
}

async fn a_revoked_token_opens_nothing_from_that_moment<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let made = site.post(ADMIN, "/v1/tenants/acme/tokens", json!({"kind": "tenant"})).await.expect(201);
    let (id, token) = (made["id"].as_str().expect("an id"), made["token"].as_str().expect("a token"));
    site.get(token, "/v1/tenants/acme").await.expect(200);
    let path = format!("/v1/tenants/acme/tokens/{id}");
    for _ in 0..2 {
        site.delete(&acme.tenant, &path).await.expect(204); // twice: it stays revoked
    }
    site.get(token, "/v1/tenants/acme").await.refused(401, "unauthorized");
    let listed = site.get(&acme.tenant, "/v1/tenants/acme/tokens").await.expect(200);
    assert!(listed["items"].as_array().expect("items").iter().any(|it| it["state"] == "revoked"));
    site.delete(ADMIN, "/v1/tenants/acme/tokens/tok_1").await.refused(404, "token_not_found");
}

async fn tokens_of_no_tenant_are_the_administrators<S: Store>(site: Site<S>) {
    let made = site.post(ADMIN, "/v1/admin/tokens", json!({"kind": "runner"})).await.expect(201);
    let shared = made["token"].as_str().expect("a token");
    let asked = json!({"runner_id": "r1"});
    assert_eq!(site.post(shared, "/v1/runner/lease", asked.clone()).await.status, 204);
    let admin =
        site.post(ADMIN, "/v1/admin/tokens", json!({"kind": "admin", "name": "second"})).await.expect(201);
    let admin = admin["token"].as_str().expect("a token");
    let listed = site.get(admin, "/v1/admin/tokens").await.expect(200);
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(2));
    site.post(ADMIN, "/v1/admin/tokens", json!({"kind": "tenant"})).await.refused(422, "invalid_input");
    site.delete(admin, &format!("/v1/admin/tokens/{}", made["id"].as_str().expect("an id")))
        .await
        .expect(204);
    site.post(shared, "/v1/runner/lease", asked).await.refused(401, "unauthorized");
}

async fn only_the_hash_is_kept<S: Store>(site: Site<S>) {
    let secret = TokenSecret::from(site.token("default", "runner").await);
    let kept = site.store.token(secret.key().id).await.expect("the store answers").expect("it is kept");
    assert_eq!(kept.hash, secret.hash());
    assert!(!format!("{kept:?}").contains(secret.expose()));
}
