//! SIGTERM and SIGINT: the first stops the leasing, the second hands the running jobs back.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    #[default]
    Go,
    /// No new work; what runs may finish.
    Finish,
    /// What runs is stopped and handed back.
    HandBack,
    /// The same, without a grace.
    Kill,
}

/// Listens from now on. Must be called within a runtime.
pub fn on_signals() -> io::Result<watch::Receiver<Stop>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (sender, receiver) = watch::channel(Stop::Go);
    tokio::spawn(async move {
        for stop in [Stop::Finish, Stop::HandBack] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            match stop {
                Stop::Go => {}
                Stop::Finish => {
                    tracing::info!("told to stop: no new work; a second signal hands running jobs back");
                }
                Stop::HandBack | Stop::Kill => {
                    tracing::warn!("told to stop again: running jobs are handed back");
                }
            }
            sender.send_replace(stop);
        }
        sender.closed().await; // the last word stays
    });
    Ok(receiver)
}

/// Returns when at least `stop` was said; never, if nobody is left to say it.
pub async fn said(receiver: &mut watch::Receiver<Stop>, stop: Stop) {
    if receiver.wait_for(|said| *said >= stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}
