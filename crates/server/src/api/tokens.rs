//! Tokens: made, listed, revoked. The secret is in one answer, the one that makes it, and nowhere else.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use decisions::Answer;
use decisions::records::{Token, TokenKind as Kind};
use decisions::tokens::{CreateToken, RevokeToken, TokenScope};
use store::Store;
use wire::api::{self, MintedToken, Page, TokenKind, TokenView};
use wire::{TenantId, TokenId};

use crate::api::document::Routes;
use crate::api::guard::{AdminAccess, TenantAccess};
use crate::api::input::{Asked, Input, Item, ListQuery, cut};
use crate::api::problem::Problem;
use crate::api::state::Api;
use crate::mint::Mint;

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes
        .add::<__path_create, _, _>(create::<S>)
        .add::<__path_list, _, _>(list::<S>)
        .add::<__path_revoke, _, _>(revoke::<S>)
        .add::<__path_create_shared, _, _>(create_shared::<S>)
        .add::<__path_list_shared, _, _>(list_shared::<S>)
        .add::<__path_revoke_shared, _, _>(revoke_shared::<S>)
}

/// Make a token of this tenant
#[utoipa::path(post, path = "/v1/tenants/{tenant}/tokens", tag = "tokens", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name")),
    request_body = CreateTenantToken,
    responses((status = 201, description = "The token; its secret is shown this once", body = MintedToken)))]
async fn create<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Input(asked): Input<api::CreateToken>,
) -> Result<(StatusCode, Json<MintedToken>), Problem> {
    minted(&api, Some(tenant), asked).await
}

/// List this tenant's tokens, without their secrets
#[utoipa::path(get, path = "/v1/tenants/{tenant}/tokens", tag = "tokens", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"), ListQuery),
    responses((status = 200, description = "A page of tokens", body = Page<TokenView>)))]
async fn list<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Asked(query): Asked<ListQuery>,
) -> Result<Json<Page<TokenView>>, Problem> {
    listed(&api, Some(tenant), &query).await
}

/// Revoke a token of this tenant
#[utoipa::path(delete, path = "/v1/tenants/{tenant}/tokens/{id}", tag = "tokens", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"),
        ("id" = String, Path, description = "A token's id")),
    responses((status = 204, description = "It opens nothing any more")))]
async fn revoke<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Item(id): Item,
) -> Result<StatusCode, Problem> {
    revoked(&api, TokenScope::Tenant(tenant), &id).await
}

/// Make a token of no tenant: for runners shared by all, or for another administrator
#[utoipa::path(post, path = "/v1/admin/tokens", tag = "tokens", security(("token" = [])),
    request_body = CreateSharedToken,
    responses((status = 201, description = "The token; its secret is shown this once", body = MintedToken)))]
async fn create_shared<S: Store>(
    State(api): State<Api<S>>,
    _: AdminAccess,
    Input(asked): Input<api::CreateToken>,
) -> Result<(StatusCode, Json<MintedToken>), Problem> {
    minted(&api, None, asked).await
}

/// List the tokens of no tenant, without their secrets
#[utoipa::path(get, path = "/v1/admin/tokens", tag = "tokens", security(("token" = [])),
    params(ListQuery),
    responses((status = 200, description = "A page of tokens", body = Page<TokenView>)))]
async fn list_shared<S: Store>(
    State(api): State<Api<S>>,
    _: AdminAccess,
    Asked(query): Asked<ListQuery>,
) -> Result<Json<Page<TokenView>>, Problem> {
    listed(&api, None, &query).await
}

/// Revoke any token
#[utoipa::path(delete, path = "/v1/admin/tokens/{id}", tag = "tokens", security(("token" = [])),
    params(("id" = String, Path, description = "A token's id")),
    responses((status = 204, description = "It opens nothing any more")))]
async fn revoke_shared<S: Store>(
    State(api): State<Api<S>>,
    _: AdminAccess,
    Item(id): Item,
) -> Result<StatusCode, Problem> {
    revoked(&api, TokenScope::Any, &id).await
}

async fn minted<S: Store>(
    api: &Api<S>,
    tenant: Option<TenantId>,
    asked: api::CreateToken,
) -> Result<(StatusCode, Json<MintedToken>), Problem> {
    let id = Mint.token(api.engine.clock().now());
    let secret = Mint.token_secret(id);
    let kind = match asked.kind {
        TokenKind::Admin => Kind::Admin,
        TokenKind::Tenant => Kind::Tenant,
        TokenKind::Runner => Kind::Runner,
    };
    let command = CreateToken { id, hash: secret.hash(), kind, tenant, name: asked.name.clone() };
    let Answer::TokenCreated = api.engine.perform(command).await? else { return Err(Problem::internal()) };
    let minted =
        MintedToken { id, token: secret, kind: asked.kind, name: asked.name, state: "active".into() };
    Ok((StatusCode::CREATED, Json(minted)))
}

async fn listed<S: Store>(
    api: &Api<S>,
    tenant: Option<TenantId>,
    query: &ListQuery,
) -> Result<Json<Page<TokenView>>, Problem> {
    let (limit, after) = (query.limit()?, query.after::<TokenId>()?);
    let mut tokens = api.engine.store().tokens_of(tenant, after, limit + 1).await?;
    let next = cut(&mut tokens, limit).map(|token| token.id.to_string());
    Ok(Json(Page { items: tokens.into_iter().map(view).collect(), next }))
}

/// Forgotten on this server before the answer, so that whoever was told does not see it work again.
async fn revoked<S: Store>(api: &Api<S>, scope: TokenScope, id: &str) -> Result<StatusCode, Problem> {
    let id: TokenId = id.parse().map_err(|_| Problem::from(decisions::Refusal::TokenNotFound))?;
    let answer = api.engine.perform(RevokeToken { id, scope }).await;
    api.vault.forget(id);
    let Answer::TokenRevoked = answer? else { return Err(Problem::internal()) };
    Ok(StatusCode::NO_CONTENT)
}

fn view(token: Token) -> TokenView {
    TokenView {
        id: token.id,
        state: if token.revoked_at.is_some() { "revoked" } else { "active" }.into(),
        kind: match token.kind {
            Kind::Admin => TokenKind::Admin,
            Kind::Tenant => TokenKind::Tenant,
            Kind::Runner => TokenKind::Runner,
        },
        name: token.name,
        created_at: token.created_at,
        revoked_at: token.revoked_at,
    }
}

/// What may be asked for of a tenant. Only described, like the next: one type reads both requests, and the decision
/// says why a kind is refused.
#[derive(utoipa::ToSchema)]
#[allow(dead_code, reason = "only described")]
struct CreateTenantToken {
    kind: TenantTokenKind,
    /// For people: whose it is, what it is for.
    #[schema(max_length = 200, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$", required = false)]
    name: String,
}

#[derive(utoipa::ToSchema)]
#[allow(dead_code, reason = "only described")]
#[schema(rename_all = "lowercase")]
enum TenantTokenKind {
    Tenant,
    Runner,
}

/// What may be asked for without a tenant.
#[derive(utoipa::ToSchema)]
#[allow(dead_code, reason = "only described")]
struct CreateSharedToken {
    kind: SharedTokenKind,
    /// For people: whose it is, what it is for.
    #[schema(max_length = 200, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$", required = false)]
    name: String,
}

#[derive(utoipa::ToSchema)]
#[allow(dead_code, reason = "only described")]
#[schema(rename_all = "lowercase")]
enum SharedTokenKind {
    Admin,
    Runner,
}
