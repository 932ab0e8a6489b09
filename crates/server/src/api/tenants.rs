//! Tenants: made, listed, looked at. Changing and deleting them comes with provisioning.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use decisions::Answer;
use decisions::records::Tenant;
use decisions::tenants::CreateTenant;
use machines::Machine;
use serde_json::Value;
use store::Store;
use wire::TenantId;
use wire::api::{self, Page, Problem as ProblemBody, TenantView};

use crate::api::document::Routes;
use crate::api::guard::{AdminAccess, TenantAccess, tenant_not_found};
use crate::api::input::{Asked, Input, ListQuery, cut};
use crate::api::problem::Problem;
use crate::api::state::Api;
use crate::mint::Mint;

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes
        .add::<__path_create, _, _>(create::<S>)
        .add::<__path_list, _, _>(list::<S>)
        .add::<__path_show, _, _>(show::<S>)
}

/// Make a tenant
#[utoipa::path(post, path = "/v1/tenants", tag = "tenants", security(("token" = [])),
    request_body = api::CreateTenant,
    responses(
        (status = 201, description = "The tenant; `ready` at once when nothing is to be provisioned",
            body = TenantView),
        (status = 409, description = "The name is taken", body = ProblemBody,
            content_type = "application/problem+json"),
    ))]
async fn create<S: Store>(
    State(api): State<Api<S>>,
    _: AdminAccess,
    Input(asked): Input<api::CreateTenant>,
) -> Result<(StatusCode, Json<TenantView>), Problem> {
    if !asked.desired_config.is_object() {
        return Err(Problem::invalid("desired_config", "expected an object"));
    }
    let id = Mint.tenant(api.engine.clock().now());
    // Maps are kept sorted, so the text is canonical.
    let desired_config = asked.desired_config.to_string();
    let answer = api.engine.perform(CreateTenant { id, name: asked.name, desired_config }).await?;
    let Answer::TenantCreated { tenant, .. } = answer else { return Err(Problem::internal()) };
    Ok((StatusCode::CREATED, Json(shown(&api, tenant).await?)))
}

/// List tenants
#[utoipa::path(get, path = "/v1/tenants", tag = "tenants", security(("token" = [])),
    params(ListQuery),
    responses((status = 200, description = "A page of tenants", body = Page<TenantView>)))]
async fn list<S: Store>(
    State(api): State<Api<S>>,
    _: AdminAccess,
    Asked(query): Asked<ListQuery>,
) -> Result<Json<Page<TenantView>>, Problem> {
    let (limit, after) = (query.limit()?, query.after::<TenantId>()?);
    let mut tenants = api.engine.store().tenants_after(after, limit + 1).await?;
    let next = cut(&mut tenants, limit).map(|tenant| tenant.id.to_string());
    Ok(Json(Page { items: tenants.into_iter().map(view).collect(), next }))
}

/// Look at a tenant
#[utoipa::path(get, path = "/v1/tenants/{tenant}", tag = "tenants", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name")),
    responses((status = 200, description = "The tenant", body = TenantView)))]
async fn show<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
) -> Result<Json<TenantView>, Problem> {
    shown(&api, tenant).await.map(Json)
}

async fn shown<S: Store>(api: &Api<S>, id: TenantId) -> Result<TenantView, Problem> {
    api.engine.store().tenant(id).await?.map(view).ok_or_else(tenant_not_found)
}

fn view(tenant: Tenant) -> TenantView {
    TenantView {
        id: tenant.id,
        state: tenant.state.get().as_str().into(),
        config_hash: tenant.config_hash(),
        desired_config: serde_json::from_str(&tenant.desired_config).unwrap_or(Value::Null),
        name: tenant.name,
        status_message: tenant.status_message,
        workflow: None,
        version: tenant.version,
        created_at: tenant.created_at,
        updated_at: tenant.updated_at,
    }
}
