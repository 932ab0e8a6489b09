//! A keeper under test: start it with an order, hear it out, and look for what it may have left behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use runner::clock::Uptime;
use runner::keeper::{Choice, ExecutorKind, Finish, Keeper, Limits, Order, Report};

/// Nothing here takes a tenth of it, even on a busy machine.
pub const LONG: Duration = Duration::from_secs(180);

/// Waits for something that must happen.
pub async fn within<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, what).await.expect("it happens within a minute")
}

/// Where jobs run in a test: an executor, and what it needs.
#[derive(Clone)]
pub struct World {
    pub choice: Choice,
    pub image: Option<String>,
    /// Leads to the keeper.
    pub program: PathBuf,
}

impl World {
    pub fn of(choice: Choice) -> World {
        World { choice, image: None, program: example("keep") }
    }

    /// A job with a fresh workspace.
    pub fn job<const N: usize>(&self, steps: [&str; N]) -> Scene {
        // Not below /tmp: the walls put a fresh one there.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let workspace = folder.path().join("workspaces").join("job-1");
        fs::create_dir_all(&workspace).unwrap();
        let order = Order {
            job: "unit-tests".into(),
            execution: "exec_1".into(),
            scratch: workspace.with_extension("scratch"),
            workspace,
            checkout: None,
            copy: None,
            steps: steps.map(String::from).to_vec(),
            env: BTreeMap::new(),
            workdir: ".".into(),
            image: self.image.clone(),
            executor: self.choice,
            network: false,
            limits: Limits::default(),
            caches: vec![],
            cache_bytes_max: 64 * 1024 * 1024,
            max_runtime: LONG,
            grace: Duration::from_secs(1),
            until: Uptime::now().plus(LONG),
        };
        Scene { world: self.clone(), order, folder: Arc::new(folder) }
    }
}

/// A program beside this one, built with it.
pub fn example(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let folder = own.parent().and_then(Path::parent).unwrap().join("examples");
    let found = folder.join(name);
    assert!(
        found.exists(),
        "{} is missing: build it with `cargo build --examples -p runner`",
        found.display()
    );
    found
}

/// An order that is not given yet.
pub struct Scene {
    world: World,
    pub order: Order,
    pub folder: Arc<tempfile::TempDir>,
}

impl Scene {
    pub fn with(mut self, change: impl FnOnce(&mut Order)) -> Scene {
        change(&mut self.order);
        self
    }

    pub fn workspace(&self) -> &Path {
        &self.order.workspace
    }

    pub fn program(&self) -> &Path {
        &self.world.program
    }

    pub fn start(&self) -> Kept {
        let keeper = Keeper::spawn(&self.world.program, self.order.clone()).unwrap();
        Kept { keeper, told: Told::default(), _folder: self.folder.clone() }
    }

    pub async fn run(&self) -> Told {
        self.start().finish().await
    }
}

/// All that a keeper told.
#[derive(Debug, Default)]
pub struct Told {
    pub chosen: Option<(ExecutorKind, String)>,
    pub output: Vec<u8>,
    pub notes: Vec<String>,
    pub started: Vec<u32>,
    pub ended: Vec<(u32, i32)>,
    pub finish: Option<Finish>,
}

impl Told {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }

    pub fn problem(&self) -> &str {
        match &self.finish {
            Some(Finish::Infra { problem }) => problem,
            other => panic!("no problem but {other:?}: {}", self.text()),
        }
    }

    #[track_caller]
    pub fn succeeded(&self) -> &Told {
        assert_eq!(self.finish, Some(Finish::Succeeded), "{}", self.text());
        self
    }
}

pub struct Kept {
    pub keeper: Keeper,
    pub told: Told,
    _folder: Arc<tempfile::TempDir>,
}

impl Kept {
    /// Notes the next report; false when the keeper is gone.
    pub async fn hear(&mut self) -> bool {
        let Some(report) = within(self.keeper.next()).await else { return false };
        assert_eq!(self.told.finish, None, "nothing follows the finish");
        match report {
            Report::Chosen { executor, why } => self.told.chosen = Some((executor, why)),
            Report::StepStarted { index } => self.told.started.push(index),
            Report::StepEnded { index, exit_code } => self.told.ended.push((index, exit_code)),
            Report::Output(bytes) => self.told.output.extend(bytes),
            Report::Note { line } => self.told.notes.push(line),
            Report::Finished(finish) => self.told.finish = Some(finish),
        }
        true
    }

    /// Listens until the job wrote this.
    pub async fn hear_until(&mut self, text: &str) {
        while !self.told.text().contains(text) {
            assert!(self.hear().await, "the job never wrote {text}: {:?}", self.told);
        }
    }

    /// Listens until the job has started its process; one that ends before says why.
    pub async fn hear_until_there(&mut self, token: &Token) {
        while token.is_gone() {
            assert_eq!(self.told.finish, None, "the job ended before it began: {:?}", self.told);
            let _nothing_new = tokio::time::timeout(Duration::from_millis(30), self.hear()).await;
        }
    }

    /// Listens until the job finished; the keeper may still be about to go.
    pub async fn hear_finish(&mut self) {
        while self.told.finish.is_none() {
            assert!(self.hear().await, "the keeper left without a finish: {:?}", self.told);
        }
    }

    pub async fn finish(mut self) -> Told {
        while self.hear().await {}
        self.told
    }
}

/// A number of seconds that no other sleep on this machine has, to find a process by.
pub struct Token(pub String);

impl Token {
    pub fn new() -> Token {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Token(format!("9{:07}{count:03}", std::process::id()))
    }

    /// Replaces `TOKEN` in a script.
    pub fn sign(&self, script: &str) -> String {
        script.replace("TOKEN", &self.0)
    }

    pub fn is_gone(&self) -> bool {
        self.processes().is_empty()
    }

    /// Those that carry the token as a word of their own, so a shell that only quotes it does not count.
    fn processes(&self) -> Vec<String> {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let numbers = numbers.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        let carries = |pid: &String| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.split(|byte| *byte == 0).any(|word| word == self.0.as_bytes())
        };
        numbers.filter(carries).collect()
    }

    pub async fn wait_until_there(&self) {
        within(async {
            while self.is_gone() {
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
        })
        .await;
    }

    pub async fn wait_until_gone(&self) {
        within(async {
            while !self.is_gone() {
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
        })
        .await;
    }
}

/// A program that sets variables and becomes the keeper: the agent hands on little of its own environment.
pub fn wrapped(folder: &Path, variables: &str) -> PathBuf {
    let path = folder.join("keep");
    program(&path, &format!("#!/bin/sh\nexport {variables}\nexec {} \"$@\"\n", example("keep").display()));
    path
}

/// Written by another process, so that no fork of ours can hold it open for writing when it is started.
pub fn program(path: &Path, script: &str) {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", r#"printf '%s' "$1" > "$2" && chmod +x "$2""#, "sh", script]).arg(path);
    assert!(command.status().unwrap().success());
}
