//! An agent at work in a test, and what it can be asked.

use std::path::Path;
use std::time::Duration;

use runner::agent::{Ground, Left, Network, Settings, Stop, run};
use runner::client::{Client, Token};
use runner::keeper::{Choice, Limits};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::keepers::Keepers;
use super::orchestrator::{Inner, Orchestrator, TOKEN};

/// Long past what a slow machine needs.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct World {
    pub orchestrator: Orchestrator,
    pub keepers: Keepers,
    pub stop: watch::Sender<Stop>,
    work: TempDir,
    agent: JoinHandle<std::io::Result<Left>>,
}

/// Runs a test; a runtime of two threads, as the agent has.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime can be made").block_on(future)
}

pub fn steps(steps: &[&str]) -> Value {
    json!({"name": "job", "steps": steps})
}

impl World {
    /// One slot that leaves after its job.
    pub async fn once(orchestrator: Orchestrator) -> World {
        World::begin(orchestrator, 1, true, TOKEN).await
    }

    pub async fn begin(orchestrator: Orchestrator, slots: u32, once: bool, token: &str) -> World {
        World::begin_with(orchestrator, token, |settings| (settings.slots, settings.once) = (slots, once))
            .await
    }

    /// With settings of its own.
    pub async fn begin_with(
        orchestrator: Orchestrator,
        token: &str,
        change: impl FnOnce(&mut Settings),
    ) -> World {
        let address = orchestrator.start().await;
        let keepers = Keepers::default();
        let stop = watch::Sender::new(Stop::Go);
        let work = tempfile::tempdir().expect("a folder");
        let mut settings = Settings {
            name: "tester".into(),
            slots: 1,
            once: true,
            capabilities: vec!["os:linux".into()],
            executor: Choice::Auto,
            ground: Ground::Fresh,
            network: Network::Asked,
            work_dir: work.path().into(),
            limits: Limits::default(),
            artifacts_bytes_max: 64 * 1024 * 1024,
            tap: None,
        };
        change(&mut settings);
        let token = Token::parse(token).expect("a token");
        let client = Client::new(&format!("http://{address}/"), &token).expect("a client");
        let agent = tokio::spawn(run(settings, client, keepers.clone(), stop.subscribe()));
        World { orchestrator, keepers, stop, work, agent }
    }

    pub async fn until(&self, what: &str, mut seen: impl FnMut(&mut Inner) -> bool) {
        let waiting = async {
            while !self.orchestrator.with(&mut seen) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        if tokio::time::timeout(PATIENCE, waiting).await.is_err() {
            let heard = self.orchestrator.with(|inner| inner.heard.clone());
            panic!("never: {what}; heard {heard:?}");
        }
    }

    /// Waits for the agent to leave. Nothing of its jobs may be left by then.
    pub async fn left(self) -> (Left, Ended) {
        let left = tokio::time::timeout(PATIENCE, self.agent).await.expect("the agent leaves in time");
        let left = left.expect("the agent does not panic").expect("the agent can work");
        assert!(is_empty(self.work.path()), "nothing is left in the work directory");
        let ended = self.orchestrator.with(|inner| Ended {
            heard: inner.heard.clone(),
            messages: inner.messages.clone(),
            log: String::from_utf8(inner.log.clone()).expect("the log is text"),
        });
        (left, ended)
    }
}

/// But for the file that guards the door.
fn is_empty(work_dir: &Path) -> bool {
    std::fs::read_dir(work_dir).expect("readable").flatten().all(|entry| entry.file_name() == ".door")
}

pub struct Ended {
    pub heard: Vec<String>,
    pub messages: Vec<(&'static str, Value)>,
    pub log: String,
}

impl Ended {
    /// What was heard, without heartbeats and log chunks, whose number depends on time.
    pub fn words(&self) -> Vec<&str> {
        let words = self.heard.iter().map(String::as_str);
        words.filter(|word| !["heartbeat", "log"].contains(word)).collect()
    }

    pub fn last(&self, call: &str) -> &Value {
        let found = self.messages.iter().rev().find(|(heard, _)| *heard == call);
        &found.unwrap_or_else(|| panic!("{call} was heard")).1
    }

    pub fn count(&self, call: &str) -> usize {
        self.messages.iter().filter(|(heard, _)| *heard == call).count()
    }
}
