//! Servers that are started, killed and started again on the same records, and where each listens now.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use rustix::process::Signal;
use serde_json::Value;

use super::http::{Silence, ask};
use super::process::{Process, Start};
use super::record::{Happened, Scribe, Settings};
use super::wall::Wall;

/// The administrator's token, for as long as the site lives.
pub const ADMIN: &str = "verify-administrator-0123456789abcdef";

const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Far beyond what a start takes, also on a machine that does ten other things.
const START_TIME_MAX_MICROS: i64 = 60_000_000;
const STOP_LOOKS_MAX: u32 = 6_000;

/// Where the servers are, for whoever speaks to them; nothing for one that is down.
#[derive(Clone, Default)]
pub struct Addresses(Arc<Mutex<Vec<Option<SocketAddr>>>>);

impl Addresses {
    fn set(&self, place: usize, address: Option<SocketAddr>) {
        let mut all = self.0.lock().expect("nobody panics with it");
        if all.len() <= place {
            all.resize(place + 1, None);
        }
        all[place] = address;
    }

    /// This one, or another if it is down.
    pub fn any(&self, first: usize) -> Option<SocketAddr> {
        let all = self.0.lock().expect("nobody panics with it");
        let own = all.get(first % all.len().max(1)).copied().flatten();
        own.or_else(|| all.iter().copied().flatten().next())
    }
}

/// What every server of a site is started with.
pub struct Post {
    pub program: String,
    /// Where logs are, and records unless they are elsewhere.
    pub folder: PathBuf,
    pub data: PathBuf,
    pub database: Option<String>,
    pub settings: Settings,
    pub group: i32,
    pub seed: u64,
    /// Each server's wall clock. None where nobody can move one.
    pub walls: Vec<Wall>,
}

pub struct Server {
    pub name: String,
    place: usize,
    pub process: Process,
    pub frozen: bool,
    /// Its wall clock can be moved.
    pub is_misled: bool,
}

impl Server {
    /// Started, and ready.
    pub fn start(post: &Post, place: usize, addresses: &Addresses, scribe: &Scribe) -> Result<Server> {
        let name = format!("server-{}", place + 1);
        let log = post.folder.join(format!("{name}.log"));
        let process = launch(post, post.walls.get(place), &log)?;
        scribe.saw(Happened::Started { whom: name.clone() });
        let mut server = Server { name, place, process, frozen: false, is_misled: false };
        let ready = server.ready(scribe);
        // Also of one that is not: what the library leaves behind goes.
        server.is_misled = post.walls.get(place).is_some_and(|wall| wall.misleads(server.process.id()));
        let address = ready?;
        scribe.saw(Happened::Ready { whom: server.name.clone() });
        addresses.set(place, Some(address));
        Ok(server)
    }

    fn ready(&mut self, scribe: &Scribe) -> Result<SocketAddr> {
        let began = scribe.now();
        while scribe.now() - began < START_TIME_MAX_MICROS {
            let said = self.process.said();
            if let Some(address) = listens_on(&said)
                && is_ready(address)
            {
                return Ok(address);
            }
            if self.process.has_ended() {
                bail!("{} did not start:\n{said}", self.name);
            }
            thread::sleep(LOOK_EVERY);
        }
        bail!(
            "{} is not ready after {} s:\n{}",
            self.name,
            START_TIME_MAX_MICROS / 1_000_000,
            self.process.said()
        )
    }

    pub fn kill(&mut self, addresses: &Addresses) -> Result<()> {
        self.process.kill()?;
        addresses.set(self.place, None);
        Ok(())
    }

    /// SIGTERM, and its end; SIGKILL if that does not come.
    pub fn stop(&mut self, addresses: &Addresses) -> Result<bool> {
        self.process.signal(Signal::TERM)?;
        for _ in 0..STOP_LOOKS_MAX {
            if self.process.has_ended() {
                addresses.set(self.place, None);
                return Ok(true);
            }
            thread::sleep(LOOK_EVERY);
        }
        self.kill(addresses)?;
        Ok(false)
    }
}

fn launch(post: &Post, wall: Option<&Wall>, log: &Path) -> Result<Process> {
    let mut words: Vec<String> =
        ["server", "--listen", "127.0.0.1:0", "--allow-private-webhooks", "--data"].map(String::from).into();
    words.push(post.data.display().to_string());
    if let Some(database) = &post.database {
        words.extend(["--database".into(), database.clone()]);
    }
    let millis = |count: u64| format!("{count}ms");
    let settings = &post.settings;
    let variables = [
        ("DELTACI_ADMIN_TOKEN", ADMIN.to_owned()),
        ("DELTACI_LEASE_TTL", millis(settings.lease_ttl_ms)),
        ("DELTACI_HEARTBEAT_INTERVAL", millis(settings.heartbeat_ms)),
        ("DELTACI_ACK_TIMEOUT", millis(settings.ack_timeout_ms)),
        ("DELTACI_CANCEL_DEADLINE", millis(settings.cancel_deadline_ms)),
        ("DELTACI_DELIVERY_CLAIM_TTL", millis(settings.delivery_claim_ttl_ms)),
        ("DELTACI_DELIVERY_BACKOFF", "100ms".into()),
        ("DELTACI_LOG_LEVEL", "warn".into()),
    ];
    let misleading = wall.map(Wall::variables);
    let variables = variables.into_iter().chain(misleading.into_iter().flatten());
    fs::create_dir_all(&post.data)?;
    Process::start(&Start {
        program: std::slice::from_ref(&post.program),
        words: &words,
        variables: &variables.map(|(name, value)| (name.to_owned(), value)).collect::<Vec<_>>(),
        log,
        group: post.group,
    })
}

fn listens_on(said: &str) -> Option<SocketAddr> {
    let (_, after) = said.split_once("listens on http://")?;
    after.split_once(' ')?.0.parse().ok()
}

fn is_ready(address: SocketAddr) -> bool {
    let reply: Result<_, Silence> =
        ask(address, ADMIN, "GET", "/readyz", &Value::Null, Duration::from_secs(5));
    reply.is_ok_and(|reply| reply.status == 200)
}
