//! A subscriber as it should be: it knows each message by its `webhook-id` and acts on it once.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Clone)]
pub struct Sink {
    pub address: SocketAddr,
    /// How often each message was taken, by its id.
    seen: Arc<Mutex<BTreeMap<String, u32>>>,
    /// What the subscriber did: once for each message.
    applied: Arc<Mutex<Vec<serde_json::Value>>>,
    broken: Arc<AtomicBool>,
}

impl Sink {
    pub fn open() -> Sink {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let sink = Sink { address, seen: Arc::default(), applied: Arc::default(), broken: Arc::default() };
        let serving = sink.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = serving.clone();
                std::thread::spawn(move || while serving.answer(&stream).is_some() {});
            }
        });
        sink
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// From now on it answers 500, or no longer.
    pub fn set_broken(&self, broken: bool) {
        self.broken.store(broken, Ordering::SeqCst);
    }

    pub fn seen(&self) -> BTreeMap<String, u32> {
        self.seen.lock().unwrap().clone()
    }

    pub fn applied(&self) -> Vec<serde_json::Value> {
        self.applied.lock().unwrap().clone()
    }

    fn is_new(&self, id: String) -> bool {
        let mut seen = self.seen.lock().unwrap();
        let times = seen.entry(id).or_default();
        *times += 1;
        *times == 1
    }

    /// One request of a connection; `None` when it is over.
    fn answer(&self, mut stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        let (mut id, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                if line.trim_end().is_empty() {
                    break;
                }
                continue;
            };
            match name {
                "webhook-id" => id = value.to_owned(),
                "content-length" => length = value.parse().ok()?,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let broken = self.broken.load(Ordering::SeqCst);
        let status = if broken { "500 Broken" } else { "200 OK" };
        if !broken && self.is_new(id) {
            self.applied.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
        }
        std::thread::sleep(Duration::from_millis(10)); // so that a kill finds something on its way
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").ok()
    }
}
