//! Somebody in the same process watches the jobs.

use runner::agent::{Seen, What};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::orchestrator::{Inner, Orchestrator, TOKEN};
use super::world::{World, block_on, steps};

async fn watched(job: &[&str], room: usize) -> (World, mpsc::Receiver<Seen>) {
    watched_spec(steps(job), room).await
}

async fn watched_spec(spec: Value, room: usize) -> (World, mpsc::Receiver<Seen>) {
    let orchestrator = Orchestrator::default();
    orchestrator.with(|inner| {
        inner.interval = 0.2;
        inner.queue.push_back(spec);
    });
    let (tap, seen) = mpsc::channel(room);
    (World::begin_with(orchestrator, TOKEN, |settings| settings.tap = Some(tap)).await, seen)
}

#[test]
fn a_watcher_sees_what_the_job_does_in_order() {
    block_on(async {
        let (world, mut seen) = watched(&["print x", "exit 3"], 16).await;
        world.left().await;
        let mut what = Vec::new();
        while let Some(seen) = seen.recv().await {
            what.push(seen.what);
        }
        let expected = [
            What::Chosen { executor: "process", why: "the test says so".into() },
            What::StepStarted { index: 0, text: "print x".into() },
            What::Output(b"x\n".to_vec()),
            What::StepEnded { index: 0, exit_code: 0 },
            What::StepStarted { index: 1, text: "exit 3".into() },
            What::StepEnded { index: 1, exit_code: 3 },
        ];
        assert_eq!(what, expected);
    });
}

#[test]
fn a_watcher_sees_what_became_of_caches() {
    block_on(async {
        let cache = json!({"type": "deps", "key": "deps:1", "paths": ["kept"]});
        let again = json!({"type": "more", "key": "deps:1", "paths": ["kept"]});
        let steps = ["sh printf packed > ../caches/0.made"];
        let spec = json!({"name": "job", "steps": steps, "caches": [cache, again]});
        // With room for one word at a time.
        let (world, mut seen) = watched_spec(spec, 1).await;
        let mut words = String::new();
        while let Some(seen) = seen.recv().await {
            match seen.what {
                What::Output(bytes) => words.push_str(&String::from_utf8(bytes).expect("text")),
                What::StepStarted { .. } => words.push_str("it begins\n"),
                What::Chosen { .. } | What::StepEnded { .. } => {}
            }
        }
        world.left().await;
        let expected = "cache more: left alone: another cache of this job has the key deps:1\n\
                        cache deps: nothing has deps:1; it will be saved under deps:1 if the job succeeds\n\
                        it begins\n\
                        cache deps: saved 6 bytes under deps:1\n";
        assert_eq!(words, expected);
    });
}

#[test]
fn a_job_waits_for_a_slow_watcher_and_heartbeats_do_not() {
    block_on(async {
        let (world, mut seen) = watched(&["spew 2000000", "print done"], 1).await;
        let beats = |inner: &mut Inner| inner.heard.iter().filter(|heard| *heard == "heartbeat").count();
        world.until("heartbeats", |inner| beats(inner) > 3).await;
        assert!(world.orchestrator.with(|inner| inner.log.len()) < 1_000_000, "the job waits");
        let mut output = 0;
        while let Some(seen) = seen.recv().await {
            if let What::Output(bytes) = seen.what {
                output += bytes.len();
            }
        }
        let (_, ended) = world.left().await;
        assert_eq!(output, 2_000_005);
        assert!(ended.log.ends_with("done\n"));
    });
}

#[test]
fn a_watcher_that_is_gone_holds_nothing_up() {
    block_on(async {
        let (world, seen) = watched(&["spew 500000", "print done"], 1).await;
        drop(seen);
        let (_, ended) = world.left().await;
        assert!(ended.log.ends_with("done\n"));
    });
}
