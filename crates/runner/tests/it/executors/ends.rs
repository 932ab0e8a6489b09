//! Clauses 5 to 7: how a job is brought to its end, and that nothing of it is left.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use runner::clock::Uptime;
use runner::keeper::Finish;
use rustix::process::{Pid, Signal, kill_process};

use crate::kept::{LONG, Scene, Token, World, example, within};

const SHORT: Duration = Duration::from_millis(300);

pub async fn a_job_may_end_itself_when_canceled(world: World) {
    let scene =
        world.job(["trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done", "echo never"]);
    let mut kept = scene.start();
    kept.hear_until("up").await;
    kept.keeper.cancel(LONG).await;
    let told = kept.finish().await;
    assert_eq!(told.finish, Some(Finish::Canceled { forced: false }));
    assert!(told.text().contains("bye") && !told.text().contains("never"), "{}", told.text());
}

/// The step's own shell dies of the signal at once. The program it ran still has the grace to put things in order.
pub async fn every_process_gets_the_grace(world: World) {
    let inner = r#"trap "sleep 0.3; echo tidied; exit 0" TERM; echo up; while :; do sleep 0.05; done"#;
    let scene = world.job([&format!("(setsid sh -c '{inner}'; true) & wait; true")]);
    let mut kept = scene.start();
    kept.hear_until("up").await;
    kept.keeper.cancel(LONG).await;
    let told = kept.finish().await;
    assert_eq!(told.finish, Some(Finish::Canceled { forced: false }));
    assert!(told.text().contains("tidied"), "{}", told.text());
}

pub async fn a_job_that_ignores_sigterm_is_killed_after_the_grace(world: World) {
    let token = Token::new();
    let mut kept = world.job([&token.sign("trap '' TERM; echo up; sleep TOKEN; echo slept")]).start();
    kept.hear_until("up").await;
    kept.hear_until_there(&token).await;
    kept.keeper.cancel(SHORT).await;
    kept.hear_finish().await;
    assert!(token.is_gone());
    assert_eq!(kept.finish().await.finish, Some(Finish::Canceled { forced: true }));
}

pub async fn a_job_that_takes_too_long_is_stopped(world: World) {
    let token = Token::new();
    let scene = world.job([&token.sign("echo before; sleep TOKEN")]).with(|order| order.max_runtime = SHORT);
    let mut kept = scene.start();
    kept.hear_finish().await;
    assert!(token.is_gone());
    let told = kept.finish().await;
    assert_eq!(told.finish, Some(Finish::TimedOut));
    assert_eq!(told.ended, []);
}

pub async fn a_job_ends_with_its_lease(world: World) {
    let token = Token::new();
    let mut kept = world.job([&token.sign("trap '' TERM; sleep TOKEN")]).start();
    kept.hear_until_there(&token).await;
    kept.keeper.extend(Uptime::now().plus(SHORT)).await;
    kept.hear_finish().await;
    assert!(token.is_gone());
    assert_eq!(kept.finish().await.finish, Some(Finish::OutOfLease));
}

pub async fn a_renewed_lease_lets_the_job_go_on(world: World) {
    let mut kept = world.job(["echo up; sleep 2; echo done"]).start();
    kept.hear_until("up").await;
    kept.keeper.extend(Uptime::now().plus(Duration::from_secs(1))).await;
    kept.keeper.extend(Uptime::now().plus(LONG)).await;
    assert_eq!(kept.finish().await.succeeded().text(), "up\ndone\n");
}

pub async fn daemons_end_with_the_job(world: World) {
    let token = Token::new();
    let script = "
        (setsid sh -c 'trap \"\" TERM HUP; sleep TOKEN & sleep TOKEN' >/dev/null 2>&1 &)
        sh -c 'sh -c \"sleep TOKEN & sleep TOKEN &\" &' >/dev/null 2>&1
        sleep 0.1; echo started";
    let mut kept = world.job([&token.sign(script)]).start();
    kept.hear_until("started").await;
    kept.hear_finish().await;
    assert!(token.is_gone());
    kept.finish().await.succeeded();
}

pub async fn dropping_the_handle_ends_the_job(world: World) {
    let token = Token::new();
    let scene = world.job([&token.sign("trap '' TERM; sleep TOKEN")]);
    let mut kept = scene.start();
    kept.hear_until_there(&token).await;
    drop(kept);
    token.wait_until_gone().await;
}

pub async fn ending_the_keeper_waits_until_all_is_gone(world: World) {
    let token = Token::new();
    let scene = world.job([&token.sign("trap '' TERM; setsid sleep TOKEN")]);
    let mut kept = scene.start();
    kept.hear_until_there(&token).await;
    kept.keeper.end().await;
    assert!(token.is_gone());
    kept.keeper.end().await;
    assert_eq!(kept.keeper.id(), None);
}

/// The agent lives and renews but reads nothing, so that every pipe is full.
pub async fn nobody_who_reads_does_not_keep_the_job_alive(world: World) {
    let token = Token::new();
    let scene = world.job([&token.sign("sleep TOKEN & yes")]);
    let kept = scene.start();
    token.wait_until_there().await;
    kept.keeper.extend(Uptime::now().plus(SHORT)).await;
    token.wait_until_gone().await;
    let told = kept.finish().await;
    assert!(matches!(told.finish, None | Some(Finish::OutOfLease)), "{:?}", told.finish);
}

/// An agent in a process of its own.
struct Agent(Child);

impl Agent {
    /// Returns when the agent has said how long the lease is, which it does when the first step runs.
    async fn start(scene: &Scene, lease: Duration) -> Agent {
        let order = scene.folder.path().join("order.json");
        std::fs::write(&order, serde_json::to_vec(&scene.order).unwrap()).unwrap();
        let mut command = Command::new(example("agent"));
        command.arg(scene.program()).arg(order).arg(lease.as_millis().to_string());
        let mut agent = Agent(command.stdout(Stdio::piped()).spawn().unwrap());
        let mut output = BufReader::new(agent.0.stdout.take().unwrap());
        let line = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            output.read_line(&mut line).map(|_| line)
        });
        let line = within(line).await.unwrap().unwrap();
        assert!(line.contains("the lease ends"), "{line}");
        agent
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

pub async fn a_killed_agent_takes_the_job_along(world: World) {
    let token = Token::new();
    let scene = world.job([&token.sign("trap '' TERM; setsid sleep TOKEN & yes | cat")]);
    let agent = Agent::start(&scene, LONG).await;
    token.wait_until_there().await;
    agent.signal(Signal::KILL);
    token.wait_until_gone().await;
}

pub async fn a_frozen_agent_does_not_keep_the_job_past_its_lease(world: World) {
    let token = Token::new();
    let scene = world.job([&token.sign("sleep TOKEN")]);
    let agent = Agent::start(&scene, Duration::from_secs(10)).await;
    agent.signal(Signal::STOP);
    token.wait_until_there().await;
    token.wait_until_gone().await;
}

pub async fn a_killed_keeper_takes_the_job_along(world: World) {
    let token = Token::new();
    let scene = world.job([&token.sign("(setsid sleep TOKEN &); sleep TOKEN")]);
    let mut kept = scene.start();
    kept.hear_until_there(&token).await;
    let keeper = Pid::from_raw(kept.keeper.id().unwrap() as i32).unwrap();
    kill_process(keeper, Signal::KILL).unwrap();
    while kept.hear().await {}
    assert_eq!(kept.told.finish, None);
    token.wait_until_gone().await;
}
