//! The server inside this process: no port, and a token that nobody else ever sees.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use decisions::Policy;
use runner::client::{Client, Token};
use server::artifacts::Judge;
use server::outbox::Rules;
use server::serve::{Duty, Server, Settings};
use server::{Clock, Engine, Mint};
use store::Sqlite;
use store::blobs::Blobs;
use wire::{TenantId, TokenSecret};

use super::data::Data;

/// A cancel reaches a job with its next heartbeat.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(500);
const LEASE_TTL: Duration = Duration::from_secs(15);
const ACK_TIMEOUT: Duration = Duration::from_secs(10);
const CANCEL_DEADLINE: Duration = Duration::from_secs(10);
/// Each is an interruption by whoever sits in front of the machine; it says nothing against the job.
const LOST_LEASES_MAX: u32 = 100;
/// Longer than a run may take: what nothing refers to can wait for the next one.
const COLLECT_EVERY: Duration = Duration::from_secs(24 * 3600);

pub struct Embedded {
    server: Server<Sqlite>,
    token: Token,
}

impl Embedded {
    pub async fn start(data: &Data) -> Result<Embedded> {
        let store = Sqlite::open(&data.database())?;
        Embedded::on(store, &data.blobs(), Duty::All).await
    }

    pub async fn on(store: Sqlite, blobs: &Path, duty: Duty) -> Result<Embedded> {
        let secret = Mint.token_secret(Mint.token(Clock::start().now()));
        let token = Token::parse(secret.expose()).context("a minted token is a token")?;
        let blobs = blobs.to_str().context("the path of the data directory must be text")?;
        let settings = Settings {
            listen: None,
            duty,
            policy: policy(),
            admin_token: Some(TokenSecret::from(secret.expose().to_owned())),
            outbox: Rules::default(),
            blobs: Blobs::open(blobs).await.with_context(|| format!("cannot keep artifacts in {blobs}"))?,
            judge: Judge::Absent,
            collect_every: COLLECT_EVERY,
            archive_logs_after: None, // a folder has few of them, and nothing shall take time from its jobs
            mirrors: None,
        };
        Ok(Embedded { server: Server::start(Arc::new(store), settings).await?, token })
    }

    pub fn engine(&self) -> &Engine<Sqlite> {
        self.server.engine()
    }

    pub fn tenant(&self) -> TenantId {
        self.server.tenant
    }

    pub fn client(&self) -> Client {
        let door = self.server.door();
        Client::inside(Arc::new(move || door.connect()), &self.token)
    }

    /// A client that keeps the server alive, for as long as there is a runtime.
    pub fn into_client(self) -> Client {
        let token = self.token.clone();
        let server = self.server;
        Client::inside(Arc::new(move || server.door().connect()), &token)
    }

    pub async fn stop(self) {
        self.server.stop().await;
    }
}

fn policy() -> Policy {
    Policy {
        lease_ttl: LEASE_TTL,
        heartbeat_interval: HEARTBEAT_INTERVAL,
        ack_timeout: ACK_TIMEOUT,
        cancel_deadline: CANCEL_DEADLINE,
        lost_leases_max: LOST_LEASES_MAX,
        ..Policy::default()
    }
}
