//! `strace` on a running server: at a chosen call it is killed, or the call fails.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::e2e::site::Site;

/// Detached when the value is gone.
pub struct Tracer {
    strace: Child,
}

impl Tracer {
    /// `what` happens, and when, in strace's words; calls are counted in each of the server's threads, from now on.
    pub fn attach(site: &Site, call: &str, what: &str) -> Tracer {
        let mut strace = Command::new("strace")
            .args(["-f", "-e", &format!("trace={call}"), "-e", &format!("inject={call}:{what}")])
            .args(["-p", &site.server.id().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("strace is here: `cargo xtask parts install`");
        let mut said = BufReader::new(strace.stderr.take().expect("piped"));
        let mut line = String::new();
        while !line.contains("attached") {
            line.clear();
            assert!(said.read_line(&mut line).expect("it speaks") > 0, "strace may not trace the server");
        }
        std::thread::spawn(move || said.lines().for_each(drop)); // a pipe that nobody reads would hold it up
        Tracer { strace }
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let _ = self.strace.kill(); // it ends with the server
        let _ = self.strace.wait();
    }
}
