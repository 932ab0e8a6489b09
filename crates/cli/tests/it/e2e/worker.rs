//! A runner process, with a wire of its own to the server.

use std::fs;

use rustix::process::Signal;

use crate::e2e::patience::until_so;
use crate::e2e::program::Program;
use crate::e2e::proxy::Proxy;
use crate::e2e::site::Site;

pub struct Worker {
    pub program: Program,
    pub proxy: Proxy,
}

impl Worker {
    pub fn start(site: &Site, name: &str, flags: &[&str]) -> Worker {
        Worker::with_token(site, name, &site.runner_token, flags)
    }

    pub fn with_token(site: &Site, name: &str, token: &str, flags: &[&str]) -> Worker {
        let (proxy, file) = (site.proxy(), site.path(&format!("{name}.token")));
        fs::write(&file, token).expect("a file can be written");
        let (server, file) = (format!("http://{}", proxy.address), file.display().to_string());
        let work = site.path("work").display().to_string();
        let mut words = vec!["runner", "--name", name, "--server", &server, "--token-file", &file];
        words.extend(["--work-dir", &work]);
        words.extend(flags);
        if !flags.contains(&"--executor") {
            words.extend(["--executor", "process"]);
        }
        let words: Vec<String> = words.into_iter().map(String::from).collect();
        let program = Program::start(&words, &[], &site.path(&format!("{name}.log")));
        Worker { program, proxy }
    }

    /// No new work; what runs may finish.
    pub fn retire(&self) {
        self.program.signal(Signal::TERM);
    }

    pub fn until_says(&self, words: &str) {
        until_so(&format!("the runner says `{words}`"), || self.program.log().contains(words));
    }
}
