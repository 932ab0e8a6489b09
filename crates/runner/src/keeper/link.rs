//! The keeper's end of the two pipes: what the agent wants now, and a bounded queue of what it is told.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::frames::{SayReader, report_frame};
use super::order::{Order, Report, Say};
use crate::clock::Uptime;

/// Reports that wait for a slow agent; beyond that the job waits.
const REPORTS_WAITING_MAX: usize = 4;
/// The timer stands still while the machine sleeps and the lease does not, so it is looked at this often.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// What the agent wants, as last heard.
#[derive(Debug, Clone, Copy)]
struct Wishes {
    until: Uptime,
    cancel: Option<Duration>,
    gone: bool,
}

/// Listens to the agent.
#[derive(Clone)]
pub struct Agent {
    wishes: watch::Receiver<Wishes>,
}

impl Agent {
    /// Reads the order, then keeps listening. `None`: the agent left without a word.
    pub async fn listen() -> io::Result<Option<(Order, Agent)>> {
        let input = std::io::stdin().as_fd().try_clone_to_owned()?;
        let mut says = SayReader::new(pipe::Receiver::from_owned_fd(input)?);
        let order = match says.next().await? {
            None => return Ok(None),
            Some(Say::Start(order)) => *order,
            Some(Say::Until { .. } | Say::Cancel { .. }) => {
                return Err(io::Error::other("the agent's first word was not an order"));
            }
        };
        let (sender, wishes) = watch::channel(Wishes { until: order.until, cancel: None, gone: false });
        tokio::spawn(hear(says, sender));
        Ok(Some((order, Agent { wishes })))
    }

    /// Returns when the lease is over: nobody renewed it in time, or the agent is gone.
    pub async fn lease_over(&mut self) {
        loop {
            let Wishes { until, gone, .. } = *self.wishes.borrow_and_update();
            let left = Uptime::now().until(until);
            if gone || left.is_zero() {
                return;
            }
            // An error means that nobody listens any more; the sender says `gone` before it leaves.
            let _ = tokio::time::timeout(left.min(LOOK_AGAIN), self.wishes.changed()).await;
        }
    }

    /// Returns the grace when the agent wants the job to end.
    pub async fn canceled(&mut self) -> Duration {
        loop {
            if let Some(grace) = self.wishes.borrow_and_update().cancel {
                return grace;
            }
            if self.wishes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

async fn hear(mut says: SayReader<pipe::Receiver>, wishes: watch::Sender<Wishes>) {
    loop {
        match says.next().await {
            Ok(Some(Say::Until { until })) => wishes.send_modify(|wishes| wishes.until = until),
            Ok(Some(Say::Cancel { grace })) => wishes.send_modify(|wishes| wishes.cancel = Some(grace)),
            Ok(Some(Say::Start(_))) => {
                eprintln!("keeper: the agent sent a second order; the job is stopped");
                break;
            }
            Ok(None) => break,
            Err(error) => {
                eprintln!("keeper: the agent cannot be understood, so the job is stopped: {error}");
                break;
            }
        }
    }
    wishes.send_modify(|wishes| wishes.gone = true);
}

/// Tells the agent. Waits when the agent is slow; says nothing to an agent that is gone.
#[derive(Clone)]
pub struct Reports {
    queue: mpsc::Sender<Report>,
}

impl Reports {
    /// The task ends when every sender is gone and all is written, or when the agent closed its end.
    pub fn open() -> io::Result<(Reports, JoinHandle<()>)> {
        let output = std::io::stdout().as_fd().try_clone_to_owned()?;
        let mut output = pipe::Sender::from_owned_fd(output)?;
        let (queue, mut waiting) = mpsc::channel(REPORTS_WAITING_MAX);
        let task = tokio::spawn(async move {
            while let Some(report) = waiting.recv().await {
                let Ok(frame) = report_frame(report) else { continue };
                if output.write_all(&frame).await.is_err() {
                    return;
                }
            }
        });
        Ok((Reports { queue }, task))
    }

    pub async fn send(&self, report: Report) {
        // Closed: the agent is gone, which its other pipe says too.
        let _ = self.queue.send(report).await;
    }
}
