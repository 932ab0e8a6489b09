//! Caches of real jobs: missed, saved by a success, found again; and what a failure leaves behind, which is nothing.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::e2e::patience::until;
use crate::e2e::site::{ADMIN, LONG, Site};
use crate::e2e::worker::Worker;
use crate::harness::binary;
use crate::stdout;

/// Runs one job with a cache over two folders; its state and its log.
fn run(site: &Site, key: &str, step: &str) -> (String, String, String) {
    let caches = json!([{"type": "deps", "key": key, "prefix": "deps:", "paths": ["kept", "~/.tool"]}]);
    let job = json!({"name": "build", "steps": [step], "caches": caches, "max_attempts": 1});
    let run = site.post("/v1/tenants/default/runs", &json!({"plan": {"jobs": [job]}})).expect(201);
    let id = run["jobs"][0]["id"].as_str().expect("an id").to_owned();
    let state = until("the job is over", || {
        let shown = site.get(&format!("/v1/tenants/default/jobs/{id}")).expect(200);
        let state = shown["state"].as_str().expect("a state").to_owned();
        ["SUCCEEDED", "FAILED"].contains(&state.as_str()).then_some(state)
    });
    let log = site.get(&format!("/v1/tenants/default/jobs/{id}/log")).text();
    (id, state, log)
}

fn kept(site: &Site) -> Vec<Value> {
    let page = site.get("/v1/tenants/default/caches").expect(200);
    page["items"].as_array().expect("a list").clone()
}

#[test]
fn a_cache_is_missed_saved_found_and_dropped() {
    let site = Site::start(&LONG);
    let _worker = Worker::start(&site, "a", &[]);
    let leave =
        "test ! -e kept && mkdir -p kept/deep ~/.tool && echo one > kept/deep/file && echo two > ~/.tool/x";

    let (_, state, log) = run(&site, "deps:1", &format!("{leave} && false"));
    assert_eq!(state, "FAILED", "{log}");
    assert_eq!(kept(&site), [] as [Value; 0], "a failure saves nothing");

    let (first, state, log) = run(&site, "deps:1", leave);
    assert_eq!(state, "SUCCEEDED", "{log}");
    let miss = "# cache deps: nothing has deps:1 or begins with deps:; it will be saved under deps:1 if the job \
                succeeds\n";
    assert!(log.contains(miss), "{log}");
    assert!(log.contains("# cache deps: saved "), "{log}");
    let caches = kept(&site);
    assert_eq!((&caches[0]["key"], &caches[0]["job"]), (&json!("deps:1"), &json!(first)), "{caches:?}");

    let find = "cat kept/deep/file ~/.tool/x";
    let (_, state, log) = run(&site, "deps:1", find);
    assert_eq!(state, "SUCCEEDED", "{log}");
    assert!(
        log.contains("# cache deps: hit deps:1 (exact, ") && log.contains(&format!("saved by {first} ")),
        "{log}"
    );
    assert!(log.contains("\none\ntwo\n") && !log.contains("# cache deps: saved"), "{log}");

    let (second, state, log) = run(&site, "deps:2", find);
    assert_eq!(state, "SUCCEEDED", "{log}");
    assert!(log.contains("# cache deps: hit deps:1 (for deps:2, "), "{log}");
    assert!(log.contains("\none\ntwo\n") && log.contains(" under deps:2\n"), "{log}");
    let jobs: Vec<Value> = kept(&site).iter().map(|cache| cache["job"].clone()).collect();
    assert_eq!(jobs, [json!(first), json!(second)]);

    let id = kept(&site)[0]["id"].as_str().expect("an id").to_owned();
    site.send(ADMIN, "DELETE", &format!("/v1/tenants/default/caches/{id}"), &Value::Null);
    assert_eq!(kept(&site).len(), 1);
    site.is_healthy();
}

/// `deltaci trigger` of one job with a cache, to its end; its log.
fn triggered(site: &Site, flags: &[&str], key: &str, step: &str) -> String {
    let cache = json!({"type": "deps", "key": key, "prefix": "deps:", "paths": ["kept"]});
    let job = json!({"name": "build", "steps": [step], "caches": [cache], "max_attempts": 1});
    let file = site.path("plan.json");
    std::fs::write(&file, json!({"jobs": [job]}).to_string()).expect("a file can be written");
    let plan = ["trigger", "--wait", "--json", "--plan", file.to_str().expect("text")];
    let mut command = binary(&[&plan[..], flags].concat());
    command.env("DELTACI_SERVER", format!("http://{}", site.address())).env("DELTACI_TOKEN", ADMIN);
    let output = command.output().expect("the binary starts");
    let run: Value = serde_json::from_str(stdout(&output)).expect("a run");
    let job = run["jobs"][0]["id"].as_str().expect("an id");
    let log = site.get(&format!("/v1/tenants/default/jobs/{job}/log")).text();
    assert_eq!(run["outcome"], "SUCCESS", "{log}");
    log
}

#[test]
fn what_a_strangers_run_saves_is_never_found_by_a_trusted_one() {
    let site = Site::start(&LONG);
    let _worker = Worker::start(&site, "a", &[]);
    let save = |words: &str| format!("test ! -e kept && mkdir kept && echo {words} > kept/x");

    let log = triggered(&site, &["--untrusted"], "deps:1", &save("poison"));
    assert!(log.contains("# cache deps: saved "), "{log}");
    // Neither under the very name, nor as something that begins like it.
    for key in ["deps:1", "deps:2"] {
        let log = triggered(&site, &[], key, "test ! -e kept");
        assert!(log.contains(&format!("# cache deps: nothing has {key} or begins with deps:")), "{log}");
    }
    let log = triggered(&site, &[], "deps:1", &save("good"));
    assert!(log.contains("# cache deps: saved "), "the name is not taken: {log}");
    let log = triggered(&site, &[], "deps:1", "grep good kept/x");
    assert!(log.contains("# cache deps: hit deps:1 (exact, "), "{log}");
    // Strangers have their own, and see nothing else either.
    let log = triggered(&site, &["--untrusted"], "deps:1", "grep poison kept/x");
    assert!(log.contains("# cache deps: hit deps:1 (exact, "), "{log}");
    site.is_healthy();
}

#[test]
fn a_cache_that_nobody_uses_is_dropped_and_its_bytes_are_collected() {
    // What a runner uploads is promised to its job for as long as an upload may take.
    let short = ["--cache-ttl", "1s", "--blob-grace", "300ms", "--upload-ttl", "3s"];
    let site = Site::start(&[&LONG[..], &short].concat());
    let _worker = Worker::start(&site, "a", &[]);
    let (_, state, log) = run(&site, "deps:1", "mkdir kept && echo one > kept/file");
    assert_eq!(state, "SUCCEEDED", "{log}");
    until("the cache is dropped", || kept(&site).is_empty().then_some(()));
    until("its bytes are collected", || {
        site.post("/v1/admin/gc", &json!({})).expect(202);
        let files = walk(&site.path("data").join("blobs")).into_iter().filter(|it| !it.ends_with(".lock"));
        // The job's log lies there too, and stays.
        let mut others = files.filter(|it| fs::read(it).is_ok_and(|bytes| bytes != log.as_bytes()));
        others.next().is_none().then_some(())
    });
    site.is_healthy();
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| if entry.path().is_dir() { walk(&entry.path()) } else { vec![entry.path()] })
        .collect()
}
