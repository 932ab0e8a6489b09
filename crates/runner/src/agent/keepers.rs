//! The real hands: keepers, children of this program.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agent::hands::{Hands, Hire};
use crate::clock::Uptime;
use crate::keeper::{Keeper, Order, Report};

#[derive(Debug, Clone)]
pub struct Keepers {
    program: PathBuf,
}

impl Keepers {
    /// Keepers that are this very program, even after its file was replaced by a newer one.
    pub fn of_this_program() -> io::Result<Keepers> {
        let running = Path::new("/proc/self/exe");
        let program = if running.exists() { running.into() } else { std::env::current_exe()? };
        Ok(Keepers { program })
    }

    pub fn of(program: &Path) -> Keepers {
        Keepers { program: program.into() }
    }
}

impl Hire for Keepers {
    type Hands = Keeper;

    fn start(&self, order: Order) -> io::Result<Keeper> {
        Keeper::spawn(&self.program, order)
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
