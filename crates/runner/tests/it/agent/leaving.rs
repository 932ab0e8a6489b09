//! SIGTERM: finish what runs, or hand it back.

use runner::agent::{Left, Stop};
use serde_json::Value;

use super::orchestrator::{Orchestrator, TOKEN};
use super::world::{World, block_on, steps};

async fn at_work(job: &[&str]) -> World {
    let orchestrator = Orchestrator::default();
    let jobs: [Value; 1] = [steps(job)];
    orchestrator.with(|inner| inner.queue.extend(jobs));
    World::begin(orchestrator, 1, false, TOKEN).await
}

#[test]
fn an_idle_agent_leaves_at_once() {
    block_on(async {
        let world = World::begin(Orchestrator::default(), 2, false, TOKEN).await;
        world.until("a request for work", |inner| !inner.messages.is_empty()).await;
        world.stop.send_replace(Stop::Finish);
        let (left, ended) = world.left().await;
        assert_eq!(left, Left::Stopped);
        assert!(ended.heard.is_empty());
    });
}

#[test]
fn an_agent_told_to_stop_finishes_its_job_and_takes_no_other() {
    block_on(async {
        let world = at_work(&["print x", "wait"]).await;
        world.until("the log", |inner| inner.log.ends_with(b"$ wait\n")).await;
        world.orchestrator.with(|inner| inner.queue.push_back(steps(&["print next"])));
        world.stop.send_replace(Stop::Finish);
        // It still waits for its job, which ends by a cancel.
        let leases = world.orchestrator.with(|inner| inner.messages.len());
        assert!(leases > 0);
        world.stop.send_replace(Stop::HandBack);
        let (left, ended) = world.left().await;
        assert_eq!(left, Left::Stopped);
        assert_eq!(ended.words(), ["ack", "complete FAILED 125"]);
        let summary = "executor unavailable: the runner was told to stop and hands the job back";
        assert_eq!(ended.last("complete")["summary"], summary);
        assert!(ended.log.ends_with("$ wait\n# stopped\n"), "{}", ended.log);
        assert!(!ended.log.contains("next"));
    });
}

#[test]
fn an_agent_told_to_kill_does_not_wait_for_a_job_that_does_not_listen() {
    block_on(async {
        let world = at_work(&["print x", "stuck"]).await;
        world.until("the log", |inner| inner.log.ends_with(b"$ stuck\n")).await;
        world.stop.send_replace(Stop::Kill);
        let (left, ended) = world.left().await;
        assert_eq!(left, Left::Stopped);
        assert_eq!(ended.words(), ["ack", "complete FAILED 125"]);
    });
}

#[test]
fn an_agent_asks_again_as_soon_as_its_job_is_over() {
    block_on(async {
        let orchestrator = Orchestrator::default();
        orchestrator.with(|inner| inner.queue.extend((0..20).map(|_| steps(&["print x"]))));
        let world = World::begin(orchestrator, 1, false, TOKEN).await;
        let over = |inner: &mut super::orchestrator::Inner| {
            inner.heard.iter().filter(|heard| heard.starts_with("complete")).count() == 20
        };
        world.until("twenty results", over).await;
        world.stop.send_replace(Stop::Finish);
        let (left, ended) = world.left().await;
        assert_eq!(left, Left::Stopped);
        assert!(ended.log.ends_with("$ print x\nx\n"), "{}", ended.log);
    });
}
