//! Runners: who is alive, what they hold.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use decisions::records::{Execution, Runner, RunnerKey};
use machines::Machine;
use store::Store;
use wire::api::{Held, Page, RunnerView};
use wire::{RunnerId, TenantId, Time};

use crate::api::document::Routes;
use crate::api::guard::TenantAccess;
use crate::api::input::{Asked, ListQuery, cut};
use crate::api::problem::Problem;
use crate::api::state::Api;

/// A runner that holds nothing asks for work at least this often: the longest wait and some patience.
pub const SILENT_AFTER: Duration = Duration::from_secs(90);

/// The most live leases that one request looks at, of all tenants.
pub const LEASES_MAX: usize = 10_000;

/// The most runners shared by all tenants that one request looks at.
const SHARED_MAX: usize = 1_000;

pub fn routes<S: Store>(routes: Routes<S>) -> Routes<S> {
    routes.add::<__path_list, _, _>(list::<S>)
}

/// List the tenant's runners; at the end of the list, shared ones that hold a job of this tenant
#[utoipa::path(get, path = "/v1/tenants/{tenant}/runners", tag = "runners", security(("token" = [])),
    params(("tenant" = String, Path, description = "A tenant's id or name"), ListQuery),
    responses((status = 200, description = "A page of runners", body = Page<RunnerView>)))]
async fn list<S: Store>(
    State(api): State<Api<S>>,
    TenantAccess { tenant }: TenantAccess,
    Asked(query): Asked<ListQuery>,
) -> Result<Json<Page<RunnerView>>, Problem> {
    let limit = query.limit()?;
    let after = query.after.as_deref().filter(|after| !after.is_empty());
    let bad_after = || Problem::invalid("after", "not one of ours: use `next` of the page before");
    let after = after.map(|after| RunnerId::parse(after).ok_or_else(bad_after)).transpose()?;
    let store = api.engine.store();
    let mut holds = holds_of(store.executions_live(LEASES_MAX).await?, tenant);
    let mut runners = store.runners_of(Some(tenant), after, limit + 1).await?;
    let next = cut(&mut runners, limit).map(|runner| runner.key.id.to_string());
    if next.is_none() && holds.keys().any(|key| key.tenant.is_none()) {
        let shared = store.runners_of(None, None, SHARED_MAX).await?;
        runners.extend(shared.into_iter().filter(|runner| holds.contains_key(&runner.key)));
    }
    let now = api.engine.clock().now();
    let items = runners.into_iter().map(|runner| {
        let held = holds.remove(&runner.key).unwrap_or_default();
        view(runner, held, now)
    });
    Ok(Json(Page { items: items.collect(), next }))
}

/// This tenant's live leases, by who holds them.
fn holds_of(live: Vec<(Execution, TenantId)>, tenant: TenantId) -> BTreeMap<RunnerKey, Vec<Held>> {
    let mut holds: BTreeMap<RunnerKey, Vec<Held>> = BTreeMap::new();
    for (execution, _) in live.into_iter().filter(|(_, of)| *of == tenant) {
        let held = Held {
            exec_id: execution.id,
            job_id: execution.job().to_string(),
            run_id: execution.run,
            lease_state: execution.lease.get().as_str().into(),
            granted_at: execution.granted_at,
            expires_at: execution.expires_at,
        };
        holds.entry(execution.runner_key(tenant)).or_default().push(held);
    }
    holds
}

/// What it holds apart: somebody who works may have nothing to ask for.
pub fn is_alive(runner: &Runner, now: Time) -> bool {
    now.since(runner.last_seen_at) < SILENT_AFTER
}

fn view(runner: Runner, holds: Vec<Held>, now: Time) -> RunnerView {
    let barred = runner.barred_until.is_some_and(|until| until > now);
    let alive = !holds.is_empty() || is_alive(&runner, now);
    let state = match (barred, alive) {
        (true, _) => "barred",
        (false, true) => "alive",
        (false, false) => "silent",
    };
    RunnerView {
        id: runner.key.id.to_string(),
        state: state.into(),
        shared: runner.key.tenant.is_none(),
        capabilities: runner.capabilities,
        last_seen_at: runner.last_seen_at,
        barred_until: runner.barred_until,
        holds,
    }
}
