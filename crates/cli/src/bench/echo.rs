//! `deltaci bench echo`: a plain axum server that sends back what it got. What any HTTP server could do at best here.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use anyhow::Result;
use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;

use crate::output::Exit;

/// Until it is killed. Its address is the first line on stderr, as the server's is.
pub fn run() -> Result<ExitCode> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        eprintln!("echo listens on http://{} with nothing", listener.local_addr()?);
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true); // slower without, not wrong
        });
        let router = Router::new().route("/", post(async |body: Bytes| body));
        axum::serve(listener, router).await?;
        Ok(Exit::Success.into())
    })
}
