//! The runner of a local run: an agent in this process, with keepers of its own.

use std::io;
use std::path::PathBuf;

use anyhow::Result;
use runner::agent::{self, Ground, Keepers, Left, Network, Seen, Settings, Stop};
use runner::capabilities::capabilities;
use runner::client::Client;
use runner::keeper::{Choice, Limits};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// The most that one job may leave as artifacts.
const ARTIFACTS_BYTES_MAX: u64 = 10 << 30;

/// What the runner saw and nobody was told; each up to 64 KiB.
const SEEN_MAX: usize = 64;

pub struct Terms {
    pub slots: u32,
    pub executor: Choice,
    pub work: PathBuf,
    pub ground: Ground,
}

pub struct Staff {
    seen: mpsc::Receiver<Seen>,
    stop: watch::Sender<Stop>,
    agent: JoinHandle<io::Result<Left>>,
    is_gone: bool,
}

pub enum News {
    Seen(Seen),
    /// It left, and why, unless it was told to.
    Gone(Option<String>),
}

impl Terms {
    pub fn capabilities(&self) -> Vec<String> {
        capabilities(std::env::var_os("PATH").as_deref(), self.executor, &[])
    }
}

impl Staff {
    pub fn hire(terms: Terms, client: Client) -> Result<Staff> {
        let (tap, seen) = mpsc::channel(SEEN_MAX);
        let (stop, stopped) = watch::channel(Stop::Go);
        let settings = Settings {
            name: agent::default_name(),
            slots: terms.slots,
            once: false,
            capabilities: terms.capabilities(),
            executor: terms.executor,
            ground: terms.ground,
            network: Network::Always, // whoever runs a pipeline here has the network anyway
            work_dir: terms.work,
            limits: Limits::default(),
            artifacts_bytes_max: ARTIFACTS_BYTES_MAX,
            tap: Some(tap),
        };
        let agent = tokio::spawn(agent::run(settings, client, Keepers::of_this_program()?, stopped));
        Ok(Staff { seen, stop, agent, is_gone: false })
    }

    pub fn tell(&self, stop: Stop) {
        self.stop.send_replace(stop);
    }

    /// The next thing to know of the runner; nothing, once it is gone. May be dropped at any moment.
    pub async fn news(&mut self) -> News {
        if self.is_gone {
            return std::future::pending().await;
        }
        tokio::select! {
            biased;
            Some(seen) = self.seen.recv() => News::Seen(seen),
            left = &mut self.agent => {
                self.is_gone = true;
                News::Gone(match left {
                    Ok(Ok(Left::Stopped)) => None,
                    Ok(Ok(Left::Unauthorized | Left::Once(_))) => Some("it is not let in".into()),
                    Ok(Err(error)) => Some(error.to_string()),
                    Err(error) => Some(error.to_string()),
                })
            }
        }
    }

    /// What was seen and waits to be told.
    pub fn waiting(&mut self) -> impl Iterator<Item = Seen> {
        std::iter::from_fn(|| self.seen.try_recv().ok())
    }

    /// Returns when every process of its jobs is gone.
    pub async fn leave(mut self) {
        let said = *self.stop.borrow();
        self.tell(said.max(Stop::Finish));
        self.seen.close(); // it must not wait for somebody to hear of what it sees
        if !self.is_gone {
            let _ = (&mut self.agent).await; // the run is over; what could not be removed, the next start does
        }
    }
}
