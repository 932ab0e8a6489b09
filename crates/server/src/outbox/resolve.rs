//! Names to addresses, of which only those that may be reached are handed on: what is connected to is what was checked.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;

use crate::outbox::address::is_public;

pub const PRIVATE: &str =
    "the address is private or reserved: the server would have to run with --allow-private-webhooks";

/// Looks names up for the HTTP client, which connects to nothing else.
#[derive(Debug, Clone, Copy)]
pub struct Resolver {
    pub allow_private: bool,
}

impl Resolver {
    pub async fn resolve(self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let found: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await?.collect();
        if found.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
        }
        let allowed = |address: &SocketAddr| self.allow_private || is_public(address.ip());
        let allowed: Vec<SocketAddr> = found.into_iter().filter(allowed).collect();
        if allowed.is_empty() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, PRIVATE));
        }
        Ok(allowed)
    }
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let resolver = *self;
        Box::pin(async move { Ok(resolver.resolve(name.as_str(), 0).await?.into_iter()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_of_this_machine_is_refused_unless_allowed() {
        // Other spellings of an address are names to the client, and end up here too.
        for host in ["localhost", "127.0.0.1", "127.1", "2130706433"] {
            let refused = Resolver { allow_private: false }.resolve(host, 80).await;
            assert!(refused.is_err(), "{host}");
        }
        let allowed = Resolver { allow_private: true }.resolve("localhost", 80).await.unwrap();
        assert!(allowed.iter().all(|address| address.ip().is_loopback() && address.port() == 80));
    }
}
