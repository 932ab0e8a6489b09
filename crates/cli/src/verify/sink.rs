//! A subscriber as it should be: it takes every message, knows each by its `webhook-id`, and notes what came when.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::http::{Wire, header, opened};
use super::record::{Happened, Scribe};

const ACCEPT_PAUSE: Duration = Duration::from_millis(5);
/// A subscriber that takes its time, so that a kill finds messages on their way and others behind them.
const THOUGHT: Duration = Duration::from_millis(30);
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

pub struct Sink {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    scribe: Arc<Scribe>,
    /// Jobs that somebody was told of.
    finished: Mutex<BTreeSet<String>>,
    closed: AtomicBool,
}

impl Sink {
    pub fn open(scribe: Arc<Scribe>) -> Result<Sink> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no port is free")?;
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let shared = Arc::new(Shared { scribe, finished: Mutex::default(), closed: AtomicBool::new(false) });
        let ours = shared.clone();
        thread::spawn(move || {
            while !ours.closed.load(Ordering::SeqCst) {
                match listener.accept() {
                    Ok((stream, _)) => {
                        let shared = ours.clone();
                        thread::spawn(move || serve(&shared, stream));
                    }
                    Err(_) => thread::sleep(ACCEPT_PAUSE),
                }
            }
        });
        Ok(Sink { address, shared })
    }

    /// Where messages of a lane go.
    pub fn url(&self, lane: &str) -> String {
        format!("http://{}/{lane}", self.address)
    }

    /// Says how many different jobs are known to be over.
    pub fn counter(&self) -> Box<dyn Fn() -> usize + Send + Sync> {
        let shared = self.shared.clone();
        Box::new(move || shared.finished.lock().expect("nobody panics with it").len())
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
    }
}

fn serve(shared: &Shared, stream: TcpStream) {
    if stream.set_nonblocking(false).is_err() {
        return;
    }
    let Ok(mut wire) = Wire::new(stream) else { return };
    while let Some(message) = wire.next(|| shared.closed.load(Ordering::SeqCst)) {
        let (words, body) = opened(&message);
        let lane = words.get(1).map(|path| path.trim_start_matches('/').to_owned()).unwrap_or_default();
        let id = header(&message, "webhook-id").unwrap_or_default();
        let job = body["job_id"].as_str().unwrap_or_default().to_owned();
        shared.finished.lock().expect("nobody panics with it").insert(job.clone());
        shared.scribe.saw(Happened::Told { lane, message: id, job });
        thread::sleep(THOUGHT);
        if !wire.send(ANSWER) {
            return;
        }
    }
}
