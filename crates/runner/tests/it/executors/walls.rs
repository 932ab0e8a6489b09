//! What the sandbox keeps a job from.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use runner::keeper::{Choice, ExecutorKind};

use crate::kept::{Token, World};

fn sandbox() -> World {
    World::of(Choice::Sandbox)
}

/// Ends with zero when a connection was made. Every Debian has perl.
fn connect(port: u16) -> String {
    format!("perl -MIO::Socket -e 'exit !IO::Socket::INET->new(PeerAddr => \"127.0.0.1:{port}\")'")
}

#[tokio::test]
async fn a_job_has_no_network_unless_it_is_allowed_one() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let script = format!(
        "if {}; then echo connected; else echo alone; fi",
        connect(listener.local_addr().unwrap().port())
    );
    let told = sandbox().job([&script]).run().await;
    assert_eq!(told.succeeded().text(), "alone\n");
    let told = sandbox().job([&script]).with(|order| order.network = true).run().await;
    assert_eq!(told.succeeded().text(), "connected\n");
}

#[tokio::test]
async fn a_job_sees_no_process_but_its_own() {
    let told = sandbox().job(["ls /proc | grep -c '^[0-9]'; kill -0 $PPID && cat /proc/1/comm"]).run().await;
    let text = told.succeeded().text();
    let (count, rest) = text.split_once('\n').unwrap();
    assert!(count.parse::<u32>().unwrap() < 10, "{text}");
    assert_eq!(rest, "bwrap\n");
}

#[tokio::test]
async fn the_system_cannot_be_changed() {
    let script = "for folder in /usr /etc /bin /lib; do touch $folder/deltaci-was-here 2>/dev/null && echo wrote $folder; done; true";
    assert_eq!(sandbox().job([script]).run().await.succeeded().text(), "");
    let script = "mount -t tmpfs none /mnt 2>/dev/null && echo mounted; grep CapEff /proc/self/status";
    assert_eq!(sandbox().job([script]).run().await.succeeded().text(), "CapEff:\t0000000000000000\n");
}

#[tokio::test]
async fn secrets_of_the_runner_and_the_machine_are_not_there() {
    let scene = sandbox().job([]);
    let secret = scene.folder.path().join("token");
    let neighbour = scene.workspace().with_file_name("job-2");
    fs::write(&secret, "dci_secret").unwrap();
    fs::create_dir(&neighbour).unwrap();
    let script = format!(
        "set +e; cat {} 2>/dev/null; ls {} 2>/dev/null; ls {}; cat /etc/shadow 2>/dev/null; ls -A /root /home /var /etc/ssh 2>/dev/null; true",
        secret.display(),
        neighbour.display(),
        scene.workspace().parent().unwrap().display(),
    );
    let scene = scene.with(|order| order.steps = vec![script]);
    let told = scene.run().await;
    let words: Vec<_> = told.succeeded().text().split_whitespace().map(str::to_owned).collect();
    let expected = ["job-1", "/etc/ssh:", "/home:", "job", "/var:", "tmp"];
    assert_eq!(
        words.iter().filter(|word| !expected.contains(&word.as_str())).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
}

#[tokio::test]
async fn a_job_that_ends_the_shell_around_it_has_failed_and_leaves_nothing() {
    let token = Token::new();
    let mut kept =
        sandbox().job([&token.sign("(setsid sleep TOKEN &); kill -KILL $PPID; sleep TOKEN")]).start();
    kept.hear_finish().await;
    assert!(token.is_gone());
    assert_eq!(kept.finish().await.ended, [(0, 137)]);
}

#[tokio::test]
async fn a_sandbox_is_chosen_when_the_job_names_no_image() {
    let told = World::of(Choice::Auto).job(["true"]).run().await;
    assert_eq!(told.succeeded().chosen.as_ref().unwrap().0, ExecutorKind::Sandbox);
}

#[tokio::test]
async fn without_bubblewrap_the_runner_says_what_to_do() {
    let mut world = World::of(Choice::Sandbox);
    let folder = tempfile::tempdir().unwrap();
    world.program = crate::kept::wrapped(folder.path(), "PATH=/nowhere");
    let told = world.job(["true"]).run().await;
    assert!(told.problem().contains("--executor process"), "{}", told.problem());
    world.choice = Choice::Auto;
    let told = world.job(["true"]).run().await;
    let (kind, why) = told.succeeded().chosen.clone().unwrap();
    assert_eq!(kind, ExecutorKind::Process);
    assert!(why.contains("bwrap"), "{why}");
}

/// What a job sets must not reach the programs that build its walls.
#[tokio::test]
async fn a_job_cannot_choose_what_runs_outside() {
    let scene = sandbox().job(["echo $LD_PRELOAD; /bin/echo $PATH"]);
    let trap = scene.workspace().join("bwrap");
    let sprung = scene.folder.path().join("sprung");
    fs::write(&trap, format!("#!/bin/sh\ntouch {}\n", sprung.display())).unwrap();
    fs::set_permissions(&trap, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", scene.workspace().display());
    let scene = scene.with(|order| {
        order.env.insert("PATH".into(), path.clone());
        order.env.insert("LD_PRELOAD".into(), "".into());
        order.env.insert("BASH_FUNC_exec%%".into(), format!("() {{ touch {}; }}", sprung.display()));
    });
    let mut kept = scene.start();
    kept.hear_until(&path).await;
    assert!(!sprung.exists());
    kept.finish().await.succeeded();
}

#[tokio::test]
async fn a_jobs_variables_are_on_no_command_line() {
    let scene = sandbox()
        .job(["echo up; sleep 60"])
        .with(|order| drop(order.env.insert("KEY".into(), "hush-hush".into())));
    let mut kept = scene.start();
    kept.hear_until("up").await;
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&words).contains("hush-hush"), "{entry:?}");
    }
    kept.keeper.end().await;
}
