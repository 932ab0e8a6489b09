//! The wire between a runner and its server: passes whole requests and answers on, remembers them, and fails on demand.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::e2e::http::Wire;

/// Where the server is now; a restart changes it for every wire.
pub type Upstream = Arc<Mutex<SocketAddr>>;

const PAUSE: Duration = Duration::from_millis(10);

#[derive(Debug, Clone)]
pub enum Fault {
    /// It never arrives.
    LoseRequest,
    /// It arrives, and nobody hears what came of it.
    LoseAnswer,
    /// The same bytes arrive twice; the second answer is passed on.
    Twice,
    /// It arrives when the gate opens, whoever still waits for the answer.
    Hold(Gate),
}

#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<AtomicBool>);

impl Gate {
    pub fn open(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn is_open(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Where a request went and, once it came, its answer.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    pub path: String,
    pub answer: Option<Vec<u8>>,
}

impl Exchange {
    pub fn answered(&self) -> Value {
        self.answer.as_deref().map_or(Value::Null, body)
    }

    pub fn status(&self) -> Option<u16> {
        let answer = String::from_utf8_lossy(self.answer.as_deref()?).into_owned();
        answer.split(' ').nth(1)?.parse().ok()
    }
}

fn body(message: &[u8]) -> Value {
    let head = message.windows(4).position(|window| window == b"\r\n\r\n").map_or(0, |place| place + 4);
    serde_json::from_slice(&message[head..]).unwrap_or(Value::Null)
}

struct Rule {
    path: String,
    fault: Fault,
    times: usize,
}

struct Shared {
    upstream: Upstream,
    rules: Mutex<Vec<Rule>>,
    seen: Mutex<Vec<Exchange>>,
    cut: AtomicBool,
    closed: AtomicBool,
}

pub struct Proxy {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

impl Proxy {
    pub fn to(upstream: Upstream) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Shared {
            upstream,
            rules: Mutex::default(),
            seen: Mutex::default(),
            cut: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        });
        let ours = shared.clone();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let shared = ours.clone();
                thread::spawn(move || serve(&shared, client));
            }
        });
        Proxy { address, shared }
    }

    /// The next `times` requests of this path fail so.
    pub fn fail(&self, path: &str, times: usize, fault: Fault) {
        let rule = Rule { path: format!("/v1/runner/{path}"), fault, times };
        self.shared.rules.lock().unwrap().push(rule);
    }

    /// From now on nothing passes, either way; connections stay open and silent.
    pub fn cut(&self) {
        self.shared.cut.store(true, Ordering::SeqCst);
    }

    /// What was sent into the cut is lost, with its connection.
    pub fn heal(&self) {
        self.shared.cut.store(false, Ordering::SeqCst);
    }

    /// What has passed so far for this path.
    pub fn seen(&self, path: &str) -> Vec<Exchange> {
        let path = format!("/v1/runner/{path}");
        self.all().into_iter().filter(|exchange| exchange.path == path).collect()
    }

    pub fn all(&self) -> Vec<Exchange> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// The secrets of the leases that were granted here, in order.
    pub fn leases(&self) -> Vec<String> {
        let granted = self.seen("lease").into_iter().filter(|exchange| exchange.status() == Some(200));
        granted.filter_map(|exchange| Some(exchange.answered()["lease_id"].as_str()?.to_owned())).collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
    }
}

/// One connection, request after request, with a connection of its own to the server.
fn serve(shared: &Shared, client: TcpStream) {
    let Ok(mut client) = Wire::new(client) else { return };
    let mut server: Option<Wire> = None;
    let gone = |server: &Option<Wire>| server.as_ref().is_some_and(Wire::is_closed);
    while let Some(request) = client.next(|| shared.is_closed() || (gone(&server) && !shared.is_cut())) {
        let noted = shared.note(&request);
        if shared.waited_in_cut() {
            return;
        }
        let fault = shared.fault(noted);
        let (times, watch) = match &fault {
            Some(Fault::LoseRequest) => return,
            Some(Fault::Twice) => (2, false),
            Some(Fault::LoseAnswer) => (1, false),
            Some(Fault::Hold(gate)) => {
                while !gate.is_open() && !shared.is_closed() {
                    thread::sleep(PAUSE);
                }
                (1, false)
            }
            None => (1, true),
        };
        let mut answer = None;
        for _ in 0..times {
            // A client that hangs up takes its request along; within a cut nobody hears that.
            let hung_up = || watch && !shared.is_cut() && client.is_closed();
            answer = shared.pass_on(&mut server, &request, hung_up);
        }
        let Some(answer) = answer else { return };
        // Looked at before it is noted: whoever sees that it came may heal the cut it fell into.
        let fell_into_cut = shared.is_cut();
        shared.seen.lock().unwrap()[noted].answer = Some(answer.clone());
        let is_lost = matches!(fault, Some(Fault::LoseAnswer)) || fell_into_cut;
        if shared.waited_in_cut() || is_lost || !client.send(&answer) {
            return;
        }
    }
}

impl Shared {
    fn is_cut(&self) -> bool {
        self.cut.load(Ordering::SeqCst)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Returns when there is no cut, and whether there was one.
    fn waited_in_cut(&self) -> bool {
        let was = self.is_cut();
        while self.is_cut() && !self.is_closed() {
            thread::sleep(PAUSE);
        }
        was
    }

    fn note(&self, request: &[u8]) -> usize {
        let line = String::from_utf8_lossy(request).into_owned();
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut seen = self.seen.lock().unwrap();
        seen.push(Exchange { path, answer: None });
        seen.len() - 1
    }

    fn fault(&self, noted: usize) -> Option<Fault> {
        let path = self.seen.lock().unwrap()[noted].path.clone();
        let mut rules = self.rules.lock().unwrap();
        let rule = rules.iter_mut().find(|rule| rule.path == path && rule.times > 0)?;
        rule.times -= 1;
        Some(rule.fault.clone())
    }

    fn pass_on(
        &self,
        server: &mut Option<Wire>,
        request: &[u8],
        given_up: impl Fn() -> bool,
    ) -> Option<Vec<u8>> {
        if server.is_none() {
            let address = *self.upstream.lock().unwrap();
            *server = Some(Wire::new(TcpStream::connect(address).ok()?).ok()?);
        }
        let wire = server.as_mut()?;
        if !wire.send(request) {
            return None;
        }
        wire.next(|| self.is_closed() || given_up())
    }
}
