//! The server as a whole: engine, ticks, planning and the API, on a socket or inside this process alone; started, and
//! stopped without losing a word.
//!
//! Stopping: nothing new is accepted, whoever waits is sent away, what was begun is finished within a bound, and what the
//! engine took in is durable and answered. Leases stay out; the next start finds them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use decisions::records::TokenKind;
use decisions::tenants::EnsureTenant;
use decisions::tokens::CreateToken;
use decisions::{Answer, Policy};
use hyper_util::server::graceful::GracefulShutdown;
use repo::Mirrors;
use store::blobs::Blobs;
use store::{Store, StoreError};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use wire::{TenantId, TokenId, TokenSecret};

use crate::api::{Api, router};
use crate::artifacts::archive::Archive;
use crate::artifacts::upkeep::Upkeep;
use crate::artifacts::{Artifacts, Judge, parts};
use crate::dispatch::Dispatch;
use crate::doors::{Door, accept, listening};
use crate::engine::Engine;
use crate::mint::Mint;
use crate::outbox::{Outbox, Rules};
use crate::perform::Failure;
use crate::{planning, resume, ticks};

/// The tenant that every server has.
pub const TENANT: &str = "default";

/// How long requests in flight may take once the server is stopping.
pub const STOP_TIME_MAX: Duration = Duration::from_secs(10);

/// How long the outbox may take to give back what it has claimed, beyond which its claims run out by themselves; and the
/// engine to write what it took in, beyond which its callers are told nothing. Neither takes so long unless the store hangs.
const OUTBOX_STOP_MAX: Duration = Duration::from_secs(10);
const ENGINE_STOP_MAX: Duration = Duration::from_secs(30);

/// Ticks come at least and at most this often; in between, four times within the shortest timing.
const TICK_MAX: Duration = Duration::from_secs(1);
const TICK_MIN: Duration = Duration::from_millis(25);

/// How often a server looks whether it can still write.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Tokens looked at in one step of the search for an admin's.
const TOKENS_PAGE: usize = 500;

/// What a server is started with.
#[derive(Clone)]
pub struct Settings {
    /// `None`: no port is opened; whoever is in this process comes through [`Server::door`].
    pub listen: Option<SocketAddr>,
    pub duty: Duty,
    pub policy: Policy,
    /// Opens everything. Without it an admin token is minted, unless the store has one.
    pub admin_token: Option<TokenSecret>,
    pub outbox: Rules,
    /// Where the bytes of artifacts are kept.
    pub blobs: Blobs,
    /// What a publication must pass.
    pub judge: Judge,
    /// How often bytes that nothing holds are collected without being asked for.
    pub collect_every: Duration,
    /// How long a log stays in the database after its lease has ended; `None`: for good.
    pub archive_logs_after: Option<Duration>,
    /// Where repositories are kept that runs are planned from. Without it, every run must bring its plan.
    pub mirrors: Option<Mirrors>,
}

