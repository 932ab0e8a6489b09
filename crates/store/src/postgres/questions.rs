//! The statements of a load. All of them go from a list of keys into an index; `OFFSET 0` keeps the planner from going
//! the other way, which looks good while a table is small and is ruinous when it has grown.

use std::sync::LazyLock;

use decisions::records::{
    Attempt, Delivery, Execution, Group, Job, Log, Run, Runner, Tenant, Token, Webhook,
};

use crate::postgres::tables::{Table, selected};

pub static EXECUTIONS_BY_ID: LazyLock<String> = LazyLock::new(|| by::<Execution>("id", "text"));
pub static TENANTS_BY_ID: LazyLock<String> = LazyLock::new(|| by::<Tenant>("id", "text"));
pub static TENANTS_BY_NAME: LazyLock<String> = LazyLock::new(|| by::<Tenant>("name", "text"));
pub static RUNS_BY_ID: LazyLock<String> = LazyLock::new(|| by::<Run>("id", "text"));
pub static GROUPS_BY_ID: LazyLock<String> = LazyLock::new(|| by::<Group>("id", "bytea"));
pub static DELIVERIES_BY_ID: LazyLock<String> = LazyLock::new(|| by::<Delivery>("id", "text"));
pub static WEBHOOKS_BY_TENANT: LazyLock<String> = LazyLock::new(|| by::<Webhook>("tenant_id", "text"));

pub static TOKENS_BY_ID: LazyLock<String> = LazyLock::new(|| by::<Token>("id", "text"));
pub static LOGS_BY_ID: LazyLock<String> = LazyLock::new(|| by::<Log>("exec_id", "text"));

pub static RUNNERS_BY_KEY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT x.* FROM unnest($1::text[], $2::text[]) AS u (tenant_id, id) CROSS JOIN LATERAL (
             SELECT {} FROM runners t WHERE t.tenant_id = u.tenant_id AND t.id = u.id OFFSET 0) x",
        selected::<Runner>("t"),
    )
});

pub static RUNS_BY_TRIGGER: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT x.* FROM unnest($1::text[], $2::text[]) AS u (tenant_id, trigger_key) CROSS JOIN LATERAL (
             SELECT {} FROM runs t
             WHERE t.tenant_id = u.tenant_id AND t.trigger_key = u.trigger_key AND t.trigger_key IS NOT NULL
             OFFSET 0) x",
        selected::<Run>("t"),
    )
});

/// Of each group the newest that are not over.
pub static RUNS_OF_GROUPS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT x.* FROM unnest($1::bytea[]) AS u (id) CROSS JOIN LATERAL (
             SELECT {} FROM runs t WHERE t.group_id = u.id AND t.group_id IS NOT NULL AND t.finished_at IS NULL
             ORDER BY t.id DESC LIMIT $2) x",
        selected::<Run>("t"),
    )
});

pub const JOBS_BY_KEY: &str = "
    SELECT u.tenant_id, u.job_key, x.id FROM unnest($1::text[], $2::text[]) AS u (tenant_id, job_key)
    CROSS JOIN LATERAL (
        SELECT t.id FROM jobs t
        WHERE t.tenant_id = u.tenant_id AND t.job_key = u.job_key AND t.job_key IS NOT NULL
        OFFSET 0) x";

/// The first that is open in the lane of each delivery, of those in order.
pub const LANE_HEADS: &str = "
    SELECT u.id, x.id FROM unnest($1::text[]) AS u (id)
    CROSS JOIN LATERAL (SELECT t.tenant_id, t.lane FROM deliveries t WHERE t.id = u.id AND t.turn > 0 OFFSET 0) d
    CROSS JOIN LATERAL (
        SELECT t.id FROM deliveries t
        WHERE t.turn > 0 AND t.due_at IS NOT NULL AND t.tenant_id = d.tenant_id AND t.lane = d.lane
        ORDER BY t.turn LIMIT 1) x";

pub const PLANS: &str = "SELECT run_id, plan FROM run_plans WHERE run_id = ANY ($1::text[])";

pub const SPECS: &str = "SELECT id, spec FROM jobs WHERE id = ANY ($1::text[]) AND spec IS NOT NULL";

/// A row for every run asked for, also if nothing succeeded.
pub const SUCCEEDED: &str = "
    SELECT u.id, ARRAY (SELECT name FROM jobs WHERE run_id = u.id AND state = 'SUCCEEDED' ORDER BY id),
        ARRAY (SELECT id FROM jobs WHERE run_id = u.id AND state = 'SUCCEEDED' ORDER BY id)
    FROM unnest($1::text[]) AS u (id)";

pub const SWEEPS: &str = "
    SELECT t.id, ARRAY (
        SELECT id FROM jobs
        WHERE run_id = t.id AND id > coalesce(t.swept_to, '') AND state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELED')
        ORDER BY id LIMIT $2)
    FROM runs t WHERE t.id = ANY ($1::text[])";

pub const RELEASES: &str = "
    SELECT t.id, ARRAY (
        SELECT dependent_id FROM job_needs
        WHERE needed_id = t.id AND dependent_id > coalesce(t.released_to, '')
        ORDER BY dependent_id LIMIT $2)
    FROM jobs t WHERE t.id = ANY ($1::text[])";

/// Jobs with their latest attempts and those attempts' executions, and the attempts that are asked for themselves.
/// An execution that the asker has (`exec_id`) is left out.
pub static FAMILIES: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT j.*, a.*, e.*
         FROM unnest($1::text[], $2::integer[], $3::text[]) AS u (job_id, own_attempt, exec_id)
         CROSS JOIN LATERAL (SELECT {} FROM jobs t WHERE t.id = u.job_id OFFSET 0) j
         CROSS JOIN LATERAL (
             SELECT {} FROM attempts t
             WHERE t.job_id = u.job_id AND (t.attempt = j.attempts OR t.attempt = u.own_attempt) OFFSET 0) a
         LEFT JOIN LATERAL (
             SELECT {} FROM executions t WHERE t.id = a.exec_id AND t.id IS DISTINCT FROM u.exec_id OFFSET 0) e
             ON true",
        selected::<Job>("t"),
        selected::<Attempt>("t"),
        selected::<Execution>("t"),
    )
});

pub fn by<R: Table>(column: &str, sql_type: &str) -> String {
    format!("SELECT {} FROM {} t WHERE t.{column} = ANY ($1::{sql_type}[])", selected::<R>("t"), R::NAME)
}
