//! A runner played by hand: the protocol, word by word, without an executor or a good will behind it.

use serde_json::{Value, json};

use crate::e2e::http::{Reply, ask};
use crate::e2e::site::Site;

/// When things happened, for the messages that must say so.
const AT: &str = "2026-01-04T08:00:00Z";

pub struct Hand<'a> {
    site: &'a Site,
    name: String,
    token: String,
}

/// A lease and the job it is for.
#[derive(Debug, Clone)]
pub struct Held {
    pub job: String,
    pub lease: String,
}

impl<'a> Hand<'a> {
    pub fn new(site: &'a Site, name: &str) -> Hand<'a> {
        Hand::with_token(site, name, &site.runner_token)
    }

    pub fn with_token(site: &'a Site, name: &str, token: &str) -> Hand<'a> {
        Hand { site, name: name.into(), token: token.into() }
    }

    pub fn say(&self, word: &str, body: &Value) -> Reply {
        self.site.send(&self.token, "POST", &format!("/v1/runner/{word}"), body)
    }

    pub fn ask_for(&self, job: &str) -> Reply {
        self.say("lease", &json!({"runner_id": self.name, "job_id": job}))
    }

    pub fn lease_job(&self, job: &str) -> Held {
        held(&self.ask_for(job).expect(200))
    }

    pub fn ack(&self, held: &Held) -> Reply {
        let said = json!({"type": "AckLease", "job_id": held.job, "lease_id": held.lease,
            "runner_id": self.name, "accepted_at": AT});
        self.say("ack", &said)
    }

    /// Leased and acknowledged.
    pub fn take(&self, job: &str) -> Held {
        let held = self.lease_job(job);
        self.ack(&held).expect(200);
        held
    }

    pub fn beat(&self, held: &Held, phase: &str) -> Reply {
        let said = json!({"type": "Heartbeat", "lease_id": held.lease, "runner_id": self.name,
            "progress": {"phase": phase}, "log_cursor": {"bytes_sent": 0}, "ts": AT});
        self.say("heartbeat", &said)
    }

    pub fn complete(&self, held: &Held, status: &str, exit_code: i32) -> Reply {
        let said = json!({"type": "Complete", "lease_id": held.lease, "runner_id": self.name,
            "status": status, "exit_code": exit_code, "summary": "played by hand"});
        self.say("complete", &said)
    }

    pub fn cancel_ack(&self, held: &Held) -> Reply {
        let said = json!({"type": "CancelAck", "lease_id": held.lease, "runner_id": self.name,
            "final_status": "CANCELED", "ts": AT, "artifacts": [], "summary": "stopped"});
        self.say("cancel-ack", &said)
    }

    pub fn append(&self, held: &Held, offset: u64, bytes: &[u8]) -> Reply {
        let (bearer, offset) = (format!("Bearer {}", self.token), offset.to_string());
        let headers =
            [("authorization", bearer.as_str()), ("delta-lease", &held.lease), ("delta-offset", &offset)];
        ask(self.site.address(), "POST", "/v1/runner/logs", &headers, bytes).expect("the server answers")
    }
}

pub fn held(granted: &Value) -> Held {
    let text = |field: &str| granted[field].as_str().expect("a granted lease has it").to_owned();
    Held { job: text("job_id"), lease: text("lease_id") }
}

/// Refused because the lease no longer speaks for the attempt.
#[track_caller]
pub fn assert_stale(reply: &Reply, reason: &str) {
    let said = reply.expect(409);
    assert_eq!((&said["type"], &said["reason"]), (&json!("StaleLease"), &json!(reason)), "{said}");
}
