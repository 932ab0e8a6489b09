//! The outbox as operators see it: what was told, what was not, and once more with what was given up.

use axum::Json;
use axum::extract::State;
use decisions::deliveries::RedriveDelivery;
use decisions::records::Delivery;
use decisions::{Answer, Refusal};
use machines::{Machine, delivery};
use store::Store;
use wire::MessageId;
use wire::api::{DeliveryView, Page};

use crate::api::document::Routes;
use crate::api::guard::AdminAccess;
use crate::api::input::{Asked, Item, cut, limit, limit_schema, parsed};
use crate::api::problem::Problem;
use crate::api::state::Api;

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes.add::<__path_list, _, _>(list::<S>).add::<__path_redrive, _, _>(redrive::<S>)
}

#[derive(Debug, Default, serde::Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct OutboxQuery {
    /// Only those in this state.
    #[param(value_type = Option<DeliveryState>, nullable = false)]
    state: Option<String>,
    /// The most items, 100 without it; more than 1,000 is taken as 1,000.
    #[param(schema_with = limit_schema)]
    limit: Option<String>,
    /// `next` of the page before.
    #[param(nullable = false)]
    after: Option<String>,
}

/// The states of a delivery. Only described: the machine reads them.
#[derive(utoipa::ToSchema)]
#[allow(dead_code, reason = "only described")]
#[schema(rename_all = "snake_case")]
enum DeliveryState {
    Pending,
    Delivering,
    Delivered,
    RetryWait,
    DeadLetter,
}

/// List deliveries of all tenants, the oldest first
#[utoipa::path(get, path = "/v1/admin/outbox", tag = "outbox", security(("token" = [])), params(OutboxQuery),
    responses((status = 200, description = "A page of deliveries", body = Page<DeliveryView>)))]
async fn list<S: Store>(
    State(api): State<Api<S>>,
    _: AdminAccess,
    Asked(query): Asked<OutboxQuery>,
) -> Result<Json<Page<DeliveryView>>, Problem> {
    let limit = limit(query.limit.as_deref())?;
    let after = parsed::<MessageId>("after", query.after.as_deref())?;
    let store = api.engine.store();
    let mut deliveries = match query.state.as_deref().filter(|state| !state.is_empty()) {
        None => store.deliveries_after(after, limit + 1).await?,
        Some(state) => {
            let state = delivery::State::parse(state).ok_or_else(no_such_state)?;
            store.deliveries_in(state, after, limit + 1).await?
        }
    };
    let next = cut(&mut deliveries, limit).map(|delivery| delivery.id.to_string());
    Ok(Json(Page { items: deliveries.into_iter().map(view).collect(), next }))
}

fn no_such_state() -> Problem {
    let states: Vec<&str> = delivery::State::STATES.iter().map(|state| state.as_str()).collect();
    Problem::invalid("state", format!("expected one of {}", states.join(", ")))
}

/// Send a dead letter again, its tries counted from zero
#[utoipa::path(post, path = "/v1/admin/outbox/{id}/redrive", tag = "outbox", security(("token" = [])),
    params(("id" = String, Path, description = "A delivery's id")),
    responses((status = 200, description = "It waits to be delivered", body = DeliveryView),
        (status = 409, description = "It is no dead letter", body = wire::api::Problem,
            content_type = "application/problem+json")))]
async fn redrive<S: Store>(
    State(api): State<Api<S>>,
    _: AdminAccess,
    Item(id): Item,
) -> Result<Json<DeliveryView>, Problem> {
    let id: MessageId = id.parse().map_err(|_| Problem::from(Refusal::DeliveryNotFound))?;
    let answer = api.engine.perform(RedriveDelivery { delivery: id }).await?;
    let Answer::Settled { .. } = answer else { return Err(Problem::internal()) };
    let before = id.as_u128().checked_sub(1).map(MessageId::from_u128);
    let found = api.engine.store().deliveries_after(before, 1).await?;
    let found = found.into_iter().find(|delivery| delivery.id == id).ok_or(Refusal::DeliveryNotFound)?;
    Ok(Json(view(found)))
}

fn view(delivery: Delivery) -> DeliveryView {
    DeliveryView {
        id: delivery.id,
        tenant_id: delivery.tenant,
        state: delivery.state.get().as_str().into(),
        event: delivery.event,
        subject: delivery.subject,
        url: crate::outbox::shown(&delivery.url),
        tries: delivery.tries,
        last_error: delivery.last_error,
        due_at: delivery.due_at,
        created_at: delivery.created_at,
        delivered_at: delivery.delivered_at,
    }
}
