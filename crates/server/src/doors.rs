//! The ways into a server: a socket, and a door inside the process that no other process can open. Behind both is the
//! same router.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot};

/// The most connections at a time; beyond them new ones are closed at once.
const CONNECTIONS_MAX: usize = 16_384;

/// The most connections that wait to be accepted: after a restart all runners come at once, and one that finds no place
/// tries again only a second later. The system may allow fewer.
const CONNECTIONS_WAITING_MAX: u32 = 4_096;

/// How long a client may take over a request's head, and how long an idle connection is kept.
const HEAD_TIME_MAX: Duration = Duration::from_secs(75);

/// Between two tries to accept, when the machine has no more room for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What may be on its way in either direction of a connection inside the process.
const INSIDE_BYTES_MAX: usize = 64 * 1024;

/// Opens connections inside the process; cheap to clone.
#[derive(Debug, Clone)]
pub struct Door {
    visitors: mpsc::UnboundedSender<DuplexStream>,
}

impl Door {
    pub(crate) fn new() -> (Door, mpsc::UnboundedReceiver<DuplexStream>) {
        let (visitors, incoming) = mpsc::unbounded_channel();
        (Door { visitors }, incoming)
    }

    /// A connection to the server; one that ends at once when the server has stopped.
    pub fn connect(&self) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(INSIDE_BYTES_MAX);
        let _ = self.visitors.send(theirs); // dropped with the server, and ours sees its end
        ours
    }
}

/// An address that a server before us has just left is free.
pub(crate) fn listening(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(CONNECTIONS_WAITING_MAX)
}

/// Takes connections until told to stop; hands over those that are still open.
pub(crate) async fn accept(
    listener: Option<TcpListener>,
    mut visitors: mpsc::UnboundedReceiver<DuplexStream>,
    router: Router,
    mut stopped: oneshot::Receiver<()>,
) -> GracefulShutdown {
    let hall = Hall {
        connections: GracefulShutdown::new(),
        room: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
        router,
    };
    loop {
        tokio::select! {
            biased;
            _ = &mut stopped => return hall.connections,
            Some(stream) = visitors.recv() => hall.seat(stream),
            accepted = outside(listener.as_ref()) => match accepted {
                Ok(stream) => hall.seat(stream),
                // Out of file descriptors, most likely: some will be freed.
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
}

/// Nobody comes from outside where nothing listens.
async fn outside(listener: Option<&TcpListener>) -> io::Result<TcpStream> {
    let Some(listener) = listener else { return std::future::pending().await };
    let (stream, _) = listener.accept().await?;
    let _ = stream.set_nodelay(true); // slower without, not wrong
    Ok(stream)
}

struct Hall {
    connections: GracefulShutdown,
    room: Arc<Semaphore>,
    router: Router,
}

impl Hall {
    fn seat<T: AsyncRead + AsyncWrite + Send + Unpin + 'static>(&self, stream: T) {
        let Ok(place) = self.room.clone().try_acquire_owned() else {
            tracing::warn!(connections = CONNECTIONS_MAX, "no room for another connection");
            return;
        };
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME_MAX)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(self.router.clone()));
        let connection = self.connections.watch(connection);
        tokio::spawn(async move {
            let _ = connection.await; // a client that hangs up is no news
            drop(place);
        });
    }
}
