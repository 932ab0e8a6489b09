//! Why a job that is queued has not begun: in words for whoever waits for it, made from the runners as they are now.

use std::collections::BTreeSet;

use decisions::doctor::JobFile;
use decisions::records::{Queue, Runner, RunnerKey};
use machines::attempt;
use store::{Store, StoreError};
use wire::Time;

use crate::api::runners::{LEASES_MAX, SILENT_AFTER, is_alive};

/// The most runners of a kind that one request looks at.
const RUNNERS_MAX: usize = 1_000;

/// Nothing for a job that waits for no runner.
pub async fn reason<S: Store>(store: &S, file: &JobFile, now: Time) -> Result<Option<String>, StoreError> {
    let queued = |state| state == attempt::State::Queued;
    if !file.attempts.last().is_some_and(|attempt| queued(attempt.state.get())) {
        return Ok(None);
    }
    let queues = store.queues_named(vec![file.job.queue]).await?;
    let Some(queue) = queues.first() else { return Ok(None) };
    let mut runners = store.runners_of(Some(queue.tenant), None, RUNNERS_MAX).await?;
    runners.extend(store.runners_of(None, None, RUNNERS_MAX).await?);
    // Who works asks for nothing meanwhile.
    let live = store.executions_live(LEASES_MAX).await?;
    let at_work: BTreeSet<RunnerKey> = live.iter().map(|(it, tenant)| it.runner_key(*tenant)).collect();
    runners.retain(|runner| at_work.contains(&runner.key) || is_alive(runner, now));
    Ok(Some(said(queue, &runners, now)))
}

fn said(queue: &Queue, alive: &[Runner], now: Time) -> String {
    if alive.is_empty() {
        let seconds = SILENT_AFTER.as_secs();
        return format!(
            "waits for a runner: none was heard of in the last {seconds} s; start one with `deltaci runner`"
        );
    }
    let can = |runner: &&Runner| queue.fits(|it| runner.capabilities.contains(it));
    let able: Vec<&Runner> = alive.iter().filter(can).collect();
    if able.is_empty() {
        return format!("waits for a runner with {}: {}", words(&queue.requires), lacking(queue, alive));
    }
    let barred = |runner: &&&Runner| runner.barred_until.is_some_and(|until| until > now);
    if able.iter().all(|runner| barred(&runner)) {
        return "waits: every runner that can take it has let leases pass and gets none for a minute".into();
    }
    format!("waits for its turn: {} can take it", counted(able.len()))
}

fn lacking(queue: &Queue, alive: &[Runner]) -> String {
    let known: BTreeSet<&String> = alive.iter().flat_map(|runner| &runner.capabilities).collect();
    let unknown: Vec<String> = queue.requires.iter().filter(|word| !known.contains(word)).cloned().collect();
    match unknown.is_empty() {
        true => format!("of {} none has all of them", counted(alive.len())),
        false => format!("of {} none has {}", counted(alive.len()), words(&unknown)),
    }
}

fn words(words: &[String]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn counted(runners: usize) -> String {
    match runners {
        1 => "1 runner".into(),
        several => format!("{several} runners"),
    }
}

#[cfg(test)]
mod tests {
    use wire::{RunnerId, TenantId};

    use super::*;

    fn runner(name: &str, capabilities: &[&str]) -> Runner {
        Runner {
            key: RunnerKey { tenant: None, id: RunnerId::parse(name).expect("a name") },
            capabilities: capabilities.iter().map(|it| (*it).into()).collect(),
            acks_missed: 0,
            barred_until: None,
            last_seen_at: Time::from_seconds(0),
        }
    }

    fn queue(requires: &[&str]) -> Queue {
        let requires: Vec<String> = requires.iter().map(|it| (*it).into()).collect();
        Queue::for_requirements(TenantId::FIRST, &requires)
    }

    #[test]
    fn it_is_said_what_is_missing() {
        let now = Time::from_seconds(1);
        let (linux, rust) = (runner("a", &["os:linux"]), runner("b", &["toolchain:rust"]));
        let both = queue(&["os:linux", "toolchain:rust"]);
        let plan9 = queue(&["os:plan9"]);
        for (queue, alive, expected) in [
            (
                &plan9,
                vec![],
                "waits for a runner: none was heard of in the last 90 s; start one with `deltaci runner`",
            ),
            (
                &plan9,
                vec![linux.clone()],
                "waits for a runner with `os:plan9`: of 1 runner none has `os:plan9`",
            ),
            (
                &both,
                vec![linux.clone(), rust.clone()],
                "waits for a runner with `os:linux`, `toolchain:rust`: of 2 runners none has all of them",
            ),
            (&queue(&["os:linux"]), vec![linux.clone(), rust], "waits for its turn: 1 runner can take it"),
            (
                &queue(&[]),
                vec![Runner { barred_until: Some(Time::from_seconds(2)), ..linux }],
                "waits: every runner that can take it has let leases pass and gets none for a minute",
            ),
        ] {
            assert_eq!(said(queue, &alive, now), expected);
        }
    }
}
