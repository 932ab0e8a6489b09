//! What a submitter and a runner say over HTTP, as texts. Written by hand: building them must cost the client little.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::bench::callers::{Steps, Watch};
use crate::bench::protocol::http::{Connection, Head, field};
use crate::bench::protocol::processes::Server;

/// As long as the real runner's.
const WAIT_SECONDS: u32 = 20;

/// A moment; what it is does not matter to the server.
const MOMENT: &str = "2026-08-01T12:00:00.000000Z";

/// The heads of one server's requests.
pub struct Heads {
    submit: Head,
    lease: Head,
    ack: Head,
    heartbeat: Head,
    complete: Head,
}

impl Heads {
    pub fn of(server: &Server) -> Heads {
        Heads {
            submit: server.submit_head(),
            lease: server.runner_head("lease"),
            ack: server.runner_head("ack"),
            heartbeat: server.runner_head("heartbeat"),
            complete: server.runner_head("complete"),
        }
    }
}

/// One who submits a job and executes one, as fast as it is answered.
pub struct Caller {
    connection: Connection,
    runner: String,
}

/// What a runner got.
pub struct Leased {
    job: String,
    lease: String,
    pub at: Instant,
}

impl Caller {
    pub fn new(connection: Connection, runner: String) -> Caller {
        Caller { connection, runner }
    }

    pub async fn lifecycle(&mut self, heads: &Heads) -> Result<Steps> {
        let mut watch = Watch::start();
        self.submit(heads).await?;
        let submit = watch.lap();
        let leased = self.lease(heads).await?;
        let lease = watch.lap();
        self.ack(heads, &leased).await?;
        let ack = watch.lap();
        self.connection.expect(&heads.heartbeat, &heartbeat(&self.runner, &leased.lease), 200).await?;
        let heartbeat = watch.lap();
        self.complete(heads, &leased).await?;
        Ok([submit, lease, ack, heartbeat, watch.lap()])
    }

    pub async fn submit(&mut self, heads: &Heads) -> Result<()> {
        self.connection.expect(&heads.submit, SUBMIT, 201).await?;
        Ok(())
    }

    /// Asks again when nothing came within the wait.
    pub async fn lease(&mut self, heads: &Heads) -> Result<Leased> {
        loop {
            let answer = self.connection.ask(&heads.lease, &lease(&self.runner)).await?;
            let at = Instant::now();
            match answer.status {
                204 => continue,
                _ => {
                    let lease = field(&answer.body, "lease_id")?.into();
                    return Ok(Leased { job: field(&answer.body, "job_id")?.into(), lease, at });
                }
            }
        }
    }

    pub async fn ack(&mut self, heads: &Heads, leased: &Leased) -> Result<()> {
        let body = ack(&self.runner, &leased.job, &leased.lease);
        self.connection.expect(&heads.ack, &body, 200).await?;
        Ok(())
    }

    pub async fn complete(&mut self, heads: &Heads, leased: &Leased) -> Result<()> {
        self.connection.expect(&heads.complete, &complete(&self.runner, &leased.lease), 200).await?;
        Ok(())
    }
}

/// One who sends the bodies of a lifecycle to the echo.
pub struct Shouter {
    connection: Connection,
    bodies: [String; 5],
}

impl Shouter {
    pub fn new(connection: Connection, runner: &str) -> Shouter {
        let job = format!("job_{}", "0".repeat(26));
        let id = format!("lease_{}_{}", "0".repeat(26), "0".repeat(64));
        let bodies = [
            SUBMIT.into(),
            lease(runner),
            ack(runner, &job, &id),
            heartbeat(runner, &id),
            complete(runner, &id),
        ];
        Shouter { connection, bodies }
    }

    pub async fn lifecycle(&mut self, head: &Head) -> Result<Steps> {
        let mut watch = Watch::start();
        let mut steps = [Duration::ZERO; 5];
        for (body, step) in self.bodies.iter().zip(&mut steps) {
            self.connection.expect(head, body, 200).await?;
            *step = watch.lap();
        }
        Ok(steps)
    }
}

const SUBMIT: &str = r#"{"payload":{"command":"cargo test","commit":"4f2c1d"},"runs_on":["os:linux"]}"#;

fn lease(runner: &str) -> String {
    format!(
        r#"{{"runner_id":"{runner}","capabilities":["arch:x86_64","os:linux","tool:git"],"wait_seconds":{WAIT_SECONDS}}}"#
    )
}

fn ack(runner: &str, job: &str, lease: &str) -> String {
    format!(
        r#"{{"type":"AckLease","job_id":"{job}","lease_id":"{lease}","runner_id":"{runner}","accepted_at":"{MOMENT}"}}"#
    )
}

fn heartbeat(runner: &str, lease: &str) -> String {
    format!(
        r#"{{"type":"Heartbeat","lease_id":"{lease}","runner_id":"{runner}","progress":{{"current_step":"cargo test","step_index":0,"phase":"running"}},"log_cursor":{{"bytes_sent":0}},"ts":"{MOMENT}"}}"#
    )
}

fn complete(runner: &str, lease: &str) -> String {
    format!(
        r#"{{"type":"Complete","lease_id":"{lease}","runner_id":"{runner}","status":"SUCCEEDED","exit_code":0,"artifacts":[],"summary":"All tests passed."}}"#
    )
}
