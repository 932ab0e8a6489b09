//! Runners, each with a wire of its own to the servers; behind a wall of the kernel's, where that is asked for.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use anyhow::Result;

use super::dice::Dice;
use super::netns::Walled;
use super::process::{Process, Start};
use super::record::Scribe;
use super::servers::{Addresses, Post};
use super::wires::Proxy;

pub struct Runner {
    pub name: String,
    pub process: Process,
    pub proxy: Proxy,
    pub walled: Option<Walled>,
    pub frozen: bool,
    pub cut: bool,
    /// The wire drops, repeats or delays.
    pub stormy: bool,
}

impl Runner {
    pub fn start(
        post: &Post,
        place: usize,
        walled: Option<Walled>,
        addresses: &Addresses,
        scribe: &Arc<Scribe>,
    ) -> Result<Runner> {
        let name = format!("runner-{}", place + 1);
        let at = walled.as_ref().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |walled| walled.outside);
        let dice = Dice::new(post.seed, 200 + place as u64);
        let proxy = Proxy::open(at, &name, place, addresses.clone(), scribe.clone(), dice)?;
        let process = launch(post, &name, &proxy, walled.as_ref())?;
        Ok(Runner { name, process, proxy, walled, frozen: false, cut: false, stormy: false })
    }

    /// SIGKILL, and another one at once, with the same name and wire.
    pub fn replace(&mut self, post: &Post) -> Result<()> {
        self.process.kill()?;
        self.frozen = false;
        self.process = launch(post, &self.name, &self.proxy, self.walled.as_ref())?;
        Ok(())
    }

    pub fn set_cut(&mut self, cut: bool) -> Result<()> {
        self.cut = cut;
        match &self.walled {
            Some(walled) => walled.set_cut(cut),
            None => {
                self.proxy.set_cut(cut);
                Ok(())
            }
        }
    }
}

fn launch(post: &Post, name: &str, proxy: &Proxy, walled: Option<&Walled>) -> Result<Process> {
    let token = post.folder.join("runner.token").display().to_string();
    let work = post.folder.join("work").display().to_string();
    let (server, slots) = (format!("http://{}", proxy.address), post.settings.slots.to_string());
    let words = ["runner", "--name", name, "--server", &server, "--token-file", &token, "--work-dir", &work];
    let words = words.into_iter().chain(["--executor", "process", "--slots", &slots]);
    let mut program = walled.map(Walled::within).unwrap_or_default();
    program.push(post.program.clone());
    Process::start(&Start {
        program: &program,
        words: &words.map(String::from).collect::<Vec<_>>(),
        variables: &[("DELTACI_LOG_LEVEL".into(), "warn".into())],
        log: &post.folder.join(format!("{name}.log")),
        group: post.group,
    })
}

/// The runners' token, where they find it.
pub fn write_token(post: &Post, token: &str) -> Result<()> {
    Ok(fs::write(post.folder.join("runner.token"), token)?)
}
