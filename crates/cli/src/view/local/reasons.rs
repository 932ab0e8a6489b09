//! Why a job runs, is skipped or reused, in words.

use wire::Time;
use wire::api::{Decision, Reason};

use crate::view::screen::one_line;
use crate::view::time::ago;

/// All of a job's reasons in one line.
pub fn words(decision: Decision, reasons: &[Reason], now: Time) -> String {
    // Which earlier success it was says it all.
    let earlier = reasons.iter().find(|reason| reason.rule == "reuse");
    match (decision, earlier) {
        (Decision::Reuse, Some(reason)) => of(reason, now),
        (Decision::Run | Decision::Skip | Decision::Reuse, _) => {
            let all: Vec<String> = reasons.iter().map(|reason| of(reason, now)).collect();
            all.join("; ")
        }
    }
}

/// Where there is little room: without the id of the earlier run.
pub fn few_words(decision: Decision, reasons: &[Reason], now: Time) -> String {
    let earlier = reasons.iter().find(|reason| reason.rule == "reuse").and_then(|reason| reason.run);
    match (decision, earlier) {
        (Decision::Reuse, Some(run)) => format!("same inputs {}", ago(run.born(), now)),
        (Decision::Run | Decision::Skip | Decision::Reuse, _) => words(decision, reasons, now),
    }
}

fn of(reason: &Reason, now: Time) -> String {
    match (reason.rule.as_str(), reason.run) {
        ("reuse", Some(run)) => format!("same inputs as {run} {}", ago(run.born(), now)),
        (rule, _) if reason.detail.is_empty() => one_line(&rule.replace('-', " ")),
        (_, _) => one_line(&reason.detail),
    }
}
