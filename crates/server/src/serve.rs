//! The server as a whole: engine, ticks, planning and the API on a socket; started, and stopped without losing a word.
//!
//! Stopping: nothing new is accepted, whoever waits is sent away, what was begun is finished within a bound, and what the
//! engine took in is durable and answered. Leases stay out; the next start finds them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use decisions::records::TokenKind;
use decisions::tenants::EnsureTenant;
use decisions::tokens::CreateToken;
use decisions::{Answer, Policy};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use store::blobs::Blobs;
use store::{Store, StoreError};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;
use wire::{TenantId, TokenId, TokenSecret};

use crate::api::{Api, router};
use crate::artifacts::upkeep::Upkeep;
use crate::artifacts::{Artifacts, Judge, parts};
use crate::clock::Clock;
use crate::dispatch::Dispatch;
use crate::engine::Engine;
use crate::mint::Mint;
use crate::outbox::{Outbox, Rules};
use crate::perform::Failure;
use crate::{planning, ticks};

/// The tenant that every server has.
pub const TENANT: &str = "default";

/// The most connections at a time; beyond them new ones are closed at once.
const CONNECTIONS_MAX: usize = 16_384;

/// The most connections that wait to be accepted: after a restart all runners come at once, and one that finds no place
/// tries again only a second later. The system may allow fewer.
const CONNECTIONS_WAITING_MAX: u32 = 4_096;

/// How long a client may take over a request's head, and how long an idle connection is kept.
const HEAD_TIME_MAX: Duration = Duration::from_secs(75);

/// How long requests in flight may take once the server is stopping.
pub const STOP_TIME_MAX: Duration = Duration::from_secs(10);

/// Between two tries to accept, when the machine has no more room for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Ticks come at least and at most this often; in between, four times within the shortest timing.
const TICK_MAX: Duration = Duration::from_secs(1);
const TICK_MIN: Duration = Duration::from_millis(25);

/// Tokens looked at in one step of the search for an admin's.
const TOKENS_PAGE: usize = 500;

/// What a server is started with.
#[derive(Clone)]
pub struct Settings {
    pub listen: SocketAddr,
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
    pub address: SocketAddr,
    /// Minted at this start, to be shown once.
    pub minted: Option<TokenSecret>,
    pub tenant: TenantId,
    api: Api<S>,
    stop: oneshot::Sender<()>,
    accepting: JoinHandle<GracefulShutdown>,
    background: [JoinHandle<()>; 3],
    outbox: Outbox,
}

impl<S: Store> Server<S> {
    pub async fn start(store: Arc<S>, settings: Settings) -> Result<Server<S>, StartError> {
        let Settings { listen, policy, admin_token, outbox, blobs, judge, collect_every } = settings;
        let failed = |source| StartError::Listen { address: listen, source };
        let listener = listening(listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let engine = Engine::start(store, Clock::start(), policy.clone());
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
        let accepting = tokio::spawn(accept(listener, router(api.clone()), stopped));
        let outbox = Outbox::start(engine.clone(), rules);
        let (interval, collector) = (tick_interval(&policy), api.collector.clone());
        let upkeep = Upkeep {
            engine: engine.clone(),
            blobs,
            collector,
            interval,
            collect_every,
            cache_ttl: policy.cache_ttl,
            cache_bytes_max: policy.cache_bytes_max,
        };
        let background = [
            tokio::spawn(ticks::run(engine.clone(), tick_interval(&policy))),
            tokio::spawn(planning::run(engine.clone())),
            tokio::spawn(upkeep.run()),
        ];
        Ok(Server { address, minted, tenant, api, stop, accepting, background, outbox })
    }

    pub fn engine(&self) -> &Engine<S> {
        &self.api.engine
    }

    /// Returns when the last of it is answered and durable, or the bound has passed.
    pub async fn stop(self) {
        let _ = self.stop.send(()); // gone already, if accepting ended by itself
        self.api.stop_waiting();
        self.outbox.begin_stop();
        let connections = self.accepting.await.expect("accepting does not panic");
        if tokio::time::timeout(STOP_TIME_MAX, connections.shutdown()).await.is_err() {
            tracing::warn!("some requests took too long and were dropped");
        }
        self.outbox.stopped().await;
        self.background.iter().for_each(JoinHandle::abort);
        self.api.engine.stop().await;
    }
}

/// An address that a server before us has just left is free.
fn listening(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(CONNECTIONS_WAITING_MAX)
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

/// Takes connections until told to stop; hands over those that are still open.
async fn accept(
    listener: TcpListener,
    router: Router,
    mut stopped: oneshot::Receiver<()>,
) -> GracefulShutdown {
    let connections = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepted = tokio::select! {
            biased;
            _ = &mut stopped => return connections,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(ACCEPT_PAUSE).await; // out of file descriptors, most likely: some will be freed
            continue;
        };
        let Ok(place) = room.clone().try_acquire_owned() else {
            tracing::warn!(connections = CONNECTIONS_MAX, "no room for another connection");
            continue;
        };
        let connection = connections.watch(connection(stream, router.clone()));
        tokio::spawn(async move {
            let _ = connection.await; // a client that hangs up is no news
            drop(place);
        });
    }
}

type Connection = http1::Connection<TokioIo<TcpStream>, TowerToHyperService<Router>>;

fn connection(stream: TcpStream, router: Router) -> Connection {
    let _ = stream.set_nodelay(true); // slower without, not wrong
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
}
