//! Subscriptions: who is told of a tenant's events. A secret goes in and never comes out.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use decisions::records::{Webhook, WebhookKey};
use decisions::tenants::{EVENTS, PutWebhook, RemoveWebhook};
use decisions::{Answer, Refusal};
use store::Store;
use wire::api::{self, Page, WebhookView};

use crate::api::document::Routes;
use crate::api::guard::TenantAccess;
use crate::api::input::{Asked, Input, ListQuery, cut, path_part};
use crate::api::problem::Problem;
use crate::api::state::Api;
use crate::outbox::is_usable_secret;

const NAME_LENGTH_MAX: usize = 63;
const SECRET_LENGTHS: std::ops::RangeInclusive<usize> = 16..=256;

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes
        .add::<__path_put, _, _>(put::<S>)
        .add::<__path_get, _, _>(get::<S>)
        .add::<__path_remove, _, _>(remove::<S>)
        .add::<__path_list, _, _>(list::<S>)
}

/// The `{name}` of a path.
struct Name(String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        path_part(parts, state, "name").await.map(Name)
    }
}

/// Subscribe to events of this tenant, or change a subscription
///
/// Deliveries are POSTed as JSON and signed as Standard Webhooks has it: `webhook-id`, `webhook-timestamp`,
/// `webhook-signature`. A message may come more than once, always with the same `webhook-id`. Any 2xx within ten seconds
/// is taken as yes; redirects are not followed. Beside `http://` and `https://` there are `nats://HOST:PORT/SUBJECT`,
/// `nats:SUBJECT` (the server's own NATS) and `log:` (its log).
#[utoipa::path(put, path = "/v1/tenants/{tenant}/webhooks/{name}", tag = "webhooks", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("name" = String, Path, description = "1 to 63 of the characters A-Z, a-z, 0-9, `.`, `_` and `-`")),
    request_body = api::PutWebhook,
    responses((status = 200, description = "The subscription, without its secret", body = WebhookView),
        (status = 409, description = "The tenant is not ready", body = api::Problem,
            content_type = "application/problem+json")))]
async fn put<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Name(name): Name,
    Input(asked): Input<api::PutWebhook>,
) -> Result<Json<WebhookView>, Problem> {
    check(&name, &asked)?;
    api.rules.check(&asked.url).map_err(|problem| Problem::invalid("url", problem))?;
    let (url, mut events) = (asked.url.clone(), asked.events);
    events.sort();
    events.dedup();
    let view = WebhookView {
        id: name.clone(),
        state: "active".into(),
        name: name.clone(),
        url: crate::outbox::shown(&url),
        events: events.clone(),
        ordered: asked.ordered,
    };
    let command =
        PutWebhook { tenant, name, url, events, secret: asked.secret.into(), ordered: asked.ordered };
    let Answer::WebhookPut = api.engine.perform(command).await? else { return Err(Problem::internal()) };
    Ok(Json(view))
}

fn check(name: &str, asked: &api::PutWebhook) -> Result<(), Problem> {
    let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'.' | b'_' | b'-');
    if !(1..=NAME_LENGTH_MAX).contains(&name.len()) || !name.bytes().all(is_letter) {
        let expected = format!("expected 1 to {NAME_LENGTH_MAX} of A-Z, a-z, 0-9, `.`, `_` and `-`");
        return Err(Problem::invalid("name", expected));
    }
    if asked.events.is_empty() || asked.events.len() > EVENTS.len() * 2 {
        return Err(Problem::invalid("events", format!("name some of {}", EVENTS.join(", "))));
    }
    if !SECRET_LENGTHS.contains(&asked.secret.chars().count()) || !is_usable_secret(&asked.secret) {
        return Err(Problem::invalid("secret", "expected `whsec_` and base64, or 16 to 256 characters"));
    }
    Ok(())
}

/// Look at a subscription
#[utoipa::path(get, path = "/v1/tenants/{tenant}/webhooks/{name}", tag = "webhooks", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("name" = String, Path, description = "The subscription's name")),
    responses((status = 200, description = "The subscription, without its secret", body = WebhookView)))]
async fn get<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Name(name): Name,
) -> Result<Json<WebhookView>, Problem> {
    let found = api.engine.store().webhook(&WebhookKey { tenant, name }).await?;
    let found = found.filter(|webhook| !webhook.removed).ok_or(Refusal::WebhookNotFound)?;
    Ok(Json(view(found)))
}

/// Unsubscribe
///
/// What was written and not yet delivered can no longer be signed: it becomes a dead letter, unless the subscription is put
/// back before its last try.
#[utoipa::path(delete, path = "/v1/tenants/{tenant}/webhooks/{name}", tag = "webhooks", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("name" = String, Path, description = "The subscription's name")),
    responses((status = 204, description = "Nothing more is told")))]
async fn remove<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Name(name): Name,
) -> Result<StatusCode, Problem> {
    let answer = api.engine.perform(RemoveWebhook { tenant, name }).await?;
    let Answer::WebhookRemoved = answer else { return Err(Problem::internal()) };
    Ok(StatusCode::NO_CONTENT)
}

/// List this tenant's subscriptions, without their secrets
#[utoipa::path(get, path = "/v1/tenants/{tenant}/webhooks", tag = "webhooks", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"), ListQuery),
    responses((status = 200, description = "A page of subscriptions", body = Page<WebhookView>)))]
async fn list<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Asked(query): Asked<ListQuery>,
) -> Result<Json<Page<WebhookView>>, Problem> {
    let limit = query.limit()?;
    let after = query.after.as_deref().filter(|after| !after.contains('\0'));
    let mut webhooks = api.engine.store().webhooks_of(tenant, after, limit + 1).await?;
    let next = cut(&mut webhooks, limit).map(|webhook| webhook.key.name.clone());
    Ok(Json(Page { items: webhooks.into_iter().map(view).collect(), next }))
}

fn view(webhook: Webhook) -> WebhookView {
    WebhookView {
        id: webhook.key.name.clone(),
        state: "active".into(),
        name: webhook.key.name,
        url: crate::outbox::shown(&webhook.url),
        events: webhook.events,
        ordered: webhook.ordered,
    }
}
