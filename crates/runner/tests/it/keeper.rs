//! What the keeper does whatever runs the steps: the checkout, the choice, and being quick.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use runner::keeper::{Checkout, Choice, ExecutorKind, Finish};

use crate::kept::{LONG, Scene, World, program, within, wrapped};

/// A repository with two commits on `main`.
struct Repository {
    folder: tempfile::TempDir,
    commits: Vec<String>,
}

impl Repository {
    fn make() -> Repository {
        let mut repository = Repository { folder: tempfile::tempdir().unwrap(), commits: Vec::new() };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        for number in ["one", "two"] {
            fs::write(repository.path().join("number"), number).unwrap();
            repository.git(&["add", "."]);
            repository.git(&["commit", "--quiet", "-m", number]);
            let commit = repository.git(&["rev-parse", "HEAD"]);
            repository.commits.push(commit.trim().to_owned());
        }
        repository
    }

    fn path(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    fn url(&self) -> String {
        format!("file://{}", self.path().display())
    }

    fn git(&self, words: &[&str]) -> String {
        let identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"];
        let output =
            Command::new("git").args(identity).args(words).current_dir(self.path()).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

fn scene(repository: &str, name: Option<&str>, commit: Option<&str>) -> Scene {
    let checkout = Checkout {
        repository: repository.into(),
        r#ref: name.map(String::from),
        commit: commit.map(String::from),
    };
    World::of(Choice::Process)
        .job(["cat number; git rev-parse HEAD"])
        .with(|order| order.checkout = Some(checkout))
}

#[tokio::test]
async fn the_commit_is_checked_out_and_nothing_more() {
    let repository = Repository::make();
    let [one, two] = [&repository.commits[0], &repository.commits[1]];
    let path = repository.path().display().to_string();
    for (url, name, commit, expected) in [
        (repository.url(), None, Some(one.as_str()), ("one", one)),
        (repository.url(), Some("main"), Some(two.as_str()), ("two", two)),
        (path, Some("refs/heads/main"), None, ("two", two)),
        (repository.url(), None, None, ("two", two)),
        // Not a name that a server gives, so the ref and its history are fetched.
        (repository.url(), Some("main"), Some(&one[..12]), ("one", one)),
    ] {
        let scene = scene(&url, name, commit);
        let told = scene.run().await;
        assert!(
            told.succeeded().text().ends_with(&format!("{}{}\n", expected.0, expected.1)),
            "{}",
            told.text()
        );
        let status =
            Command::new("git").args(["status", "--porcelain"]).current_dir(scene.workspace()).output();
        assert_eq!(String::from_utf8(status.unwrap().stdout).unwrap(), "", "the checkout is clean");
    }
}

#[tokio::test]
async fn a_checkout_that_cannot_be_is_no_fault_of_the_job() {
    let repository = Repository::make();
    let unknown = "0123456789012345678901234567890123456789";
    for (url, name, commit, word) in [
        ("file:///nowhere", None, None, "nowhere"),
        (&repository.url(), Some("gone"), None, "gone"),
        (&repository.url(), None, Some(unknown), unknown),
        (&repository.url(), Some("main"), Some(unknown), "not in the history"),
    ] {
        let told = scene(url, name, commit).run().await;
        assert!(told.problem().contains(word), "{}", told.problem());
        assert!(told.started.is_empty());
    }
}

#[tokio::test]
async fn a_checkout_runs_no_command_of_the_repositorys_choosing() {
    let repository = Repository::make();
    let folder = tempfile::tempdir().unwrap();
    let trap = folder.path().join("sprung");
    let touch = format!("touch {}", trap.display());
    for (url, name, commit) in [
        (format!("ext::sh -c {touch}"), None, None),
        (format!("--upload-pack={touch}"), None, None),
        (repository.url(), Some(format!("--upload-pack={touch}")), None),
        (repository.url(), None, Some(format!("--upload-pack={touch}"))),
        (repository.url(), Some("main:refs/heads/other".into()), None),
    ] {
        let told = scene(&url, name.as_deref(), commit.as_deref()).run().await;
        assert!(matches!(told.finish, Some(Finish::Infra { .. })), "{url}: {told:?}");
        assert!(!trap.exists(), "{url}");
    }
}

#[tokio::test]
async fn the_keeper_says_which_executor_runs_and_why() {
    let told = World::of(Choice::Process).job(["true"]).run().await;
    let (kind, why) = told.chosen.unwrap();
    assert_eq!(kind, ExecutorKind::Process);
    assert!(!why.is_empty());
}

#[tokio::test]
async fn a_job_without_steps_succeeds() {
    World::of(Choice::Process).job([]).run().await.succeeded();
}

#[tokio::test]
async fn a_workspace_that_is_not_there_is_a_problem_with_words() {
    let scene =
        World::of(Choice::Process).job(["true"]).with(|order| order.workspace = "/nowhere/at/all".into());
    assert!(scene.run().await.problem().contains("/nowhere/at/all"));
}

#[tokio::test]
async fn a_step_may_kill_its_whole_group_and_the_next_still_runs() {
    let told = World::of(Choice::Process).job(["trap '' TERM; kill 0", "echo next"]).run().await;
    assert_eq!(told.succeeded().text(), "next\n");
}

#[tokio::test]
async fn a_step_that_kills_the_shell_around_it_has_failed() {
    let told =
        World::of(Choice::Process).job(["echo out; kill -KILL $PPID; sleep 5; echo never"]).run().await;
    assert_eq!(told.finish, Some(Finish::StepFailed { index: 0, exit_code: 137 }));
    assert_eq!(told.text(), "out\n");
}

#[test]
fn a_keeper_started_by_hand_says_who_should() {
    let output = Command::new(crate::kept::example("keep")).stdin(null()).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("deltaci runner"));
}

fn null() -> fs::File {
    fs::File::open(Path::new("/dev/null")).unwrap()
}

/// A sandbox that is cut off from its maker while it is made hears no SIGTERM. The job's grace is not for that.
#[tokio::test]
async fn a_cancel_while_a_sandbox_is_tried_out_needs_no_grace() {
    let folder = tempfile::tempdir().unwrap();
    let tried = folder.path().join("tried");
    let deaf = format!("#!/bin/sh\ntrap '' TERM\n: > {}\n/bin/sleep 600\n", tried.display());
    program(&folder.path().join("bwrap"), &deaf);
    let keep = wrapped(folder.path(), &format!("PATH={}:$PATH", folder.path().display()));
    let world = World { program: keep, ..World::of(Choice::Sandbox) };
    let mut kept = world.job(["true"]).start();
    within(async {
        while !tried.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    kept.keeper.cancel(2 * LONG).await;
    kept.hear_finish().await;
    assert_eq!(kept.told.finish, Some(Finish::Canceled { forced: false }));
    assert!(kept.told.started.is_empty());
}

/// Nothing of the job has run, so there is nothing to wait for.
#[tokio::test]
async fn a_cancel_before_the_first_step_needs_no_grace() {
    let folder = tempfile::tempdir().unwrap();
    // The keeper begins when order and cancel both wait for it.
    let program = wrapped(folder.path(), "SLOW=1; sleep 0.5");
    for choice in [Choice::Process, Choice::Sandbox] {
        let world = World { program: program.clone(), ..World::of(choice) };
        let scene = world.job(["trap '' TERM; sleep 60"]);
        let mut kept = scene.start();
        kept.keeper.cancel(LONG).await;
        kept.hear_finish().await;
        assert_eq!(kept.told.finish, Some(Finish::Canceled { forced: false }));
        assert!(kept.told.started.is_empty());
    }
}
