//! What an HTTP answer means. Anything that is not understood is an unknown outcome: a proxy may have spoken.

use std::time::Duration;

use serde::Deserialize;
use wire::decode;
use wire::runner::{AckLeaseAck, CancelAckAck, CompleteAck, Decimal, HeartbeatAck, LeaseGranted, StaleLease};

use super::Reply;
use crate::session::{Answer, Call};

/// The answer to a request for work.
#[derive(Debug)]
pub enum LeaseAnswer {
    Granted(Box<LeaseGranted>),
    Nothing,
    Unauthorized,
    /// For people; another try may help.
    Trouble(String),
}

#[derive(Deserialize)]
struct Problem {
    code: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    offset: Option<u64>,
}

#[derive(Deserialize)]
struct Logged {
    offset: u64,
    #[serde(default)]
    truncated: bool,
}

pub fn lease_answer(reply: &Reply) -> LeaseAnswer {
    match reply.status {
        200 => match decode(&reply.body) {
            Ok(granted) => LeaseAnswer::Granted(Box::new(granted)),
            Err(problem) => LeaseAnswer::Trouble(format!("a lease that cannot be read: {problem}")),
        },
        204 => LeaseAnswer::Nothing,
        401 | 403 => LeaseAnswer::Unauthorized,
        status => LeaseAnswer::Trouble(match decode::<Problem>(&reply.body) {
            Ok(Problem { code, detail, .. }) => format!("status {status}, {code}: {detail}"),
            Err(_) => format!("status {status}"),
        }),
    }
}

/// `jitter` goes with an unknown outcome.
pub fn answer(call: Call, reply: &Reply, jitter: f64) -> Answer {
    let unknown = Answer::Unknown { jitter };
    match reply.status {
        200 => accepted(call, &reply.body).unwrap_or(unknown),
        401 | 403 => Answer::Unauthorized,
        409 if decode::<StaleLease>(&reply.body).is_ok_and(|stale| stale.stale) => {
            decode::<StaleLease>(&reply.body).map_or(unknown, |stale| Answer::Stale(stale.reason))
        }
        400 | 404 | 405 | 409 | 410 | 413 | 415 | 416 | 422 => {
            decode::<Problem>(&reply.body).map_or(unknown, refused)
        }
        _ => unknown,
    }
}

fn refused(problem: Problem) -> Answer {
    match (problem.code.as_str(), problem.offset) {
        ("lease_not_acknowledged", _) => Answer::NotAcknowledged,
        ("log_offset", Some(offset)) => Answer::WrongOffset { offset },
        (_, _) => Answer::Refused { code: problem.code },
    }
}

fn accepted(call: Call, body: &[u8]) -> Option<Answer> {
    Some(match call {
        Call::Ack => {
            let ack: AckLeaseAck = decode(body).ok()?;
            Answer::Acked { ttl: seconds(ack.lease_ttl_seconds) }
        }
        Call::Heartbeat => {
            let ack: HeartbeatAck = decode(body).ok()?;
            Answer::Beaten {
                ttl: ack.extend_lease.then(|| seconds(ack.new_lease_ttl_seconds)),
                cancel: ack.cancel_requested.then(|| seconds(ack.cancel_deadline_seconds)),
            }
        }
        Call::Log => {
            let Logged { offset, truncated } = decode(body).ok()?;
            Answer::Logged { offset, truncated }
        }
        Call::Complete => {
            let ack: CompleteAck = decode(body).ok()?;
            Answer::Completed { accepted: ack.accepted }
        }
        Call::CancelAck => {
            decode::<CancelAckAck>(body).ok()?;
            Answer::CancelAcked
        }
    })
}

/// A time that no duration can hold is as good as for ever.
pub fn seconds(decimal: Decimal) -> Duration {
    const LONG: Duration = Duration::from_secs(10 * 365 * 86_400);
    Duration::try_from_secs_f64(decimal.as_f64()).map_or(LONG, |duration| duration.min(LONG))
}

#[cfg(test)]
mod tests {
    use wire::runner::StaleReason;

    use super::*;

    fn read(call: Call, status: u16, body: &str) -> Answer {
        answer(call, &Reply { status, body: body.to_string().into() }, 0.5)
    }

    const UNKNOWN: Answer = Answer::Unknown { jitter: 0.5 };

    #[test]
    fn refusals_are_told_from_trouble() {
        let stale = r#"{"type":"StaleLease","lease_id":"l","reason":"LEASE_EXPIRED"}"#;
        let problem = |code: &str| format!(r#"{{"code":"{code}","detail":"d"}}"#);
        assert_eq!(read(Call::Heartbeat, 409, stale), Answer::Stale(StaleReason::LeaseExpired));
        let not_acknowledged = problem("lease_not_acknowledged");
        assert_eq!(read(Call::Heartbeat, 409, &not_acknowledged), Answer::NotAcknowledged);
        let refused = Answer::Refused { code: "cancel_not_requested".into() };
        assert_eq!(read(Call::CancelAck, 409, &problem("cancel_not_requested")), refused);
        assert_eq!(read(Call::Ack, 401, ""), Answer::Unauthorized);
        assert_eq!(read(Call::Complete, 503, &problem("store_unavailable")), UNKNOWN);
        assert_eq!(read(Call::Complete, 404, "<html>not here</html>"), UNKNOWN);
        assert_eq!(read(Call::Complete, 200, "{}"), UNKNOWN);
        assert_eq!(read(Call::Complete, 429, &problem("slow_down")), UNKNOWN);
    }

    #[test]
    fn the_right_offset_is_found() {
        let body = r#"{"code":"log_offset","offset":7,"detail":"d"}"#;
        assert_eq!(read(Call::Log, 416, body), Answer::WrongOffset { offset: 7 });
        let body = r#"{"offset":9,"truncated":true}"#;
        assert_eq!(read(Call::Log, 200, body), Answer::Logged { offset: 9, truncated: true });
        assert_eq!(read(Call::Log, 200, r#"{"offset":9}"#), Answer::Logged { offset: 9, truncated: false });
    }

    #[test]
    fn a_heartbeat_may_extend_and_cancel() {
        let body = r#"{"type":"HeartbeatAck","lease_id":"l","extend_lease":true,"new_lease_ttl_seconds":1.5,
            "cancel_requested":true,"cancel_deadline_seconds":30}"#;
        let ttl = Some(Duration::from_millis(1500));
        let cancel = Some(Duration::from_secs(30));
        assert_eq!(read(Call::Heartbeat, 200, body), Answer::Beaten { ttl, cancel });
    }
}
