//! Collections: asked for, and looked at.

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
use crate::artifacts::collector::Report;

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
    let report = api.collector.request(asked.dry_run).await?;
    Ok((StatusCode::ACCEPTED, Json(shown(report))))
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
    let found = api.collector.find(id).await?;
    Ok(Json(shown(found.ok_or_else(not_found)?)))
}

fn shown(Report { collection, dry_run }: Report) -> CollectionView {
    CollectionView {
        id: collection.id,
        state: collection.state.as_str().into(),
        dry_run,
        epoch: collection.epoch,
        marked: collection.marked,
        kept: collection.kept,
        deleted: collection.deleted,
        bytes: collection.bytes,
        message: collection.message,
        started_at: collection.started_at,
        mark_completed_at: collection.mark_completed_at,
        finished_at: collection.finished_at,
    }
}
