//! A plan in a script's words: `test:needs=build+lint:attempts=1`, `lint:optional`, `deploy:once`, `leaf*300:needs=root`,
//! `docs:skip`, `build:reuse:key=1`; and for all of them `group=main supersede=yes`.

use decisions::failures::ClassSet;
use decisions::records::{Concurrency, Plan, PlanJob};
use serde_json::json;
use serde_json::value::RawValue;
use wire::api::{Decision, Reason};
use wire::{Digest, JobId, RunId};

use crate::words::Words;

type Said<T> = Result<T, String>;

/// From the second word on.
pub fn plan(words: &Words<'_>) -> Said<Plan> {
    let group = words.option("group").map(String::from);
    let cancel = words.option("supersede") == Some("yes");
    let concurrency = group.map(|group| Concurrency { group, cancel });
    Ok(Plan { concurrency, ..Plan::from(plan_jobs(&words.plain[1..])?) })
}

fn plan_jobs(words: &[&str]) -> Said<Vec<PlanJob>> {
    let mut jobs = Vec::new();
    for word in words {
        let (head, options) = word.split_once(':').unwrap_or((word, ""));
        match head.split_once('*') {
            None => jobs.push(plan_job(head.into(), options)?),
            Some((stem, count)) => {
                let count: u32 = count.parse().map_err(|_| format!("`{count}` is no count"))?;
                for number in 1..=count {
                    jobs.push(plan_job(format!("{stem}{number}"), options)?);
                }
            }
        }
    }
    Ok(jobs)
}

fn plan_job(name: String, options: &str) -> Said<PlanJob> {
    let options = Words::split(options, ':');
    let needs = options.list("needs");
    let needs = match needs.as_slice() {
        [all] if all.contains('*') => expanded(all)?,
        _ => needs,
    };
    let retry_on = options.option("retry").map(|classes| classes.replace('+', ","));
    let spec = RawValue::from_string(json!({ "name": name }).to_string()).expect("a specification is JSON");
    let (decision, reasons) = decision(&options);
    Ok(PlanJob {
        decision,
        reasons,
        input_key: options.number("key")?.map(|key| Digest::from_bytes([key; 32])),
        needs,
        required: !options.has("optional"),
        effect_once: options.has("once"),
        priority: options.number("priority")?.unwrap_or(0),
        runs_on: options.list("on"),
        attempts_max: options.number("attempts")?,
        retry_on: retry_on.map(|classes| ClassSet::parse(&classes).ok_or("no such class")).transpose()?,
        timeout_seconds: options.seconds("timeout")?,
        ..PlanJob::plain(name, spec)
    })
}

/// What is reused says of whom, unless a script says `reuse=nobody`.
fn decision(options: &Words<'_>) -> (Decision, Vec<Reason>) {
    let because = |rule: &str| Reason { rule: rule.into(), ..Reason::default() };
    let (run, job) = (Some(RunId::FIRST), Some(JobId::FIRST));
    if options.has("skip") {
        (Decision::Skip, vec![because("unchanged")])
    } else if options.has("reuse") {
        (Decision::Reuse, vec![Reason { run, job, ..because("reuse") }])
    } else if options.option("reuse").is_some() {
        (Decision::Reuse, vec![because("reuse")])
    } else {
        (Decision::Run, vec![because("changed")])
    }
}

/// `leaf*3` as a need: all three.
fn expanded(all: &str) -> Said<Vec<String>> {
    let (stem, count) = all.split_once('*').ok_or("no count")?;
    let count: u32 = count.parse().map_err(|_| format!("`{count}` is no count"))?;
    Ok((1..=count).map(|number| format!("{stem}{number}")).collect())
}
