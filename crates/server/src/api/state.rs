//! What the handlers share.

use std::ops::Deref;
use std::sync::Arc;

use store::Store;
use tokio::sync::{Semaphore, watch};
use wire::TokenSecret;

use crate::api::bodies::Bodies;
use crate::api::vault::Vault;
use crate::artifacts::Artifacts;
use crate::artifacts::collector::Collector;
use crate::dispatch::Dispatch;
use crate::engine::Engine;
use crate::outbox::Rules;

/// The most log chunks in memory at a time, of at most 256 KiB each.
const LOG_BODIES_MAX: usize = 256;

/// A handle on all of it; cheap to clone.
pub struct Api<S>(Arc<Shared<S>>);

pub struct Shared<S> {
    pub engine: Engine<S>,
    pub dispatch: Dispatch<S>,
    pub vault: Vault,
    /// Which addresses may be subscribed to.
    pub rules: Arc<Rules>,
    pub artifacts: Artifacts,
    pub collector: Collector<S>,
    /// Log chunks that are being read or written.
    pub log_bodies: Semaphore,
    pub bodies: Bodies,
    stopping: watch::Sender<bool>,
}

impl<S> Clone for Api<S> {
    fn clone(&self) -> Api<S> {
        Api(self.0.clone())
    }
}

impl<S> Deref for Api<S> {
    type Target = Shared<S>;

    fn deref(&self) -> &Shared<S> {
        &self.0
    }
}

impl<S: Store> Api<S> {
    /// `admin` opens everything, beside the admin tokens in the store; only its hash is kept.
    pub fn new(
        engine: Engine<S>,
        dispatch: Dispatch<S>,
        admin: Option<&TokenSecret>,
        rules: Arc<Rules>,
        artifacts: Artifacts,
    ) -> Api<S> {
        let (stopping, _) = watch::channel(false);
        let (vault, log_bodies) = (Vault::new(admin), Semaphore::new(LOG_BODIES_MAX));
        let collector = Collector::new(engine.clone(), artifacts.blobs.clone());
        let bodies = Bodies::default();
        let shared =
            Shared { engine, dispatch, vault, rules, artifacts, collector, log_bodies, bodies, stopping };
        Api(Arc::new(shared))
    }

    /// From now on whoever waits is sent away, politely.
    pub fn stop_waiting(&self) {
        self.stopping.send_replace(true);
        self.dispatch.stop();
    }

    pub fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Returns when the server is stopping.
    pub fn stopping(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut stopping = self.stopping.subscribe();
        async move {
            // The sender lives as long as the state, so an error cannot come before the end.
            let _ = stopping.wait_for(|stopping| *stopping).await;
        }
    }
}
