//! A folder with a pipeline, and `deltaci` at work in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::e2e::marks::VARIABLE;
use crate::e2e::patience::until_so;
use crate::e2e::program::Program;
use crate::stderr;

pub struct Folder {
    place: TempDir,
}

impl Folder {
    /// Of the pipeline; what tests write to see how jobs fare lies beside it.
    pub fn path(&self) -> PathBuf {
        self.place.path().join("project")
    }

    pub fn beside(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).expect("a file can be written");
    }

    /// By which the processes of jobs are found; no other test has it.
    pub fn mark(&self) -> String {
        self.place.path().display().to_string()
    }

    fn words(&self, more: &[&str]) -> Vec<String> {
        let folder = self.path();
        let fixed = ["run", folder.to_str().unwrap(), "--executor", "process"];
        fixed.into_iter().chain(more.iter().copied()).map(String::from).collect()
    }

    /// A run to its end.
    pub fn run(&self, more: &[&str]) -> Output {
        command(&self.path())
            .args(self.words(more))
            .env("XDG_CACHE_HOME", self.beside("caches"))
            .output()
            .expect("the binary starts")
    }

    /// A run to its end, and the last event it told.
    #[track_caller]
    pub fn run_to(&self, code: i32, more: &[&str]) -> Value {
        let output = self.run(&[more, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        let text = String::from_utf8_lossy(&output.stdout);
        let last = text.lines().last().expect("an event");
        serde_json::from_str(last).expect("JSON")
    }

    pub fn start(&self, more: &[&str]) -> Program {
        let caches = self.beside("caches").display().to_string();
        Program::start(&self.words(more), &[("XDG_CACHE_HOME", &caches)], &self.beside("log"))
    }

    /// Of runs that are not over.
    pub fn snapshots(&self) -> Vec<PathBuf> {
        let below =
            |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let works = below(self.beside("caches").join("deltaci"));
        works.flat_map(|work| below(work.join("snapshots"))).collect()
    }

    /// Another command, in the folder.
    #[track_caller]
    pub fn said(&self, words: &[&str]) -> String {
        let output = command(&self.path()).args(words).output().expect("the binary starts");
        assert!(output.status.success(), "{words:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).expect("text")
    }

    #[track_caller]
    pub fn until(&self, file: &str) {
        until_so(&format!("a job writes {file}"), || self.beside(file).exists());
    }
}

pub fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deltaci"));
    command.current_dir(folder).env("NO_COLOR", "1");
    for name in ["DELTACI_DATABASE", "DELTACI_DATA", "DELTACI_TOKEN", "DELTACI_SERVER"] {
        command.env_remove(name);
    }
    command
}

/// A folder whose jobs carry its mark and know what is beside it.
pub fn folder_with(jobs: &[(&str, Value)]) -> Folder {
    let folder = Folder { place: tempfile::tempdir().expect("a folder can be made") };
    fs::create_dir(folder.path()).expect("a folder can be made");
    let env = json!({ VARIABLE: folder.mark(), "BESIDE": folder.mark() });
    // JSON is YAML too. Written by hand, since a map of JSON would bring the jobs into another order.
    let mut text = format!("version: 1\ndefaults: {{ \"env\": {env} }}\njobs:\n");
    for (name, job) in jobs {
        text.push_str(&format!("  {name}: {job}\n"));
    }
    folder.write("delta-ci.yaml", &text);
    folder
}

pub fn job<'a>(name: &'a str, needs: &[&str], steps: &[&str]) -> (&'a str, Value) {
    (name, json!({ "needs": needs, "run": steps }))
}
