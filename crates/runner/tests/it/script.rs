//! A test of the session is a script: one line per step, `TIME STEP WORDS -> EXPECTED`.
//!
//! The time column is the moment since the beginning; `-` leaves the time alone. What follows the arrow is all that the
//! session wants done after the step, separated by commas; without an arrow it must want nothing. A script may not step
//! over a moment at which the session wanted to be woken: it has to say `tick` there.
//!
//! The usual lease: TTL 120 s, heartbeats every 20 s, so requests time out after 10 s, and the job may run until 115 s
//! after the last renewal was sent. Jitter is always 1, so waits are 0.2 s, 0.4 s, 0.8 s and so on.

use std::time::Duration;

use runner::clock::Uptime;
use runner::keeper::{Finish, Report};
use runner::session::{
    Action, Answer, Beat, Call, Collected, End, Outcome, Plan, Request, Session, Terms, Verdict, Wanted,
    Which,
};
use wire::runner::{ArtifactRef, Phase, StaleReason};

pub fn usual() -> Terms {
    Terms {
        lease_ttl: Duration::from_secs(120),
        heartbeat_interval: Duration::from_secs(20),
        max_runtime: Duration::from_secs(3600),
        steps: 2,
        artifacts: Wanted::default(),
    }
}

/// A session that runs its job.
pub fn check(script: &str) {
    check_with(usual(), Plan::Run, script);
}

pub fn check_with(terms: Terms, plan: Plan, script: &str) {
    let zero = Uptime::from_start(Duration::from_secs(1_000));
    let mut world = World { session: Session::new(terms, plan, zero), zero, now: zero };
    for (number, line) in script.lines().enumerate() {
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if let Err(problem) = world.step(text) {
            panic!("{}\n{problem}", marked(script, number));
        }
    }
}

fn marked(script: &str, failing: usize) -> String {
    let lines = script.lines().enumerate().map(|(number, line)| {
        let mark = if number == failing { ">>>" } else { "   " };
        format!("{mark} {}\n", line.trim())
    });
    lines.collect()
}

struct World {
    session: Session,
    zero: Uptime,
    now: Uptime,
}

impl World {
    fn step(&mut self, text: &str) -> Result<(), String> {
        let (step, expected) = text.split_once("->").unwrap_or((text, ""));
        let mut words = step.split_whitespace();
        let time = words.next().ok_or("a line begins with its time")?;
        if time != "-" {
            self.move_to(self.zero.plus(duration(time)?))?;
        }
        let words: Vec<&str> = words.collect();
        if words.first() == Some(&"wakes") {
            return same(&self.wakes(), expected.trim());
        }
        self.happen(&words)?;
        let mut found = Vec::new();
        while let Some(action) = self.session.poll_action(self.now) {
            found.push(self.shown(&action));
        }
        same(&found.join(", "), expected.trim())
    }

    fn move_to(&mut self, moment: Uptime) -> Result<(), String> {
        if let Some(wake) = self.session.poll_timeout()
            && wake < moment
        {
            return Err(format!("the session wanted to be woken at {}", self.at(wake)));
        }
        if moment < self.now {
            return Err("time goes back".into());
        }
        self.now = moment;
        Ok(())
    }

    fn happen(&mut self, words: &[&str]) -> Result<(), String> {
        let now = self.now;
        match words {
            ["begin"] => {}
            ["tick"] => self.session.handle_timeout(now),
            ["stop"] => self.session.handle_stop(now),
            ["gone"] => self.session.handle_gone(now),
            ["written", bytes] => self.session.handle_written(now, number(bytes)?),
            ["step", index] => {
                let index = number(index)? as u32;
                self.session.handle_report(now, &Report::StepStarted { index });
            }
            ["collected", what @ ..] => self.session.handle_collected(now, collected(what)?),
            ["finished", how @ ..] => self.session.handle_report(now, &Report::Finished(finish(how)?)),
            [call, answer @ ..] => self.session.handle_answer(now, call_named(call)?, answered(answer)?),
            [] => return Err("a step is missing".into()),
        }
        Ok(())
    }

    fn wakes(&self) -> String {
        self.session.poll_timeout().map_or("never".into(), |wake| self.at(wake))
    }

    fn at(&self, moment: Uptime) -> String {
        format!("{:?}", self.zero.until(moment))
    }

    fn shown(&self, action: &Action) -> String {
        match action {
            Action::Send { request, timeout } => {
                assert!(*timeout < Duration::from_secs(20), "a request may not outlast the interval");
                self.shown_request(request)
            }
            Action::Start { until } => format!("start until {}", self.at(*until)),
            Action::Extend { until } => format!("extend {}", self.at(*until)),
            Action::Cancel { grace } => format!("cancel within {grace:?}"),
            Action::Kill => "kill".into(),
            Action::NoteTruncated => "note truncated".into(),
            Action::Collect(Which::All) => "collect all".into(),
            Action::Collect(Which::Reports) => "collect reports".into(),
            Action::Abandon => "abandon".into(),
            Action::Over(end) => format!("over {}", shown_end(end)),
        }
    }

    fn shown_request(&self, request: &Request) -> String {
        match request {
            Request::Ack => "ack".into(),
            Request::Heartbeat(Beat { step, phase, bytes_sent }) => {
                let phase = match phase {
                    Phase::Running => "running",
                    Phase::Uploading => "uploading",
                };
                let step = step.map_or("-".into(), |step| step.to_string());
                format!("heartbeat {phase} step {step} sent {bytes_sent}")
            }
            Request::Log { offset } => format!("log {offset}"),
            Request::Complete { verdict, artifacts, started_at, finished_at, .. } => {
                assert!(started_at <= finished_at);
                let with =
                    if artifacts.is_empty() { String::new() } else { format!(" with {}", artifacts.len()) };
                format!("complete {}{with}", shown_verdict(verdict))
            }
            Request::CancelAck { summary } => format!("cancel-ack ({summary})"),
        }
    }
}

