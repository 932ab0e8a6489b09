//! How a runner is told no: as a stale lease, or as a problem like everybody else.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use decisions::Refusal;
use wire::LeaseId;
use wire::runner::{StaleLease, tag};

use crate::api::problem::Problem;
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
