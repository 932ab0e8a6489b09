//! The guard: who calls, and what that opens. The one place where tokens are checked and tenants are told apart.
//!
//! | token | admin routes | its tenant's routes | another tenant's | runner routes |
//! |---|---|---|---|---|
//! | admin | yes | yes, of every tenant | | yes, as a runner shared by all |
//! | tenant | 403 | yes | 404 | 403 |
//! | runner of a tenant | 403 | 403 | 404 | yes, for its tenant |
//! | runner shared by all | 403 | 403 | 403 | yes, for every tenant |
//!
//! No token, an unknown or a revoked one: 401. A thing of another tenant looks exactly like one that does not exist.

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use store::Store;
use wire::{TenantId, TokenSecret};

use crate::api::input::path_part;
use crate::api::problem::Problem;
use crate::api::state::Api;
use crate::api::vault::Caller;

/// An operator.
pub struct AdminAccess;

/// Somebody who may act within this tenant.
pub struct TenantAccess {
    pub tenant: TenantId,
}

/// A runner, of one tenant or (`None`) shared by all.
pub struct RunnerAccess {
    pub scope: Option<TenantId>,
}

impl<S: Store> FromRequestParts<Api<S>> for AdminAccess {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api<S>) -> Result<Self, Problem> {
        match caller(parts, api).await? {
            Caller::Admin => Ok(AdminAccess),
            Caller::Tenant(_) | Caller::Runner(_) => {
                Err(Problem::forbidden("this is for administrators: use an admin token"))
            }
        }
    }
}

impl<S: Store> FromRequestParts<Api<S>> for RunnerAccess {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api<S>) -> Result<Self, Problem> {
        match caller(parts, api).await? {
            Caller::Admin => Ok(RunnerAccess { scope: None }),
            Caller::Runner(scope) => Ok(RunnerAccess { scope }),
            Caller::Tenant(_) => Err(Problem::forbidden("this is for runners: use a runner token")),
        }
    }
}

impl<S: Store> FromRequestParts<Api<S>> for TenantAccess {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api<S>) -> Result<Self, Problem> {
        let caller = caller(parts, api).await?;
        let wrong_kind = Problem::forbidden("runners lease jobs and nothing else: use a tenant token");
        if caller == Caller::Runner(None) {
            return Err(wrong_kind);
        }
        let named = path_part(parts, api, "tenant").await?;
        let found = api.vault.tenant(api.engine.store(), &named, api.engine.clock().now()).await?;
        let found = found.ok_or_else(tenant_not_found)?;
        match caller {
            Caller::Admin => Ok(TenantAccess { tenant: found }),
            Caller::Tenant(own) if own == found => Ok(TenantAccess { tenant: found }),
            Caller::Runner(Some(own)) if own == found => Err(wrong_kind),
            Caller::Tenant(_) | Caller::Runner(_) => Err(tenant_not_found()),
        }
    }
}

pub fn tenant_not_found() -> Problem {
    decisions::Refusal::TenantNotFound.into()
}

async fn caller<S: Store>(parts: &Parts, api: &Api<S>) -> Result<Caller, Problem> {
    let given = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = given.and_then(bearer).ok_or_else(Problem::unauthorized)?;
    let secret = TokenSecret::from(token.to_owned());
    let now = api.engine.clock().now();
    api.vault.caller(api.engine.store(), &secret, now).await?.ok_or_else(Problem::unauthorized)
}

/// The scheme's name may be written in any case.
fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
