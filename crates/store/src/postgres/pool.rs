//! A few connections, made on demand and used again.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::StoreError;
use crate::postgres::address::Address;
use crate::postgres::connect::Connection;

const CONNECTIONS_MAX: usize = 8;

pub struct Pool {
    address: Address,
    free: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
    made: AtomicU64,
}

impl Pool {
    pub fn new(address: Address) -> Pool {
        Pool {
            address,
            free: Arc::default(),
            permits: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
            made: AtomicU64::new(0),
        }
    }

    /// How many connections have been made; each may lead to another server than the one before.
    pub fn made(&self) -> u64 {
        self.made.load(Ordering::SeqCst)
    }

    /// A connection outside any transaction; waits while too many are out.
    pub async fn take(&self) -> Result<Lent, StoreError> {
        let permits = Arc::clone(&self.permits);
        let permit = permits.acquire_owned().await.expect("the semaphore is never closed");
        let connection = match self.take_free() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        Ok(Lent { connection, free: Arc::clone(&self.free), permit })
    }

    async fn connect(&self) -> Result<Connection, StoreError> {
        self.made.fetch_add(1, Ordering::SeqCst);
        let made = Connection::open(&self.address).await;
        made.map_err(StoreError::Unavailable)
    }

    fn take_free(&self) -> Option<Connection> {
        let mut free = self.free.lock().expect("no panic holds it");
        free.retain(|connection| !connection.is_closed());
        free.pop()
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({})", self.address)
    }
}

/// A connection that somebody works with. Dropped, it is closed, and the server rolls back whatever was under way.
pub struct Lent {
    pub connection: Connection,
    free: Arc<Mutex<Vec<Connection>>>,
    permit: OwnedSemaphorePermit,
}

impl Lent {
    /// For the next one. Only a connection that is known to be outside a transaction, and to lead to a server that does what
    /// it is asked, may be given back.
    pub fn give_back(self) {
        self.free.lock().expect("no panic holds it").push(self.connection);
        drop(self.permit); // after the push: whoever waits for the permit finds the connection
    }
}
