//! What the agent needs of a keeper. The real one is [`crate::keeper`]; tests bring one that follows a script.

use std::future::Future;
use std::io;
use std::time::Duration;

use crate::clock::Uptime;
use crate::keeper::{Order, Report};

/// Starts keepers.
pub trait Hire: Clone + Send + Sync + 'static {
    type Hands: Hands;

    /// An order will follow in a moment, most likely: what takes time may be done now.
    fn expect(&self) {}

    fn start(&self, order: Order) -> io::Result<Self::Hands>;
}

/// A keeper at work. Whoever drops it must have called `end`, or trust that the keeper sees it go.
pub trait Hands: Send + 'static {
    /// The lease was renewed.
    fn extend(&self, until: Uptime) -> impl Future<Output = ()> + Send;

    /// SIGTERM to every process of the job, and SIGKILL after the grace.
    fn cancel(&self, grace: Duration) -> impl Future<Output = ()> + Send;

    /// The next report; `None` when the keeper is gone. May be dropped at any moment.
    fn next(&mut self) -> impl Future<Output = Option<Report>> + Send;

    /// Kills what is left, and returns when nothing is. May be called twice.
    fn end(&mut self) -> impl Future<Output = ()> + Send;
}
