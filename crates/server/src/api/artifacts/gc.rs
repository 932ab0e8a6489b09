//! Collections: asked for, and looked at.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use decisions::Refusal;
use store::Store;
use wire::api::{self, CollectionView};

use crate::api::document::Routes;
use crate::api::guard::AdminAccess;
use crate::api::input::{Item, Maybe};
use crate::api::problem::Problem;
use crate::api::state::Api;
use crate::artifacts::Collects;

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes.add::<__path_request, _, _>(request::<S>).add::<__path_show, _, _>(show::<S>)
}

/// Collect bytes that nothing holds any more
///
/// One collection at a time: one that runs is returned.
#[utoipa::path(post, path = "/v1/admin/gc", tag = "gc", security(("token" = [])),
    request_body = Option<api::StartCollection>,
    responses((status = 202, description = "The collection", body = CollectionView)))]
async fn request<S: Store>(
    State(api): State<Api<S>>,
    _: AdminAccess,
    Maybe(asked): Maybe<api::StartCollection>,
) -> Result<(StatusCode, Json<CollectionView>), Problem> {
    let collection = collector(&api)?.request(asked.dry_run).await?;
    Ok((StatusCode::ACCEPTED, Json(collection)))
}

/// Look at a collection
#[utoipa::path(get, path = "/v1/admin/gc/{id}", tag = "gc", security(("token" = [])),
    params(("id" = String, Path, description = "A collection's id")),
    responses((status = 200, description = "The collection", body = CollectionView)))]
async fn show<S: Store>(
    State(api): State<Api<S>>,
    _: AdminAccess,
    Item(id): Item,
) -> Result<Json<CollectionView>, Problem> {
    let not_found = || Problem::from(Refusal::CollectionNotFound);
    let id = id.parse().map_err(|_| not_found())?;
    Ok(Json(collector(&api)?.find(id).await?.ok_or_else(not_found)?))
}

/// The routes are there only with one.
fn collector<S: Store>(api: &Api<S>) -> Result<&Arc<dyn Collects>, Problem> {
    api.collector.as_ref().ok_or_else(Problem::internal)
}
