//! The real hands: keepers, children of this program.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::agent::hands::{Hands, Hire};
use crate::clock::Uptime;
use crate::keeper::{Idle, Keeper, Order, Report};

#[derive(Clone)]
pub struct Keepers {
    program: PathBuf,
    /// Started when an order was expected; at most one, whoever comes first.
    idle: Arc<Mutex<Option<Idle>>>,
}

impl Keepers {
    /// Keepers that are this very program, even after its file was replaced by a newer one.
    pub fn of_this_program() -> io::Result<Keepers> {
        let running = Path::new("/proc/self/exe");
        Ok(Keepers::of(&if running.exists() { running.into() } else { std::env::current_exe()? }))
    }

    pub fn of(program: &Path) -> Keepers {
        Keepers { program: program.into(), idle: Arc::default() }
    }

    fn idle(&self) -> MutexGuard<'_, Option<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hire for Keepers {
    type Hands = Keeper;

    /// A program takes milliseconds to start, as long as the orchestrator takes to answer an acknowledgement.
    fn expect(&self) {
        let mut idle = self.idle();
        if idle.is_none() {
            *idle = Idle::spawn(&self.program).ok(); // what is wrong will be said when there is an order
        }
    }

    fn start(&self, order: Order) -> io::Result<Keeper> {
        let waiting = self.idle().take().and_then(Idle::if_alive);
        match waiting {
            Some(idle) => idle.start(order),
            None => Keeper::spawn(&self.program, order),
        }
    }
}

impl Hands for Keeper {
    async fn extend(&self, until: Uptime) {
        Keeper::extend(self, until).await;
    }

    async fn cancel(&self, grace: Duration) {
        Keeper::cancel(self, grace).await;
    }

    async fn next(&mut self) -> Option<Report> {
        Keeper::next(self).await
    }

    async fn end(&mut self) {
        Keeper::end(self).await;
    }
}
