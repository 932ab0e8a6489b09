//! Caches between the agent and the server: what is looked for, fetched, said in the log, and named in the final word.

use runner::agent::{Left, Stop};
use runner::session::{End, Outcome};
use serde_json::{Value, json};
use wire::runner::StaleReason;

use super::orchestrator::{Fault, Orchestrator};
use super::world::{Ended, World, block_on};
use crate::depot::{self, digest_of};

/// What the keeper would pack.
const PACKED: &str = "sh printf packed > ../caches/0.made";

fn with_job(steps: &[&str]) -> Orchestrator {
    let caches =
        json!([{"type": "cargo", "key": "cargo:1a2b", "prefix": "cargo:", "paths": ["target", "~/.cargo"]}]);
    with_caches(steps, caches)
}

fn with_caches(steps: &[&str], caches: Value) -> Orchestrator {
    let orchestrator = Orchestrator::default();
    let spec = json!({"name": "job", "steps": steps, "caches": caches});
    orchestrator.with(|inner| inner.queue.push_back(spec));
    orchestrator
}

fn keep(orchestrator: &Orchestrator, key: &str, bytes: &[u8]) {
    let digest = orchestrator.depot.keep(bytes.to_vec());
    orchestrator.depot.with(|depot| depot.caches.insert(key.into(), digest));
}

fn once(orchestrator: &Orchestrator) -> (Outcome, Ended) {
    block_on(async {
        match World::once(orchestrator.clone()).await.left().await {
            (Left::Once(End::Completed(verdict)), ended) => (verdict.outcome, ended),
            (other, _) => panic!("{other:?}"),
        }
    })
}

fn saved(ended: &Ended) -> Vec<Value> {
    ended.last("complete")["caches"].as_array().cloned().unwrap_or_default()
}

#[test]
fn a_miss_is_said_and_saved_if_the_job_succeeds() {
    let orchestrator = with_job(&["sh test -z \"$(ls ../caches)\"", PACKED]);
    let (outcome, ended) = once(&orchestrator);
    assert_eq!(outcome, Outcome::Succeeded, "{}", ended.log);
    let miss = "# cache cargo: nothing has cargo:1a2b or begins with cargo:; it will be saved under cargo:1a2b \
                if the job succeeds\n";
    assert!(ended.log.starts_with(miss), "{}", ended.log);
    assert!(ended.log.ends_with("# cache cargo: saved 6 bytes under cargo:1a2b\n"), "{}", ended.log);
    let uri = format!("blob:{}", digest_of(b"packed"));
    assert_eq!(saved(&ended), [json!({"key": "cargo:1a2b", "uri": uri})]);
}

#[test]
fn a_hit_is_there_before_the_first_step_and_not_saved_again() {
    let orchestrator = with_job(&["sh test \"$(cat ../caches/0.found)\" = archive"]);
    keep(&orchestrator, "cargo:1a2b", b"archive");
    let (outcome, ended) = once(&orchestrator);
    assert_eq!(outcome, Outcome::Succeeded, "{}", ended.log);
    let hit = "# cache cargo: hit cargo:1a2b (exact, 7 bytes, saved by job_00000000000000000000000007 ";
    assert!(ended.log.starts_with(hit), "{}", ended.log);
    assert!(ended.log.contains(" ago)\n"), "{}", ended.log);
    assert_eq!(saved(&ended), [] as [Value; 0]);
}

#[test]
fn what_only_begins_so_is_used_and_the_key_is_saved() {
    let orchestrator = with_job(&["sh test \"$(cat ../caches/0.found)\" = older", PACKED]);
    keep(&orchestrator, "cargo:0", b"older");
    let (outcome, ended) = once(&orchestrator);
    assert_eq!(outcome, Outcome::Succeeded, "{}", ended.log);
    assert!(ended.log.starts_with("# cache cargo: hit cargo:0 (for cargo:1a2b, 5 bytes, saved by job_"));
    assert!(ended.log.contains("; it will be saved under cargo:1a2b if the job succeeds\n"), "{}", ended.log);
    assert_eq!(saved(&ended).len(), 1);
}

#[test]
fn the_keeper_is_told_paths_and_files_and_no_key() {
    block_on(async {
        let orchestrator = with_job(&["true"]);
        keep(&orchestrator, "cargo:0", b"older");
        let world = World::once(orchestrator).await;
        let keepers = world.keepers.clone();
        world.left().await;
        let order = keepers.seen.lock().unwrap().orders.remove(0);
        let cache = &order.caches[0];
        assert_eq!((cache.name.as_str(), cache.paths.len()), ("cargo", 2));
        assert!(cache.archive.as_ref().is_some_and(|path| path.ends_with("caches/0.found")));
        assert!(cache.save_to.as_ref().is_some_and(|path| path.ends_with("caches/0.made")));
        assert!(!serde_json::to_string(&order).unwrap().contains("1a2b"));
    });
}

#[test]
fn a_failed_job_saves_nothing() {
    let orchestrator = with_job(&[PACKED, "exit 3"]);
    let (outcome, ended) = once(&orchestrator);
    assert_eq!((outcome, saved(&ended)), (Outcome::Failed, vec![]));
    assert_eq!(orchestrator.depot.count("put-blob"), 0);
}

