//! All routes, each with its description; the document is made from the same list.

use axum::Router;
use axum::middleware::from_fn_with_state;
use store::Store;

use crate::api::document::Routes;
use crate::api::edge::{edge, no_method, no_route};
use crate::api::state::Api;
use crate::api::{
    artifacts, caches, events, jobs, logs, open, outbox, runner, runners, runs, tenants, tokens, webhooks,
};

pub fn router<S: Store>(api: Api<S>) -> Router {
    let mut routes = Routes::new();
    for add in [
        open::routes,
        runner::routes,
        tenants::routes,
        tokens::routes,
        runs::routes,
        jobs::routes,
        logs::routes,
        events::routes,
        runners::routes,
        webhooks::routes,
        outbox::routes,
        artifacts::routes,
        caches::routes,
    ] as [fn(Routes<S>) -> Routes<S>; 13]
    {
        routes = add(routes);
    }
    open::with_document(routes)
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(from_fn_with_state(api.clone(), edge::<S>))
        .with_state(api)
}
