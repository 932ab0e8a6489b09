//! Everything that is tried: servers, runners, a subscriber, and the folder they work in. Nothing else is touched.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::clients::Caller;
use super::effects::Tail;
use super::guard::Guard;
use super::netns::Walled;
use super::record::{Scribe, Settings};
use super::runners::{Runner, write_token};
use super::servers::{Addresses, Post, Server};
use super::sink::Sink;
use super::wall::Wall;

/// What the subscribers are called: one in order, one as it comes.
pub const LANES: [(&str, bool); 2] = [("ordered", true), ("loose", false)];

pub struct Plan {
    pub seed: u64,
    pub settings: Settings,
    /// An empty database of PostgreSQL; else a SQLite file.
    pub database: Option<String>,
    /// Where the server's records go, if not into the folder: a small disk that may be filled.
    pub data: Option<PathBuf>,
    /// Runners behind walls.
    pub netns: bool,
    /// The program that servers and runners are started from at first: an earlier version of this one.
    pub older: Option<PathBuf>,
}

/// Dropped from top to bottom: processes first, the guard last.
pub struct Site {
    pub servers: Vec<Server>,
    pub runners: Vec<Runner>,
    pub sink: Sink,
    pub addresses: Addresses,
    pub scribe: Arc<Scribe>,
    pub post: Post,
    pub caller: Caller,
    tail: Option<Tail>,
    folder: TempDir,
    _guard: Guard,
}

impl Site {
    pub fn build(plan: &Plan) -> Result<Site> {
        let folder =
            tempfile::Builder::new().prefix("deltaci-verify-").tempdir().context("no temporary folder")?;
        let guard = Guard::over(folder.path())?;
        fs::create_dir(folder.path().join("locks"))?;
        let program = match &plan.older {
            Some(older) => older.clone(),
            None => std::env::current_exe().context("where this program is")?,
        };
        let mut post = Post {
            program: program.display().to_string(),
            folder: folder.path().into(),
            data: plan.data.clone().unwrap_or_else(|| folder.path().join("data")),
            database: plan.database.clone(),
            settings: plan.settings.clone(),
            group: guard.group(),
            seed: plan.seed,
            walls: walls(folder.path(), plan.settings.servers)?,
        };
        let scribe = Arc::new(Scribe::new());
        let addresses = Addresses::default();
        let started = |place| Server::start(&post, place, &addresses, &scribe);
        let servers = (0..plan.settings.servers).map(started).collect::<Result<Vec<_>>>()?;
        if !servers.iter().all(|server| server.is_misled) {
            post.walls.clear();
        }
        let sink = Sink::open(scribe.clone())?;
        let caller = Caller::new(addresses.clone());
        prepare(&caller, &post, &sink)?;
        let hired = |place| {
            let walled = plan.netns.then(|| Walled::build(place)).transpose()?;
            Runner::start(&post, place, walled, &addresses, &scribe)
        };
        let runners = (0..plan.settings.runners).map(hired).collect::<Result<Vec<_>>>()?;
        let tail = Some(Tail::of(folder.path(), scribe.clone()));
        Ok(Site { servers, runners, sink, addresses, scribe, post, caller, tail, folder, _guard: guard })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn restart_server(&mut self, place: usize) -> Result<()> {
        self.servers[place] = Server::start(&self.post, place, &self.addresses, &self.scribe)?;
        Ok(())
    }

    /// From the next start on, everything is of this version.
    pub fn upgrade(&mut self) -> Result<()> {
        self.post.program = std::env::current_exe()?.display().to_string();
        Ok(())
    }

    /// Everybody is there, awake and connected.
    pub fn mend(&mut self) -> Result<()> {
        for place in 0..self.servers.len() {
            if self.servers[place].frozen {
                self.servers[place].process.signal(Signal::CONT)?;
                self.servers[place].frozen = false;
            }
            if self.servers[place].process.has_ended() {
                bail!(
                    "{} ended by itself:\n{}",
                    self.servers[place].name,
                    self.servers[place].process.said()
                );
            }
        }
        for runner in &mut self.runners {
            if runner.frozen {
                runner.process.signal(Signal::CONT)?;
                runner.frozen = false;
            }
            if runner.cut {
                runner.set_cut(false)?;
            }
            runner.proxy.set_weather(Default::default());
            runner.stormy = false;
            if runner.process.has_ended() {
                bail!("{} ended by itself:\n{}", runner.name, runner.process.said());
            }
        }
        Ok(())
    }

    /// After this no line comes any more.
    pub fn end_tail(&mut self) {
        if let Some(tail) = self.tail.take() {
            tail.end();
        }
    }
}

/// A wall clock for each server, where that can be had.
fn walls(folder: &Path, servers: usize) -> Result<Vec<Wall>> {
    let made = (0..servers).map(|place| Wall::new(&folder.join(format!("server-{}.wall", place + 1))));
    Ok(made.collect::<Result<Option<Vec<_>>, _>>()?.unwrap_or_default())
}

/// A token for the runners, and subscribers to what ends.
fn prepare(caller: &Caller, post: &Post, sink: &Sink) -> Result<()> {
    let made =
        caller.must("POST", "/v1/tenants/default/tokens", &json!({"kind": "runner", "name": "verify"}))?;
    write_token(post, made["token"].as_str().context("no token in the answer")?)?;
    for (lane, ordered) in LANES {
        let body = json!({"url": sink.url(lane), "events": ["job.finished"], "ordered": ordered,
            "secret": "a-secret-for-nobody-in-particular"});
        let _: Value = caller.must("PUT", &format!("/v1/tenants/default/webhooks/{lane}"), &body)?;
    }
    Ok(())
}