#[test]
fn a_download_goes_on_where_it_broke() {
    let orchestrator = with_job(&["sh test $(wc -c < ../caches/0.found) = 300000"]);
    let bytes: Vec<u8> = (0..300_000u32).map(|number| number.wrapping_mul(31) as u8).collect();
    keep(&orchestrator, "cargo:1a2b", &bytes);
    orchestrator.depot.fault("find", [depot::Fault::Status(503)]);
    orchestrator.depot.fault("get-blob", [depot::Fault::Cut(100_000), depot::Fault::Status(503)]);
    let (outcome, ended) = once(&orchestrator);
    assert_eq!(outcome, Outcome::Succeeded, "{}", ended.log);
    assert!(ended.log.contains("hit cargo:1a2b (exact, 293 KiB"), "{}", ended.log);
}

#[test]
fn a_cache_never_fails_a_job() {
    let trouble = |what: &str, make: &dyn Fn(&Orchestrator)| {
        let orchestrator = with_job(&["sh test ! -e ../caches/0.found || true", PACKED]);
        keep(&orchestrator, "cargo:1a2b", b"archive");
        make(&orchestrator);
        let (outcome, ended) = once(&orchestrator);
        assert_eq!(outcome, Outcome::Succeeded, "{what}: {}", ended.log);
        ended
    };
    let ended = trouble("refused", &|it| it.depot.fault("find", [depot::Fault::Status(403)]));
    assert!(ended.log.starts_with("# cache cargo: cannot be fetched: it is told_to_fail;"), "{}", ended.log);
    let ended = trouble("gone", &|it| it.depot.with(|depot| depot.blobs.clear()));
    assert!(ended.log.starts_with("# cache cargo: cannot be fetched: status 404;"), "{}", ended.log);
    let ended = trouble("other bytes", &|it| {
        it.depot.with(|depot| depot.blobs.values_mut().for_each(|bytes| *bytes = "ARCHIVE".into()));
    });
    assert!(ended.log.contains("other bytes came than were saved"), "{}", ended.log);
    let ended = trouble("not taken", &|it| {
        it.depot.with(|depot| depot.caches.clear());
        it.depot.fault("put-blob", [depot::Fault::Status(413)]);
    });
    assert!(ended.log.ends_with("# cache cargo: not saved: it is told_to_fail\n"), "{}", ended.log);
    assert_eq!(saved(&ended), [] as [Value; 0]);
    let ended = trouble("nobody's", &|it| it.with(|inner| inner.names_tenant = false));
    assert!(ended.log.contains("the server did not say whose job it is"), "{}", ended.log);
}

#[test]
fn keys_that_cannot_be_are_left_alone() {
    let cache = |key: &str| json!({"type": "t", "key": key, "paths": ["a"]});
    let long = "k".repeat(513);
    let orchestrator =
        with_caches(&["true"], json!([cache("a"), cache("a"), cache(""), cache("x\ny"), cache(&long)]));
    let (outcome, ended) = once(&orchestrator);
    assert_eq!((outcome, orchestrator.depot.count("find")), (Outcome::Succeeded, 1), "{}", ended.log);
    assert!(ended.log.contains("# cache t: left alone: another cache of this job has the key a\n"));
    assert_eq!(ended.log.matches("a key has 1 to 512 bytes").count(), 3, "{}", ended.log);
}

#[test]
fn a_cancel_ends_a_job_that_waits_for_its_caches() {
    block_on(async {
        let orchestrator = with_job(&["true"]);
        orchestrator.with(|inner| inner.interval = 0.2);
        orchestrator.depot.fault("find", [depot::Fault::Hang]);
        let world = World::once(orchestrator.clone()).await;
        while orchestrator.depot.count("find") == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        let beats = |inner: &mut super::orchestrator::Inner| {
            inner.messages.iter().filter(|(call, _)| *call == "heartbeat").count() >= 3
        };
        world.until("heartbeats while a cache is looked for", beats).await;
        orchestrator.fault("heartbeat", [Fault::Cancel; 1000]);
        let (left, ended) = world.left().await;
        assert_eq!(left, Left::Once(End::Canceled));
        assert_eq!(ended.words(), ["ack", "cancel-ack"]);
    });
}

#[test]
fn a_runner_that_must_go_does_not_wait_for_caches() {
    block_on(async {
        let orchestrator = with_job(&["true"]);
        orchestrator.depot.fault("find", [depot::Fault::Hang]);
        let world = World::once(orchestrator.clone()).await;
        while orchestrator.depot.count("find") == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        world.stop.send_replace(Stop::HandBack);
        let (left, _) = world.left().await;
        assert!(matches!(left, Left::Once(End::Completed(verdict)) if verdict.outcome == Outcome::Infra));
    });
}

#[test]
fn a_stale_lease_ends_the_talk_also_here() {
    let orchestrator = with_job(&[PACKED]);
    orchestrator.depot.fault("put-blob", [depot::Fault::Stale]);
    let left = block_on(async { World::once(orchestrator.clone()).await.left().await });
    assert_eq!(left.0, Left::Once(End::Stale(StaleReason::LeaseExpired)));
    assert_eq!(left.1.words(), ["ack"]);
}
