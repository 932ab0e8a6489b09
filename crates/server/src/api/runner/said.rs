//! How a runner is told no: as a stale lease, or as a problem like everybody else.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use decisions::Refusal;
use store::Store;
use wire::runner::{StaleLease, StaleReason, tag};
use wire::{LeaseId, LeaseKey};

use crate::api::guard::RunnerAccess;
use crate::api::problem::Problem;
use crate::api::state::Api;
use crate::perform::Failure;

pub enum No {
    Stale(StaleLease),
    Problem(Problem),
}

impl No {
    /// What a message under this lease came to.
    pub fn to(lease: &LeaseId) -> impl FnOnce(Failure) -> No {
        let lease_id = lease.clone();
        move |failure| match failure {
            Failure::Refused(Refusal::StaleLease { reason }) => No::Stale(StaleLease {
                r#type: tag::StaleLease,
                lease_id,
                reason,
                extend_lease: false,
                stale: true,
                accepted: false,
            }),
            other => No::Problem(other.into()),
        }
    }

    /// The lease may exist, but it is not this runner's to speak with.
    fn unknown(lease: &LeaseId) -> No {
        No::to(lease)(Refusal::StaleLease { reason: StaleReason::LeaseUnknown }.into())
    }

    /// The engine answered something else than was asked for.
    pub fn mistake() -> No {
        No::Problem(Problem::internal())
    }
}

impl From<Problem> for No {
    fn from(problem: Problem) -> No {
        No::Problem(problem)
    }
}

impl IntoResponse for No {
    fn into_response(self) -> Response {
        match self {
            No::Stale(stale) => (StatusCode::CONFLICT, Json(stale)).into_response(),
            No::Problem(problem) => problem.into_response(),
        }
    }
}

impl RunnerAccess {
    /// The lease that a message names, if the runner's tenant may speak with it.
    pub async fn lease<S: Store>(&self, api: &Api<S>, lease: &LeaseId) -> Result<LeaseKey, No> {
        let key = lease.key();
        let Some(scope) = self.scope else { return Ok(key) };
        let now = api.engine.clock().now();
        let leased_by = api.vault.leased_by(api.engine.store(), key.execution, now).await;
        match leased_by.map_err(Problem::from)? {
            Some(tenant) if tenant != scope => Err(No::unknown(lease)),
            Some(_) | None => Ok(key),
        }
    }
}
