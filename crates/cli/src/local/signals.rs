//! Ctrl-C and SIGTERM, in two phases: stop, and stop at once.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// Whoever sends SIGTERM reads nothing of what we say and waits a while at most: the second phase follows by itself.
const TERMINATE_GRACE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// Stop the jobs, with time to end.
    Cancel,
    /// Without.
    Force,
}

/// Listens from now on. Must be called within a runtime.
pub fn listen() -> io::Result<mpsc::Receiver<Said>> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let (sender, receiver) = mpsc::channel(2);
    tokio::spawn(async move {
        let grace = next(&mut interrupt, &mut terminate).await;
        let _ = sender.send(Said::Cancel).await; // the run may be over
        match grace {
            Some(grace) => drop(tokio::time::timeout(grace, next(&mut interrupt, &mut terminate)).await),
            None => drop(next(&mut interrupt, &mut terminate).await),
        }
        let _ = sender.send(Said::Force).await;
        sender.closed().await; // further signals change nothing
    });
    Ok(receiver)
}

/// The next signal, and how long to wait for another.
async fn next(interrupt: &mut Signal, terminate: &mut Signal) -> Option<Duration> {
    tokio::select! {
        _ = interrupt.recv() => None,
        _ = terminate.recv() => Some(TERMINATE_GRACE),
    }
}
