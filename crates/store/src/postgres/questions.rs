//! The statements of a load. All of them go from a list of keys into an index.

use std::sync::LazyLock;

use decisions::records::{Attempt, Delivery, Execution, Job, Run, Runner, Tenant, Webhook};

use crate::postgres::tables::{Table, selected};

pub const CLOCK: &str = "SELECT clock_timestamp()";

pub static EXECUTIONS_BY_ID: LazyLock<String> = LazyLock::new(|| by::<Execution>("id", "text"));
pub static TENANTS_BY_ID: LazyLock<String> = LazyLock::new(|| by::<Tenant>("id", "text"));
pub static TENANTS_BY_NAME: LazyLock<String> = LazyLock::new(|| by::<Tenant>("name", "text"));
pub static RUNS_BY_ID: LazyLock<String> = LazyLock::new(|| by::<Run>("id", "text"));
pub static RUNNERS_BY_ID: LazyLock<String> = LazyLock::new(|| by::<Runner>("id", "text"));
pub static DELIVERIES_BY_ID: LazyLock<String> = LazyLock::new(|| by::<Delivery>("id", "text"));
pub static WEBHOOKS_BY_TENANT: LazyLock<String> = LazyLock::new(|| by::<Webhook>("tenant_id", "text"));

pub static RUNS_BY_TRIGGER: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {} FROM unnest($1::text[], $2::text[]) AS u (tenant_id, trigger_key)
         JOIN runs t ON t.tenant_id = u.tenant_id AND t.trigger_key = u.trigger_key AND t.trigger_key IS NOT NULL",
        selected::<Run>("t"),
    )
});

pub const JOBS_BY_KEY: &str = "
    SELECT t.tenant_id, t.job_key, t.id FROM unnest($1::text[], $2::text[]) AS u (tenant_id, job_key)
    JOIN jobs t ON t.tenant_id = u.tenant_id AND t.job_key = u.job_key AND t.job_key IS NOT NULL";

pub const PLANS: &str = "SELECT run_id, plan FROM run_plans WHERE run_id = ANY ($1::text[])";

pub const SPECS: &str = "SELECT job_id, spec FROM job_specs WHERE job_id = ANY ($1::text[])";

/// A row for every run asked for, also if nothing succeeded.
pub const SUCCEEDED: &str = "
    SELECT u.id, ARRAY (SELECT name FROM jobs WHERE run_id = u.id AND state = 'SUCCEEDED')
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
        "SELECT {}, {}, {}
         FROM unnest($1::text[], $2::integer[], $3::text[]) AS u (job_id, own_attempt, exec_id)
         JOIN jobs j ON j.id = u.job_id
         JOIN attempts a ON a.job_id = u.job_id AND (a.attempt = j.attempts OR a.attempt = u.own_attempt)
         LEFT JOIN executions e ON e.id = a.exec_id AND e.id IS DISTINCT FROM u.exec_id",
        selected::<Job>("j"),
        selected::<Attempt>("a"),
        selected::<Execution>("e"),
    )
});

fn by<R: Table>(column: &str, sql_type: &str) -> String {
    format!("SELECT {} FROM {} t WHERE t.{column} = ANY ($1::{sql_type}[])", selected::<R>("t"), R::NAME)
}