fn same(found: &str, expected: &str) -> Result<(), String> {
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    if plain(found) == plain(expected) {
        return Ok(());
    }
    Err(format!("expected: {expected}\n   found: {found}"))
}

fn shown_verdict(verdict: &Verdict) -> String {
    let outcome = match verdict.outcome {
        Outcome::Succeeded => "SUCCEEDED",
        Outcome::Failed => "FAILED",
        Outcome::TimedOut => "TIMED_OUT",
        Outcome::Infra => "INFRA",
    };
    format!("{outcome} {} ({})", verdict.exit_code, verdict.summary)
}

fn shown_end(end: &End) -> String {
    match end {
        End::Completed(verdict) => format!("completed {:?}", verdict.outcome).to_lowercase(),
        End::Canceled => "canceled".into(),
        End::Stale(reason) => format!("stale {reason:?}"),
        End::LeaseLost => "lease lost".into(),
        End::Unauthorized => "unauthorized".into(),
        End::Refused { call, code } => format!("refused {call:?} {code}"),
    }
}

fn collected(words: &[&str]) -> Result<Collected, String> {
    let artifacts = |count: &str| {
        let artifact = ArtifactRef { r#type: "bin".into(), uri: "blob:x".into(), path: None };
        Ok::<_, String>(vec![artifact; number(count)? as usize])
    };
    Ok(match words {
        ["done", count] => Collected::Done { artifacts: artifacts(count)?, caches: Vec::new() },
        ["too-much", problem @ ..] => Collected::TooMuch { problem: problem.join(" ") },
        ["failed", count, problem @ ..] => {
            Collected::Failed { problem: problem.join(" "), artifacts: artifacts(count)? }
        }
        ["stale", reason] => Collected::Stale(stale(reason)?),
        other => return Err(format!("no such end of an upload: {other:?}")),
    })
}

fn finish(words: &[&str]) -> Result<Finish, String> {
    Ok(match words {
        ["succeeded"] => Finish::Succeeded,
        ["failed", index, code] => {
            Finish::StepFailed { index: number(index)? as u32, exit_code: number(code)? as i32 }
        }
        ["timed-out"] => Finish::TimedOut,
        ["canceled"] => Finish::Canceled { forced: false },
        ["canceled", "forced"] => Finish::Canceled { forced: true },
        ["out-of-lease"] => Finish::OutOfLease,
        ["infra", problem @ ..] => Finish::Infra { problem: problem.join(" ") },
        other => return Err(format!("no such end of a job: {other:?}")),
    })
}

fn call_named(name: &str) -> Result<Call, String> {
    Ok(match name {
        "ack" => Call::Ack,
        "heartbeat" => Call::Heartbeat,
        "log" => Call::Log,
        "complete" => Call::Complete,
        "cancel-ack" => Call::CancelAck,
        other => return Err(format!("no such step: {other}")),
    })
}

fn answered(words: &[&str]) -> Result<Answer, String> {
    let ttl = Duration::from_secs(120);
    Ok(match words {
        ["acked"] => Answer::Acked { ttl },
        ["acked", "ttl", ttl] => Answer::Acked { ttl: duration(ttl)? },
        ["beaten"] => Answer::Beaten { ttl: Some(ttl), cancel: None },
        ["beaten", "ttl", ttl] => Answer::Beaten { ttl: Some(duration(ttl)?), cancel: None },
        ["beaten", "not-extended"] => Answer::Beaten { ttl: None, cancel: None },
        ["beaten", "cancel", within] => Answer::Beaten { ttl: Some(ttl), cancel: Some(duration(within)?) },
        ["logged", offset] => Answer::Logged { offset: number(offset)?, truncated: false },
        ["logged", offset, "truncated"] => Answer::Logged { offset: number(offset)?, truncated: true },
        ["wrong-offset", offset] => Answer::WrongOffset { offset: number(offset)? },
        ["accepted"] => Answer::Completed { accepted: true },
        ["not-accepted"] => Answer::Completed { accepted: false },
        ["cancel-acked"] => Answer::CancelAcked,
        ["stale", reason] => Answer::Stale(stale(reason)?),
        ["not-acknowledged"] => Answer::NotAcknowledged,
        ["unauthorized"] => Answer::Unauthorized,
        ["refused", code] => Answer::Refused { code: (*code).into() },
        ["unknown"] => Answer::Unknown { jitter: 1.0 },
        other => return Err(format!("no such answer: {other:?}")),
    })
}

fn stale(reason: &str) -> Result<StaleReason, String> {
    Ok(match reason {
        "expired" => StaleReason::LeaseExpired,
        "revoked" => StaleReason::LeaseRevoked,
        "completed" => StaleReason::LeaseCompleted,
        "canceled" => StaleReason::LeaseCanceled,
        "unknown" => StaleReason::LeaseUnknown,
        other => return Err(format!("no such reason: {other}")),
    })
}

fn number(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.strip_suffix('K') {
        Some(digits) => (digits, 1024),
        None => (text, 1),
    };
    digits.parse::<u64>().map(|number| number * unit).map_err(|_| format!("no number: {text}"))
}

fn duration(text: &str) -> Result<Duration, String> {
    let seconds = text.strip_suffix('s').ok_or_else(|| format!("no time: {text}"))?;
    seconds
        .parse::<f64>()
        .map(|seconds| Duration::from_nanos((seconds * 1e9).round() as u64))
        .map_err(|_| format!("no time: {text}"))
}
