//! A job on a screen: its attempts with their executions, effects, artifacts, what to do next.

use wire::Time;
use wire::api::{EffectClass, ExecutionView, JobView};

use super::run::{job_took, why};
use super::screen::{Screen, Style, one_line};
use super::state::Look;
use super::table::{Cell, Table};
use super::time::{ago, size, took};
use super::ways::{Ways, quoted};

pub fn whole(screen: Screen, job: &JobView, now: Time, ways: &Ways) -> String {
    let mut text = head(screen, job, now);
    if !job.attempts.is_empty() {
        text.push('\n');
        text.push_str(&attempts(screen, job, now));
    }
    text.push_str(&results(screen, job));
    let next = next_steps(job, ways);
    if !next.is_empty() {
        text.push('\n');
        text.push_str(&screen.listed("next:", &next));
    }
    text
}

fn head(screen: Screen, job: &JobView, now: Time) -> String {
    let look = Look::of(&job.state);
    let id = job.uid.to_string();
    let name = one_line(&job.name);
    let title = if name == id { id } else { format!("{name}  {id}") };
    let mut facts = Vec::new();
    match job.run_id {
        Some(run) => facts.push(run.to_string()),
        None => facts.push("of no run".into()),
    }
    if !job.required {
        facts.push("optional".into());
    }
    if job.effect == EffectClass::Once {
        facts.push("effect once".into());
    }
    let time = job_took(job, now).map(|time| format!(", took {}", took(time))).unwrap_or_default();
    facts.push(format!("{}{time}", ago(job.created_at, now)));
    if job.needs_open > 0 {
        facts.push(format!("waits for {} other jobs", job.needs_open));
    }
    let facts = screen.paint(Style::Dim, &facts.join(" · "));
    format!("{}  {}\n  {facts}\n", look.painted(screen), screen.paint(Style::Bold, &title))
}

fn attempts(screen: Screen, job: &JobView, now: Time) -> String {
    let mut text = String::new();
    for attempt in &job.attempts {
        let look = Look::of(&attempt.state);
        let count = format!("attempt {} of {}", attempt.index, job.max_attempts);
        let mut line = Table::default().indented(2).wrapping();
        line.row(vec![Cell::new(count), Cell::styled(look.style, look.text()), Cell::new(why(attempt))]);
        text.push_str(&line.text(screen));
        let mut table = Table::default().indented(4);
        attempt.executions.iter().for_each(|execution| table.row(execution_row(execution, now)));
        text.push_str(&table.text(screen));
    }
    text
}

fn execution_row(execution: &ExecutionView, now: Time) -> Vec<Cell> {
    let log = match execution.log.truncated {
        true => format!("log {}, middle not kept", size(execution.log.bytes)),
        false => format!("log {}", size(execution.log.bytes)),
    };
    let exit = execution.exit_code.map(|code| format!("exit {code}")).unwrap_or_default();
    let lease = Look::of(&execution.lease_state);
    let time = execution.finished_at.unwrap_or(now).since(execution.granted_at);
    vec![
        Cell::dim(execution.exec_id.to_string()),
        Cell::styled(lease.style, format!("lease {}", lease.words)),
        Cell::new(exit),
        Cell::new(took(time)).right(),
        Cell::new(log),
        Cell::dim(format!("on {}", execution.runner_id)),
    ]
}

fn results(screen: Screen, job: &JobView) -> String {
    let mut table = Table::default().indented(2);
    for effect in &job.effects {
        table.row(vec![Cell::dim("effect"), Cell::new(&effect.kind), Cell::new(effect.effect.to_string())]);
    }
    for artifact in &job.artifacts {
        let shown = serde_json::to_string(artifact).unwrap_or_default();
        table.row(vec![Cell::dim("artifact"), Cell::new(""), Cell::new(shown)]);
    }
    let text = table.text(screen);
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn next_steps(job: &JobView, ways: &Ways) -> Vec<String> {
    let id = job.uid;
    let never_began = job.attempts.iter().all(|attempt| attempt.executions.is_empty());
    match job.state.as_str() {
        "SUCCEEDED" => Vec::new(),
        "FAILED" | "CANCELED" if never_began => vec![ways.look(&format!("explain {id}"))],
        "FAILED" | "CANCELED" => {
            let rerun = job.run_id.map_or(id.to_string(), |run| format!("{run} --failed"));
            let again = ways.again(&format!("rerun {rerun}"), &format!(" --job {}", quoted(&job.name)));
            [ways.look(&format!("logs {id}"))].into_iter().chain(again).collect()
        }
        _ => vec![ways.look(&format!("logs {id} --follow"))],
    }
}
