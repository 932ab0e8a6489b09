//! All slots of one agent, from start to leave.

use std::io;
use std::sync::Arc;

use rustix::process::{DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::agent::hands::Hire;
use crate::agent::orphans::reap_forever;
use crate::agent::prepare::Shop;
use crate::agent::settings::{Settings, runner_ids};
use crate::agent::slot::slot;
use crate::agent::stop::Stop;
use crate::client::Client;
use crate::session::End;
use crate::workspace::Folder;

/// Why an agent left.
#[derive(Debug, Clone, PartialEq)]
pub enum Left {
    /// It was told to.
    Stopped,
    /// After its one job.
    Once(End),
    /// The token is not good for a runner.
    Unauthorized,
}

/// Works until told to stop, or for one job. Must be called within a runtime.
pub async fn run<H: Hire>(
    settings: Settings,
    client: Client,
    hire: H,
    stop: watch::Receiver<Stop>,
) -> io::Result<Left> {
    let ids = runner_ids(&settings.name, settings.slots).map_err(io::Error::other)?;
    let folder = Folder::claim(&settings.work_dir, &settings.name)?;
    guard_process()?;
    tracing::info!(name = settings.name, slots = settings.slots, capabilities = ?settings.capabilities, "started");
    let shop = Arc::new(Shop { client, settings, folder, hire });
    let reaper = tokio::spawn(reap_forever());
    let mut slots: JoinSet<Left> = ids.into_iter().map(|id| slot(shop.clone(), id, stop.clone())).collect();
    let mut left = Left::Stopped;
    while let Some(joined) = slots.join_next().await {
        match joined.map_err(io::Error::other)? {
            Left::Stopped => {}
            other => left = other,
        }
    }
    reaper.abort();
    if let Some(shop) = Arc::into_inner(shop) {
        shop.folder.leave();
    }
    Ok(left)
}

/// What keepers leave behind when they are killed comes to us; and what is in our memory and environment, such as the
/// token, is not for jobs of the same user to read.
fn guard_process() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}
