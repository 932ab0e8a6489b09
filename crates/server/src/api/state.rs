//! What the handlers share.

use std::ops::Deref;
use std::sync::Arc;

use store::Store;
use tokio::sync::{Semaphore, watch};
use wire::TokenSecret;

use crate::api::vault::Vault;
use crate::artifacts::{Artifacts, Collects};
use crate::dispatch::Dispatch;
use crate::engine::Engine;

/// The most log chunks in memory at a time, of at most 256 KiB each.
const LOG_BODIES_MAX: usize = 256;

/// A handle on all of it; cheap to clone.
pub struct Api<S>(Arc<Shared<S>>);

pub struct Shared<S> {
    pub engine: Engine<S>,
    pub dispatch: Dispatch<S>,
    pub vault: Vault,
    pub artifacts: Artifacts,
    /// Without one nothing is collected, and nobody can ask for it.
    pub collector: Option<Arc<dyn Collects>>,
    /// Log chunks that are being read or written.
    pub log_bodies: Semaphore,
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
        artifacts: Artifacts,
        collector: Option<Arc<dyn Collects>>,
    ) -> Api<S> {
        let (stopping, _) = watch::channel(false);
        let (vault, log_bodies) = (Vault::new(admin), Semaphore::new(LOG_BODIES_MAX));
        Api(Arc::new(Shared { engine, dispatch, vault, artifacts, collector, log_bodies, stopping }))
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