/// What a server does beside answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duty {
    /// Ticks, planning, deliveries, upkeep.
    All,
    /// Nothing: for a look at records that another process may be at work on.
    AnswerOnly,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot listen on {address}: is another server running, is the port allowed?")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("the store cannot be prepared")]
    Prepare(#[from] Failure),
    #[error("the store cannot be read")]
    Read(#[from] StoreError),
}

/// A running server.
pub struct Server<S> {
    /// Where it listens, if it does.
    pub address: Option<SocketAddr>,
    /// Minted at this start, to be shown once.
    pub minted: Option<TokenSecret>,
    pub tenant: TenantId,
    api: Api<S>,
    stop: oneshot::Sender<()>,
    accepting: JoinHandle<GracefulShutdown>,
    door: Door,
    background: Vec<JoinHandle<()>>,
    outbox: Option<Outbox>,
}

impl<S: Store> Server<S> {
    pub async fn start(store: Arc<S>, settings: Settings) -> Result<Server<S>, StartError> {
        let Settings { listen, duty, policy, admin_token, outbox, blobs, judge, mirrors, .. } = settings;
        let listener = listen.map(|address| {
            let failed = |source| StartError::Listen { address, source };
            let listener = listening(address).map_err(failed)?;
            Ok::<_, StartError>((listener.local_addr().map_err(failed)?, listener))
        });
        let (address, listener) = listener.transpose()?.unzip();
        let clock = resume::clock(&*store, policy.lease_ttl, duty).await?;
        let engine = Engine::start(store, clock, policy.clone());
        let tenant = ensure_tenant(&engine).await?;
        let minted = match &admin_token {
            Some(_) => None,
            None => mint_admin_token(&engine).await?,
        };
        let rules = Arc::new(outbox);
        let key = engine.store().key(parts::KEY, Mint.key()).await?;
        let artifacts = Artifacts::new(blobs.clone(), judge, key, policy.upload_parts_max);
        let dispatch = Dispatch::start(engine.clone());
        let api = Api::new(engine.clone(), dispatch, admin_token.as_ref(), rules.clone(), artifacts);
        let (stop, stopped) = oneshot::channel();
        let (door, visitors) = Door::new();
        let accepting = tokio::spawn(accept(listener, visitors, router(api.clone()), stopped));
        let (mut background, mut deliveries) = (Vec::new(), None);
        if duty == Duty::All {
            let (interval, collector) = (tick_interval(&policy), api.collector.clone());
            let upkeep = Upkeep {
                engine: engine.clone(),
                blobs: blobs.clone(),
                collector,
                interval,
                collect_every: settings.collect_every,
                cache_ttl: policy.cache_ttl,
                cache_bytes_max: policy.cache_bytes_max,
            };
            background.push(tokio::spawn(ticks::run(engine.clone(), interval)));
            background.push(tokio::spawn(planning::run(engine.clone(), mirrors)));
            background.push(tokio::spawn(upkeep.run()));
            if let Some(after) = settings.archive_logs_after {
                let archive = Archive { engine: engine.clone(), blobs, interval, after };
                background.push(tokio::spawn(archive.run()));
            }
            deliveries = Some(Outbox::start(engine, rules));
        }
        Ok(Server { address, minted, tenant, api, stop, accepting, door, background, outbox: deliveries })
    }

    /// A way in that no other process has.
    pub fn door(&self) -> Door {
        self.door.clone()
    }

    pub fn engine(&self) -> &Engine<S> {
        &self.api.engine
    }

    /// Returns, with the reason, when nothing will be written any more: how things stand is for the next process to find out.
    pub async fn disabled(&self) -> &'static str {
        loop {
            match self.api.engine.cannot_write() {
                Some(why) => return why,
                None => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    }

    /// Returns when the last of it is answered and durable, or the bound has passed.
    pub async fn stop(self) {
        let _ = self.stop.send(()); // gone already, if accepting ended by itself
        self.api.stop_waiting();
        self.outbox.iter().for_each(Outbox::begin_stop);
        let connections = self.accepting.await.expect("accepting does not panic");
        if tokio::time::timeout(STOP_TIME_MAX, connections.shutdown()).await.is_err() {
            tracing::warn!("some requests took too long and were dropped");
        }
        if let Some(outbox) = self.outbox
            && tokio::time::timeout(OUTBOX_STOP_MAX, outbox.stopped()).await.is_err()
        {
            tracing::warn!(
                "the outbox waits for the store and is left behind: its claims run out by themselves"
            );
        }
        self.background.iter().for_each(JoinHandle::abort);
        if tokio::time::timeout(ENGINE_STOP_MAX, self.api.engine.stop()).await.is_err() {
            tracing::warn!(
                "the store does not end what it was given: what was written is for the next start to find"
            );
        }
    }
}

fn tick_interval(policy: &Policy) -> Duration {
    let timings = [policy.lease_ttl, policy.ack_timeout, policy.cancel_deadline, policy.plan_timeout];
    let shortest = timings.into_iter().min().unwrap_or(TICK_MAX);
    (shortest / 4).clamp(TICK_MIN, TICK_MAX)
}

async fn ensure_tenant<S: Store>(engine: &Engine<S>) -> Result<TenantId, Failure> {
    let id = Mint.tenant(engine.clock().now());
    match engine.perform(EnsureTenant { id, name: TENANT.into() }).await? {
        Answer::TenantReady(tenant) => Ok(tenant),
        other => Err(Failure::Bug(format!("a tenant was asked for, not {other:?}"))),
    }
}

/// A new admin token, unless there is one that was not revoked.
async fn mint_admin_token<S: Store>(engine: &Engine<S>) -> Result<Option<TokenSecret>, StartError> {
    let mut after: Option<TokenId> = None;
    loop {
        let page = engine.store().tokens_of(None, after, TOKENS_PAGE).await?;
        if page.iter().any(|token| token.kind == TokenKind::Admin && token.revoked_at.is_none()) {
            return Ok(None);
        }
        match page.last() {
            Some(last) => after = Some(last.id),
            None => break,
        }
    }
    let id = Mint.token(engine.clock().now());
    let secret = Mint.token_secret(id);
    let (hash, name) = (secret.hash(), "made at the first start".into());
    engine.perform(CreateToken { id, hash, kind: TokenKind::Admin, tenant: None, name }).await?;
    Ok(Some(secret))
}
