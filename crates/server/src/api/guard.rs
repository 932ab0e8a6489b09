//! The guard: who calls, and what that opens. The one place where tokens are checked and tenants are told apart.
//!
//! | token | admin routes | its tenant's routes | another tenant's | runner routes |
//! |---|---|---|---|---|
//! | admin | yes | yes, of every tenant | | yes, as a runner shared by all |
//! | tenant | 403 | yes | 404 | 403 |
//! | runner of a tenant | 403 | 403 | 404 | yes, for its tenant |
//! | runner shared by all | 403 | 403 | 403 | yes, for every tenant |
//!
//! Under a lease that lives (`Delta-Lease`), a runner may also bring and read blobs of the job's tenant.
//!
//! No token, an unknown or a revoked one: 401. A thing of another tenant looks exactly like one that does not exist.

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use store::Store;
use wire::{ExecId, LeaseId, TenantId, TokenSecret};

use crate::api::input::path_part;
use crate::api::problem::Problem;
use crate::api::state::Api;
use crate::api::vault::Caller;

/// The header that names a lease; never in a path, never logged.
pub const LEASE: &str = "Delta-Lease";

/// An operator.
pub struct AdminAccess;

/// Somebody who may act within this tenant.
pub struct TenantAccess {
    pub tenant: TenantId,
}

/// An operator, within this tenant.
pub struct AdminOfTenant {
    pub tenant: TenantId,
}

/// Who acts within this tenant, for the policy.
pub struct Actor(pub &'static str);

/// Somebody who may bring and read blobs of this tenant: as [`TenantAccess`], or a runner under one of its leases.
pub struct BlobAccess {
    pub tenant: TenantId,
    /// The runner's.
    pub execution: Option<ExecId>,
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
        let wrong_kind = Problem::forbidden("runners lease jobs and nothing else: use a tenant token");
        match within(parts, api, &wrong_kind, false).await? {
            (Caller::Admin | Caller::Tenant(_), tenant) => Ok(TenantAccess { tenant }),
            (Caller::Runner(_), _) => Err(wrong_kind),
        }
    }
}

impl<S: Store> FromRequestParts<Api<S>> for AdminOfTenant {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api<S>) -> Result<Self, Problem> {
        let wrong_kind = Problem::forbidden("this is for administrators: use an admin token");
        match within(parts, api, &wrong_kind, false).await? {
            (Caller::Admin, tenant) => Ok(AdminOfTenant { tenant }),
            (Caller::Tenant(_) | Caller::Runner(_), _) => Err(wrong_kind),
        }
    }
}

impl<S: Store> FromRequestParts<Api<S>> for Actor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api<S>) -> Result<Self, Problem> {
        Ok(Actor(match caller(parts, api).await? {
            Caller::Admin => "admin",
            Caller::Tenant(_) => "tenant",
            Caller::Runner(_) => "job",
        }))
    }
}

impl<S: Store> FromRequestParts<Api<S>> for BlobAccess {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api<S>) -> Result<Self, Problem> {
        let wrong_kind = Problem::forbidden(
            "runners bring and read blobs under a lease: send it as `Delta-Lease`, or use a tenant token",
        );
        let lease = parts.headers.get(LEASE).and_then(|value| value.to_str().ok());
        let lease = lease.map(|text| LeaseId::from(text.to_owned()));
        let (caller, tenant) = within(parts, api, &wrong_kind, lease.is_some()).await?;
        let lease = match (caller, lease) {
            (Caller::Admin | Caller::Tenant(_), _) => return Ok(BlobAccess { tenant, execution: None }),
            (Caller::Runner(_), None) => return Err(wrong_kind),
            (Caller::Runner(_), Some(lease)) => lease.key(),
        };
        match api.vault.lease_alive(api.engine.store(), lease, api.engine.clock().now()).await?? {
            leased if leased == tenant => Ok(BlobAccess { tenant, execution: Some(lease.execution) }),
            _ => Err(tenant_not_found()),
        }
    }
}

/// Who calls, and the tenant of the path, which is not there for those of another one. A runner of all tenants is told
/// nothing of any, unless it `may_ask`.
async fn within<S: Store>(
    parts: &mut Parts,
    api: &Api<S>,
    wrong_kind: &Problem,
    may_ask: bool,
) -> Result<(Caller, TenantId), Problem> {
    let caller = caller(parts, api).await?;
    if caller == Caller::Runner(None) && !may_ask {
        return Err(wrong_kind.clone());
    }
    let named = path_part(parts, api, "tenant").await?;
    let found = api.vault.tenant(api.engine.store(), &named, api.engine.clock().now()).await?;
    let found = found.ok_or_else(tenant_not_found)?;
    match caller {
        Caller::Tenant(own) | Caller::Runner(Some(own)) if own != found => Err(tenant_not_found()),
        Caller::Admin | Caller::Tenant(_) | Caller::Runner(_) => Ok((caller, found)),
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
