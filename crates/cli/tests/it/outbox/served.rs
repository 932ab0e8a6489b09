//! A server on a port and a folder that outlive it.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub const PATIENCE: Duration = Duration::from_secs(90);
const ADMIN: &str = "the-admin-of-these-tests";
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

pub struct Served {
    pub folder: TempDir,
    port: u16,
    flags: Vec<String>,
    child: Option<Child>,
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Served {
    pub fn start(flags: &[&str]) -> Served {
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let folder = tempfile::tempdir().unwrap();
        let mut served = Served { folder, port: free_port(), flags, child: None };
        served.restart();
        served
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub fn restart(&mut self) {
        let mut child = bare(&["server", "--listen", &format!("127.0.0.1:{}", self.port)])
            .arg("--data")
            .arg(self.data())
            .args(&self.flags)
            .env("DELTACI_ADMIN_TOKEN", ADMIN)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let listens = lines.any(|line| line.unwrap().contains("listens on"));
        assert!(listens, "it ended before it listened");
        std::thread::spawn(move || lines.for_each(drop));
        self.child = Some(child);
    }

    /// No goodbye: SIGKILL.
    pub fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub fn deltaci(&self, words: &[&str]) -> Output {
        let mut command = bare(words);
        command
            .env("DELTACI_SERVER", format!("http://127.0.0.1:{}", self.port))
            .env("DELTACI_TOKEN", ADMIN)
            .env("DELTACI_WEBHOOK_SECRET", SECRET)
            .stdin(Stdio::null());
        command.output().unwrap()
    }

    pub fn said(&self, words: &[&str]) -> String {
        let output = self.deltaci(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", crate::stderr(&output));
        crate::stdout(&output).trim_end().to_owned()
    }

    pub fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.said(&[words, &["--json"]].concat())).unwrap()
    }

    pub fn subscribe(&self, name: &str, url: &str, event: &str) {
        self.said(&["webhook", "put", name, "--url", url, "--event", event]);
    }

    /// A run of so many jobs, cancelled at once: a `job.finished` for each, and one `run.finished`.
    pub fn run_ends(&self, jobs: usize) {
        let plan: Vec<Value> = (0..jobs)
            .map(|number| serde_json::json!({"name": format!("job-{number}"), "steps": ["true"]}))
            .collect();
        let file = self.folder.path().join("plan.json");
        std::fs::write(&file, serde_json::json!({ "jobs": plan }).to_string()).unwrap();
        let run = self.said(&["trigger", "--plan", file.to_str().unwrap()]);
        self.deltaci(&["cancel", run.lines().last().unwrap()]);
    }

    pub fn deliveries(&self) -> Vec<Value> {
        self.json(&["outbox", "list"])["items"].as_array().unwrap().clone()
    }

    pub fn all_are(&self, state: &str, count: usize) -> Vec<Value> {
        let mut found = Vec::new();
        until(|| {
            found = self.deliveries();
            found.len() == count && found.iter().all(|it| it["state"] == state)
        });
        found
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill(); // it may have ended already
            let _ = child.wait();
        }
    }
}

pub fn until(mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "it takes far too long");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn bare(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deltaci"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("DELTACI_")) {
        command.env_remove(name);
    }
    command.args(words).env("NO_COLOR", "1");
    command
}
