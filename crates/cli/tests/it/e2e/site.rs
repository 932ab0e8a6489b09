//! A server process with its folder: started, killed, started again on the same records.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Arc, Mutex};

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::deltaci;
use crate::e2e::http::{Reply, ask};
use crate::e2e::marks::VARIABLE;
use crate::e2e::patience::{until, until_so};
use crate::e2e::program::Program;
use crate::e2e::proxy::{Proxy, Upstream};
use crate::e2e::wall::Wall;

/// The administrator's token on every site.
pub const ADMIN: &str = "e2e-administrator-0123456789abcdef";

/// Where flags say nothing else. A lost lease costs three seconds, a lost grant two; a log moves while it is still read.
const TIMINGS: [(&str, &str); 5] = [
    ("DELTACI_LEASE_TTL", "3s"),
    ("DELTACI_HEARTBEAT_INTERVAL", "300ms"),
    ("DELTACI_ACK_TIMEOUT", "2s"),
    ("DELTACI_CANCEL_DEADLINE", "4s"),
    ("DELTACI_LOG_ARCHIVE_AFTER", "1ms"),
];

/// For what must survive: no pause of this machine is as long as this lease.
pub const LONG: [&str; 4] = ["--lease-ttl", "40s", "--heartbeat-interval", "500ms"];

pub struct Site {
    pub server: Program, // dropped before its folder
    pub folder: TempDir,
    pub upstream: Upstream,
    pub runner_token: String,
    flags: Vec<String>,
    /// What the server takes for the wall's clock, if not the machine's.
    wall: Option<Wall>,
}

impl Site {
    pub fn start(flags: &[&str]) -> Site {
        Site::on(tempfile::tempdir().expect("a folder can be made"), flags, None)
    }

    /// Its server's wall clock can be set.
    pub fn with_wall(flags: &[&str]) -> Site {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let wall = Wall::new(&folder.path().join("wall")).expect("a file can be written");
        Site::on(folder, flags, Some(wall.expect("libfaketime is here: install the package faketime")))
    }

