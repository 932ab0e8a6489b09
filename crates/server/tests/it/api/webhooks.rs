//! Subscriptions and the outbox over the API: what is shown, what is refused, and to whom.

use serde_json::{Value, json};
use store::Store;

use crate::api::site::{ADMIN, Site, on_each_store};

on_each_store!(
    a_subscription_is_put_shown_listed_and_removed,
    what_cannot_be_subscribed_to_is_refused_with_its_field,
    the_outbox_is_for_administrators,
    deliveries_are_listed_by_state_and_only_the_dead_are_redriven,
);

const SECRET: &str = "a secret that nobody may see";

fn wanted(change: impl FnOnce(&mut Value)) -> Value {
    let mut body = json!({"url": "https://example.org/a?key=hidden", "events": ["run.finished", "job.finished"],
        "secret": SECRET, "ordered": true});
    change(&mut body);
    body
}

async fn a_subscription_is_put_shown_listed_and_removed<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let path = format!("{}/webhooks", acme.path);
    let hook = format!("{path}/ci");
    site.get(&acme.tenant, &hook).await.refused(404, "webhook_not_found");
    let shown = json!({"id": "ci", "state": "active", "name": "ci", "url": "https://example.org/a",
        "events": ["job.finished", "run.finished"], "ordered": true});
    assert_eq!(site.put_json(&acme.tenant, &hook, wanted(|_| {})).await.expect(200), shown);
    assert_eq!(site.get(&acme.tenant, &hook).await.expect(200), shown);
    site.put_json(&acme.tenant, &format!("{path}/b"), wanted(|_| {})).await.expect(200);
    let page = site.get(&acme.tenant, &format!("{path}?limit=1")).await.expect(200);
    assert_eq!((page["items"][0]["name"].as_str(), page["next"].as_str()), (Some("b"), Some("b")));
    let rest = site.get(&acme.tenant, &format!("{path}?after=b")).await.expect(200);
    assert_eq!((&rest["items"], &rest["next"]), (&json!([shown]), &Value::Null));
    assert!(!page.to_string().contains(SECRET) && !page.to_string().contains("hidden"));
    assert_eq!(site.delete(&acme.tenant, &hook).await.status, 204);
    site.delete(&acme.tenant, &hook).await.refused(404, "webhook_not_found");
    site.get(&acme.tenant, &hook).await.refused(404, "webhook_not_found");
    site.put_json(&acme.runner, &hook, wanted(|_| {})).await.refused(403, "forbidden");
}

async fn what_cannot_be_subscribed_to_is_refused_with_its_field<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    let hook = format!("{}/webhooks/ci", acme.path);
    for (field, value) in [
        ("url", json!("http://127.0.0.1/")),
        ("url", json!("http://[::ffff:10.0.0.1]/")),
        ("url", json!("http://169.254.169.254/latest")),
        ("url", json!("ftp://example.org/")),
        ("url", json!("https://user:pass@example.org/")),
        ("url", json!("nats:a.b")),
        ("events", json!([])),
        ("events", json!(["job.began"])),
        ("secret", json!("short")),
        ("secret", json!("whsec_this is not base64 at all")),
        ("secret", json!("x".repeat(257))),
    ] {
        let reply = site.put_json(&acme.tenant, &hook, wanted(|body| body[field] = value.clone())).await;
        reply.refused(422, "invalid_input");
        assert_eq!(reply.json()["field"], field, "{value}");
    }
    let long = format!("{}/webhooks/{}", acme.path, "n".repeat(64));
    site.put_json(&acme.tenant, &long, wanted(|_| {})).await.refused(422, "invalid_input");
    let odd = format!("{}/webhooks/a%20b", acme.path);
    site.put_json(&acme.tenant, &odd, wanted(|_| {})).await.refused(422, "invalid_input");
}

async fn the_outbox_is_for_administrators<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    for token in [&acme.tenant, &acme.runner] {
        site.get(token, "/v1/admin/outbox").await.refused(403, "forbidden");
        site.post(token, "/v1/admin/outbox/msg_x/redrive", json!({})).await.refused(403, "forbidden");
    }
    site.get(ADMIN, "/v1/admin/outbox?state=lost").await.refused(422, "invalid_input");
    site.get(ADMIN, "/v1/admin/outbox?after=x").await.refused(422, "invalid_input");
    site.post(ADMIN, "/v1/admin/outbox/x/redrive", json!({})).await.refused(404, "delivery_not_found");
}

async fn deliveries_are_listed_by_state_and_only_the_dead_are_redriven<S: Store>(site: Site<S>) {
    let acme = site.tenant("acme").await;
    // A name that leads nowhere: it fails, and pauses long enough to be looked at.
    let body = wanted(|body| body["url"] = json!("http://name.invalid/x?key=hidden"));
    site.put_json(&acme.tenant, &format!("{}/webhooks/ci", acme.path), body).await.expect(200);
    let made =
        site.post(&acme.tenant, &format!("{}/jobs", acme.path), json!({"payload": 1})).await.expect(201);
    let job = made["id"].as_str().unwrap();
    site.post(&acme.tenant, &format!("{}/jobs/{job}/cancel", acme.path), json!({})).await;
    let delivery = loop {
        let page = site.get(ADMIN, "/v1/admin/outbox").await.expect(200);
        let delivery = page["items"][0].clone();
        if delivery["state"] == "retry_wait" {
            break delivery;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    assert_eq!(
        (&delivery["event"], &delivery["url"]),
        (&json!("job.finished"), &json!("http://name.invalid/x"))
    );
    assert!(delivery["last_error"].as_str().unwrap().starts_with("cannot connect"), "{delivery}");
    assert!(!delivery.to_string().contains(SECRET));
    let dead = site.get(ADMIN, "/v1/admin/outbox?state=dead_letter").await.expect(200);
    assert_eq!(dead["items"], json!([]));
    let id = delivery["id"].as_str().unwrap();
    let redrive = format!("/v1/admin/outbox/{id}/redrive");
    site.post(ADMIN, &redrive, json!({})).await.refused(409, "delivery_not_dead");
    let told = site.get(&acme.tenant, &format!("{}/events?entity={id}", acme.path)).await.expect(200);
    assert!(told["items"].as_array().unwrap().len() >= 3, "{told}");
}
