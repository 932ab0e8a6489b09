//! Outbox: tells the outside world what has already happened inside.
//!
//! Rows arrive in the commit of the change they announce; this room only delivers. Each subscriber is a lane; a lane that
//! is dead or slow takes a few of the hands and no more. A message may be told twice, so it carries a stable id; how it
//! went becomes a command like any other.
//!
//! Never: decides a run's fate, holds up a request, deletes a row, follows a redirect, reaches a private address that the
//! operator did not allow.
//! Start at `worker.rs`.

mod address;
mod http;
mod lanes;
mod nats;
mod resolve;
mod send;
mod sign;
mod target;
mod worker;

use std::sync::Arc;

use store::Store;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::engine::Engine;

pub use sign::is_usable as is_usable_secret;
pub use target::{Rules, shown};
use worker::Worker;

/// The workers of one server.
pub struct Outbox {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Outbox {
    pub fn start<S: Store>(engine: Engine<S>, rules: Arc<Rules>) -> Outbox {
        let (stop, stopping) = watch::channel(false);
        Outbox { stop, task: tokio::spawn(Worker::new(engine, rules).run(stopping)) }
    }

    /// From now on nothing new is claimed.
    pub fn begin_stop(&self) {
        self.stop.send_replace(true);
    }

    /// Returns when the last claim has ended or was given back; a bounded time after [`Outbox::begin_stop`].
    pub async fn stopped(self) {
        self.begin_stop();
        self.task.await.expect("the outbox does not panic");
    }
}
