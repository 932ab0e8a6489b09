//! The wire between a runner and its server: passes whole requests and answers on, notes what they decide, and is cut,
//! slow, forgetful or says things twice when told to.

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::dice::Dice;
use super::http::{Wire, opened};
use super::record::{Fault, Happened, Scribe};
use super::servers::Addresses;

const PAUSE: Duration = Duration::from_millis(10);
const ACCEPT_PAUSE: Duration = Duration::from_millis(5);

const LEASE: &str = "/v1/runner/lease";

/// How many of a hundred requests fare so.
#[derive(Debug, Clone, Copy, Default)]
pub struct Weather {
    pub delayed: u64,
    pub doubled: u64,
    pub request_lost: u64,
    pub answer_lost: u64,
}

struct Shared {
    runner: String,
    /// The server that is asked first; another one when it is down.
    first: usize,
    addresses: Addresses,
    scribe: Arc<Scribe>,
    weather: Mutex<(Weather, Dice)>,
    cut: AtomicBool,
    closed: AtomicBool,
}

pub struct Proxy {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

impl Proxy {
    pub fn open(
        at: IpAddr,
        runner: &str,
        first: usize,
        addresses: Addresses,
        scribe: Arc<Scribe>,
        dice: Dice,
    ) -> Result<Proxy> {
        let listener = TcpListener::bind((at, 0)).context("no port is free")?;
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let shared = Arc::new(Shared {
            runner: runner.into(),
            first,
            addresses,
            scribe,
            weather: Mutex::new((Weather::default(), dice)),
            cut: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        });
        let ours = shared.clone();
        thread::spawn(move || {
            while !ours.is_closed() {
                match listener.accept() {
                    Ok((client, _)) => {
                        let shared = ours.clone();
                        thread::spawn(move || serve(&shared, client));
                    }
                    Err(_) => thread::sleep(ACCEPT_PAUSE),
                }
            }
        });
        Ok(Proxy { address, shared })
    }

    pub fn set_weather(&self, weather: Weather) {
        self.shared.weather.lock().expect("nobody panics with it").0 = weather;
    }

    /// Nothing passes, either way; connections stay open and silent. What was sent into the cut is lost when it ends.
    pub fn set_cut(&self, cut: bool) {
        self.shared.cut.store(cut, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
    }
}

/// One connection, request after request, with a connection of its own to the server.
fn serve(shared: &Shared, client: TcpStream) {
    if client.set_nonblocking(false).is_err() {
        return;
    }
    let Ok(mut client) = Wire::new(client) else { return };
    let mut server: Option<Wire> = None;
    let gone = |server: &Option<Wire>| server.as_ref().is_some_and(Wire::is_closed);
    while let Some(request) = client.next(|| shared.is_closed() || (gone(&server) && !shared.is_cut())) {
        if shared.waited_in_cut() {
            return;
        }
        let fault = shared.fault();
        let mut answer = None;
        match fault {
            Some(Fault::LostRequest) => return,
            Some(Fault::Delayed) => shared.delay(),
            Some(Fault::Doubled) => drop(shared.pass_on(&mut server, &request, || false)),
            Some(
                Fault::LostAnswer // once there is one
                | Fault::KillServer
                | Fault::KillRunner
                | Fault::StopServer
                | Fault::FreezeServer
                | Fault::FreezeRunner
                | Fault::Cut
                | Fault::FillDisk
                | Fault::SetClock
                | Fault::SetClockBetween,
            )
            | None => {}
        }
        let number = shared.wanted(&request);
        // A client that hangs up takes its request along; within a cut nobody hears that.
        let hung_up = || fault.is_none() && !shared.is_cut() && client.is_closed();
        if let Some(found) = shared.pass_on(&mut server, &request, hung_up) {
            shared.note(number, &request, &found);
            answer = Some(found);
        }
        if fault == Some(Fault::LostAnswer) || shared.waited_in_cut() {
            return;
        }
        if !answer.is_some_and(|answer| client.send(&answer)) {
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

    fn fault(&self) -> Option<Fault> {
        let fault = {
            let mut weather = self.weather.lock().expect("nobody panics with it");
            let (Weather { delayed, doubled, request_lost, answer_lost }, dice) = &mut *weather;
            let chances = [
                (Fault::Delayed, *delayed),
                (Fault::Doubled, *doubled),
                (Fault::LostRequest, *request_lost),
                (Fault::LostAnswer, *answer_lost),
            ];
            chances.into_iter().find(|(_, chance)| dice.percent(*chance)).map(|(fault, _)| fault)
        };
        if let Some(what) = fault {
            self.scribe.saw(Happened::Fault { what, whom: self.runner.clone() });
        }
        fault
    }

    fn delay(&self) {
        let pause = self.weather.lock().expect("nobody panics with it").1.pause(50, 800);
        thread::sleep(pause);
    }

    fn pass_on(
        &self,
        server: &mut Option<Wire>,
        request: &[u8],
        given_up: impl Fn() -> bool,
    ) -> Option<Vec<u8>> {
        if server.is_none() {
            let address = self.addresses.any(self.first)?;
            *server = Some(Wire::new(TcpStream::connect(address).ok()?).ok()?);
        }
        let wire = server.as_mut()?;
        if !wire.send(request) {
            return None;
        }
        wire.next(|| self.is_closed() || given_up())
    }

    /// Before it is passed on.
    fn wanted(&self, request: &[u8]) -> Option<usize> {
        let asks = request.starts_with(format!("POST {LEASE} ").as_bytes());
        asks.then(|| self.scribe.saw(Happened::Wanted { runner: self.runner.clone() }))
    }

    /// The server has decided, whoever hears of it.
    fn note(&self, wanted: Option<usize>, request: &[u8], answer: &[u8]) {
        let (asked, said) = opened(request);
        let (told, decided) = opened(answer);
        let path = asked.get(1).map(String::as_str).unwrap_or_default();
        if told.get(1).map(String::as_str) != Some("200") {
            return;
        }
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let runner = self.runner.clone();
        match (path, wanted) {
            (LEASE, Some(of)) => {
                let execution = execution_of(decided["lease_id"].as_str().unwrap_or_default());
                self.scribe.saw(Happened::Granted { of, runner, job: text(&decided["job_id"]), execution });
            }
            ("/v1/runner/complete", _) => {
                let execution = execution_of(said["lease_id"].as_str().unwrap_or_default());
                self.scribe.saw(Happened::Completed {
                    runner,
                    execution,
                    succeeded: said["status"] == "SUCCEEDED",
                    accepted: decided["accepted"] == true,
                });
            }
            _ => {}
        }
    }
}

/// The part of a lease's id that is no secret.
fn execution_of(lease: &str) -> String {
    wire::LeaseId::from(lease.to_owned()).key().execution.to_string()
}
