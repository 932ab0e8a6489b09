//! Fills the workspace from git: one commit, nothing else, and no program of the repository's choosing.
//!
//! Runs outside the walls, so git is given nothing to decide: no configuration but ours, no hooks, no prompts, no
//! submodules, no transport that runs a command.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use super::link::Reports;
use super::order::{Checkout, Report};
use super::{Places, Problem, Reaper, environment};
use crate::executors::Talk;

/// A checkout that hangs is a problem of the network, not of the job.
const TIME_MAX: Duration = Duration::from_secs(30 * 60);
const READ_BYTES: usize = 16 * 1024;

const SETTINGS: [&str; 9] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "credential.helper=",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "advice.detachedHead=false",
    "init.defaultBranch=main",
    "gc.auto=0",
    "maintenance.auto=false",
];

pub async fn run(
    checkout: &Checkout,
    places: &Places,
    reaper: &Reaper,
    reports: &Reports,
) -> Result<(), Problem> {
    check(checkout)?;
    let git = Git { places, reaper, reports };
    match tokio::time::timeout(TIME_MAX, git.check_out(checkout)).await {
        Ok(result) => result,
        Err(_) => {
            Err(Problem::new(format!("the checkout took longer than {} minutes", TIME_MAX.as_secs() / 60)))
        }
    }
}

/// What is passed to git as a name must not be read as an option or as more than one name.
fn check(checkout: &Checkout) -> Result<(), Problem> {
    let names = [&checkout.r#ref, &checkout.commit];
    let strange = |name: &&String| {
        name.is_empty()
            || name.starts_with(['-', '+'])
            || name.contains([':', '^', '~', '?', '*', '[', '\\', ' '])
    };
    if let Some(name) = names.into_iter().flatten().find(|name| strange(name) || has_control(name)) {
        return Err(Problem::new(format!("`{}` names no ref or commit", name.escape_debug())));
    }
    let repository = &checkout.repository;
    if repository.is_empty() || repository.starts_with('-') || has_control(repository) {
        return Err(Problem::new(format!("`{}` names no repository", repository.escape_debug())));
    }
    Ok(())
}

fn has_control(name: &str) -> bool {
    name.contains(char::is_control)
}

struct Git<'a> {
    places: &'a Places,
    reaper: &'a Reaper,
    reports: &'a Reports,
}

impl Git<'_> {
    async fn check_out(&self, checkout: &Checkout) -> Result<(), Problem> {
        let Checkout { repository, r#ref, commit } = checkout;
        self.must("cannot make the repository", &["init", "--quiet"]).await?;
        let found = match (commit, r#ref) {
            (Some(commit), _) => self.fetch_commit(repository, commit, r#ref.as_deref()).await?,
            (None, Some(name)) => self.fetch_name(repository, name).await?,
            (None, None) => self.fetch_name(repository, "HEAD").await?,
        };
        self.must("cannot check out the commit", &["checkout", "--quiet", "--force", "--detach", &found])
            .await
    }

    async fn fetch_name(&self, repository: &str, name: &str) -> Result<String, Problem> {
        let what = format!("cannot fetch {name} of the repository");
        self.must(&what, &fetch(repository, name, Depth::One)).await?;
        Ok("FETCH_HEAD".into())
    }

    /// Servers may refuse to give a commit by its name. Then the ref is fetched, and if need be its whole history.
    async fn fetch_commit(
        &self,
        repository: &str,
        commit: &str,
        name: Option<&str>,
    ) -> Result<String, Problem> {
        let what = format!("cannot fetch the commit {commit}");
        let (code, complaint) = self.git(&fetch(repository, commit, Depth::One)).await?;
        let Some(name) = name.filter(|_| code != 0) else {
            return if code == 0 { Ok(commit.into()) } else { Err(Problem::during(what, said(complaint))) };
        };
        self.fetch_name(repository, name).await?;
        if !self.has(commit).await? {
            let what = format!("cannot fetch the history of {name}");
            self.must(&what, &fetch(repository, name, Depth::All)).await?;
        }
        if !self.has(commit).await? {
            return Err(Problem::new(format!(
                "the commit {commit} is not in the history of {name}; was it pushed, or was the ref rewritten?"
            )));
        }
        Ok(commit.into())
    }

    async fn has(&self, commit: &str) -> Result<bool, Problem> {
        Ok(self.git(&["cat-file", "-e", &format!("{commit}^{{commit}}")]).await?.0 == 0)
    }

    async fn must(&self, what: &str, words: &[&str]) -> Result<(), Problem> {
        match self.git(words).await? {
            (0, _) => Ok(()),
            (_, complaint) => Err(Problem::during(what, said(complaint))),
        }
    }

    /// Runs git, its output in the job's log. Its exit code, and why it failed.
    async fn git(&self, words: &[&str]) -> Result<(i32, Option<String>), Problem> {
        let run = async {
            let (output, output_writer) = io::pipe()?;
            let mut command = self.command(words);
            command.stdout(output_writer.try_clone()?).stderr(output_writer);
            let exit = self.reaper.spawn(&mut command)?;
            drop(command);
            let mut output = pipe::Receiver::from_owned_fd(OwnedFd::from(output))?;
            let talk = Talk::default();
            let mut buffer = vec![0; READ_BYTES];
            while let length @ 1.. = output.read(&mut buffer).await? {
                talk.hear(&buffer[..length]);
                self.reports.send(Report::Output(buffer[..length].to_vec())).await;
            }
            Ok((exit.await.unwrap_or(1), talk.first_line_with(is_reason)))
        };
        run.await.map_err(|error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => {
                Problem::new("git is not on the runner's PATH; install it, or run jobs without a repository")
            }
            _ => Problem::during("cannot run git", error),
        })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting])).args(words);
        command.current_dir(&self.places.workspace).stdin(Stdio::null()).process_group(0);
        command.env_clear().envs(environment::keeper_word()).env("PATH", environment::host_path());
        command.env("HOME", &self.places.home).env("TMPDIR", &self.places.temporary).env("LC_ALL", "C.UTF-8");
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_ASKPASS", "true").env("GIT_LFS_SKIP_SMUDGE", "1");
        command
            .env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")
            .env("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh");
        command
    }
}

#[derive(Clone, Copy)]
enum Depth {
    One,
    All,
}

fn fetch<'a>(repository: &'a str, name: &'a str, depth: Depth) -> [&'a str; 8] {
    let depth = match depth {
        Depth::One => "--depth=1",
        // Also where a fetch before was a shallow one.
        Depth::All => "--depth=2147483647",
    };
    ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", depth, "--", repository, name]
}

fn said(complaint: Option<String>) -> String {
    complaint.unwrap_or_else(|| "git did not say why".into())
}

/// Advice and consequences may follow the reason.
fn is_reason(line: &str) -> bool {
    line.starts_with("fatal:") || line.starts_with("error:")
}