    fn on(folder: TempDir, flags: &[&str], wall: Option<Wall>) -> Site {
        fs::create_dir(folder.path().join("locks")).expect("a folder can be made");
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let (server, address) = launch(folder.path(), &flags, wall.as_ref());
        let upstream: Upstream = Arc::new(Mutex::new(address));
        let mut site = Site { folder, server, upstream, runner_token: String::new(), flags, wall };
        site.runner_token = site.token("/v1/tenants/default/tokens", "runner");
        site
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn address(&self) -> SocketAddr {
        *self.upstream.lock().unwrap()
    }

    /// A wire of its own to this server, wherever it listens after a restart.
    pub fn proxy(&self) -> Proxy {
        Proxy::to(self.upstream.clone())
    }

    /// On the same records, after a kill or a stop.
    pub fn restart(&mut self) {
        assert!(self.server.has_ended(), "the server is still running");
        let (server, address) = launch(self.folder.path(), &self.flags, self.wall.as_ref());
        self.server = server;
        *self.upstream.lock().unwrap() = address;
    }

    /// The server's wall clock is so many seconds ahead of the machine's, or behind it.
    pub fn set_wall(&self, seconds: i64) {
        let wall = self.wall.as_ref().expect("a site with a wall clock of its own");
        wall.set(seconds).expect("a file can be written");
    }

    /// SIGTERM, and its end.
    pub fn stop(&mut self) {
        self.server.signal(Signal::TERM);
        assert!(self.server.ended().success(), "a server that is told to stop ends well");
    }

    pub fn send(&self, token: &str, method: &str, path: &str, body: &Value) -> Reply {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        ask(self.address(), method, path, &headers, body.as_bytes())
            .unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    pub fn get(&self, path: &str) -> Reply {
        self.send(ADMIN, "GET", path, &Value::Null)
    }

    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.send(ADMIN, "POST", path, body)
    }

    pub fn token(&self, path: &str, kind: &str) -> String {
        let made = self.post(path, &json!({"kind": kind, "name": "for a test"})).expect(201);
        made["token"].as_str().expect("a token").into()
    }

    /// A job of the tenant `default`, with a mark and the id `name`.
    pub fn submit(&self, name: &str, script: &str) {
        self.submit_with(name, script, &json!({}));
    }

    pub fn submit_with(&self, name: &str, script: &str, more: &Value) {
        let payload = json!({"steps": [script], "env": {VARIABLE: self.mark(name)}});
        let mut job = json!({"job_id": name, "payload": payload});
        for (field, value) in more.as_object().expect("an object") {
            job[field] = value.clone();
        }
        self.post("/v1/tenants/default/jobs", &job).expect(201);
    }

    pub fn cancel(&self, name: &str) -> Value {
        self.post(&format!("/v1/tenants/default/jobs/{name}/cancel"), &json!({})).expect(202)
    }

    /// By which the job's processes are found; no other test has it.
    pub fn mark(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// A step that notes its begin and end, and notes an overlap if any process of the same job is alive elsewhere: the
    /// lock is inherited by all of them.
    pub fn noted(&self, name: &str, script: &str) -> String {
        let (effects, lock) = (self.path("effects"), self.path("locks").join(name));
        let (effects, lock) = (effects.display(), lock.display());
        format!(
            "exec 9>>{lock}; flock -n 9 || echo 'overlap {name}' >>{effects}; echo 'begin {name}' >>{effects}\n\
             {script}\n\
             echo 'end {name}' >>{effects}"
        )
    }

    /// A step that waits for a file of the test's folder.
    pub fn waits_for(&self, file: &str) -> String {
        format!("while [ ! -e {} ]; do sleep 0.05; done", self.path(file).display())
    }

    pub fn touch(&self, file: &str) {
        fs::write(self.path(file), "").expect("a file can be written");
    }

    /// How often jobs have noted this line.
    pub fn noted_lines(&self, line: &str) -> usize {
        let text = fs::read_to_string(self.path("effects")).unwrap_or_default();
        text.lines().filter(|noted| *noted == line).count()
    }

    pub fn until_noted(&self, line: &str) {
        until_so(&format!("a job notes `{line}`"), || self.noted_lines(line) > 0);
    }

    /// Until so many long polls wait.
    pub fn until_waiting(&self, count: usize) {
        let line = format!("deltaci_leases_waiting {count}\n");
        until_so(&format!("{count} runners wait"), || self.get("/metrics").text().contains(&line));
    }

    /// What `deltaci` says about this site's records.
    pub fn tool(&self, words: &[&str]) -> Output {
        let place = match self.flags.iter().position(|flag| flag == "--database") {
            Some(index) => ["--database".to_owned(), self.flags[index + 1].clone()],
            None => ["--data".to_owned(), self.path("data").display().to_string()],
        };
        let place = place.each_ref().map(String::as_str);
        deltaci(&[words, &place].concat())
    }

    #[track_caller]
    pub fn is_healthy(&self) {
        let output = self.tool(&["doctor"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// A server on a free port, once it is ready.
fn launch(folder: &Path, flags: &[String], wall: Option<&Wall>) -> (Program, SocketAddr) {
    let (data, log) = (folder.join("data").display().to_string(), folder.join("server.log"));
    let fixed = ["server", "--listen", "127.0.0.1:0", "--data", data.as_str()].map(String::from);
    let words: Vec<String> = fixed.into_iter().chain(flags.iter().cloned()).collect();
    let misleading = wall.map(Wall::variables);
    let misleading = misleading.iter().flatten().map(|(name, value)| (*name, value.as_str()));
    let variables: Vec<_> =
        TIMINGS.into_iter().chain([("DELTACI_ADMIN_TOKEN", ADMIN)]).chain(misleading).collect();
    let before = fs::read_to_string(&log).unwrap_or_default().len();
    let mut server = Program::start(&words, &variables, &log);
    let address = until("the server listens", || {
        assert!(!server.has_ended(), "the server did not start: {}", server.log());
        let said = server.log()[before..].to_owned();
        let (_, after) = said.split_once("listens on http://")?;
        let (address, _) = after.split_once(' ')?;
        Some(address.parse::<SocketAddr>().expect("an address"))
    });
    assert!(wall.is_none_or(|wall| wall.misleads(server.id())), "its wall clock can be set");
    (server, address)
}
