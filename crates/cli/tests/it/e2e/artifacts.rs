//! Artifacts of real jobs. And a server killed at every step of an upload, a commit, a publication and a collection: after a restart the same is there, and
//! nothing else.
//!
//! The kernel does the killing: `strace` sends SIGKILL at the Nth call of one kind, so that each step that reaches the disk
//! is the last one once.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::e2e::crashes::until_succeeded;
use crate::e2e::http::{Reply, ask};
use crate::e2e::patience::until;
use crate::e2e::site::{ADMIN, LONG, Site};
use crate::e2e::tracer::Tracer;
use crate::e2e::worker::Worker;

const GRACE: &str = "150ms";
/// A call that has not killed by then is over and done with.
const CALLS_MAX: usize = 40;

/// The server is gone.
struct Gone;

fn send(site: &Site, method: &str, path: &str, body: &[u8]) -> Result<Reply, Gone> {
    let bearer = format!("Bearer {ADMIN}");
    let kind = if method == "PUT" { "application/octet-stream" } else { "application/json" };
    let headers = [("authorization", bearer.as_str()), ("content-type", kind)];
    ask(site.address(), method, &format!("/v1/tenants/default{path}"), &headers, body).map_err(|_| Gone)
}

fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    format!("sha256:{}", digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn content(letter: u8) -> Vec<u8> {
    (0..50_000u32).map(|number| letter.wrapping_add(number.wrapping_mul(31) as u8)).collect()
}

#[track_caller]
fn json_of(reply: &Reply, statuses: &[u16]) -> Value {
    assert!(statuses.contains(&reply.status), "{}: {}", reply.status, reply.text());
    reply.json()
}

/// Opens a session; `None` when the bytes are there already.
fn session(site: &Site, bytes: &[u8]) -> Result<Option<String>, Gone> {
    let start = json!({"digest": digest(bytes), "length": bytes.len()}).to_string();
    let started = json_of(&send(site, "POST", "/uploads", start.as_bytes())?, &[201]);
    let id = started["id"].as_str().expect("an id").to_owned();
    Ok((started["state"] != "committed").then_some(id))
}

fn push_stream(site: &Site, bytes: &[u8]) -> Result<(), Gone> {
    let Some(id) = session(site, bytes)? else { return Ok(()) };
    json_of(&send(site, "PUT", &format!("/uploads/{id}/content"), bytes)?, &[200]);
    json_of(&send(site, "POST", &format!("/uploads/{id}/commit"), b"")?, &[200]);
    Ok(())
}

fn push_parts(site: &Site, bytes: &[u8]) -> Result<(), Gone> {
    let Some(id) = session(site, bytes)? else { return Ok(()) };
    let (first, second) = bytes.split_at(bytes.len() / 3);
    let lengths = json!({"part_lengths": [first.len(), second.len()]}).to_string();
    let begun = json_of(&send(site, "POST", &format!("/uploads/{id}/parts"), lengths.as_bytes())?, &[200]);
    let mut tags = Vec::new();
    for (part, bytes) in begun["parts"].as_array().expect("parts").iter().zip([first, second]) {
        let url = part["url"].as_str().expect("a url");
        let path = url.split_once("/v1/").map(|(_, rest)| format!("/v1/{rest}")).expect("our own");
        let reply = ask(site.address(), "PUT", &path, &[], bytes).map_err(|_| Gone)?;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let tag = reply
            .head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("etag:").map(str::to_owned));
        tags.push(json!({"number": part["number"], "etag": tag.expect("an ETag").trim()}));
    }
    let parts = json!({"parts": tags}).to_string();
    json_of(&send(site, "POST", &format!("/uploads/{id}/complete"), parts.as_bytes())?, &[200]);
    json_of(&send(site, "POST", &format!("/uploads/{id}/commit"), b"")?, &[200]);
    Ok(())
}

fn push_small(site: &Site, bytes: &[u8]) -> Result<(), Gone> {
    json_of(&send(site, "PUT", &format!("/blobs/{}", digest(bytes)), bytes)?, &[200, 201]);
    Ok(())
}

fn publish(site: &Site) -> Result<(), Gone> {
    let entries: Vec<Value> = [b'a', b'b', b'c']
        .map(|it| json!({"path": format!("{}.bin", it as char), "digest": digest(&content(it))}))
        .into();
    let draft = json!({"version": "1.0", "entries": entries}).to_string();
    json_of(&send(site, "POST", "/packages/app/versions", draft.as_bytes())?, &[200, 201]);
    let published = json_of(&send(site, "POST", "/packages/app/versions/1.0/publish", b"")?, &[200]);
    assert_eq!(published["state"], "published");
    Ok(())
}

fn collect(site: &Site) -> Result<(), Gone> {
    std::thread::sleep(Duration::from_millis(200)); // the grace
    let bearer = format!("Bearer {ADMIN}");
    let headers = [("authorization", bearer.as_str())];
    let begun = ask(site.address(), "POST", "/v1/admin/gc", &headers, b"").map_err(|_| Gone)?;
    let id = json_of(&begun, &[202])["id"].as_str().expect("an id").to_owned();
    loop {
        let path = format!("/v1/admin/gc/{id}");
        let shown = ask(site.address(), "GET", &path, &headers, b"").map_err(|_| Gone)?;
        match json_of(&shown, &[200])["state"].as_str() {
            Some("running") => std::thread::sleep(Duration::from_millis(20)),
            Some("done") => return Ok(()),
            other => panic!("the collection is {other:?}: {}", shown.text()),
        }
    }
}

/// Everything that can be cut short. Done twice, it comes to the same.
fn story(site: &Site) -> Result<(), Gone> {
    push_small(site, &content(b'g'))?; // nobody will want this one
    push_small(site, &content(b'a'))?;
    push_stream(site, &content(b'b'))?;
    push_parts(site, &content(b'c'))?;
    publish(site)?;
    collect(site)
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files_below(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

/// Three blobs, readable, and not a file more.
fn same_final_set(site: &Site, after: &str) {
    for letter in [b'a', b'b', b'c'] {
        let read = site.get(&format!("/v1/tenants/default/blobs/{}", digest(&content(letter))));
        assert_eq!((read.status, digest(&read.body)), (200, digest(&content(letter))), "after {after}");
    }
    let gone = site.get(&format!("/v1/tenants/default/blobs/{}", digest(&content(b'g'))));
    assert_eq!(gone.status, 404, "after {after}");
    until(&format!("three files are left after {after}"), || {
        let files = files_below(&site.path("data").join("blobs"));
        (files.iter().filter(|it| !it.ends_with(".lock")).count() == 3).then_some(())
    });
    site.is_healthy();
}

/// Returns how often the server was killed.
fn kill_at_each(call: &str) -> usize {
    for number in 1..=CALLS_MAX {
        let mut site = Site::start(&["--blob-grace", GRACE, "--upload-ttl", "2s", "--gc-hold", "1s"]);
        let killer = Tracer::attach(&site, call, &format!("signal=SIGKILL:when={number}"));
        let survived = story(&site).is_ok();
        drop(killer);
        if survived {
            return number - 1;
        }
        until("the server is gone", || site.server.has_ended().then_some(()));
        site.restart();
        // What a killed collection held is free again after its hold; the story begins its own then.
        assert!(story(&site).is_ok(), "after a restart it goes through");
        std::thread::sleep(Duration::from_secs(2)); // uploads that were cut short run out
        assert!(collect(&site).is_ok());
        same_final_set(&site, &format!("a kill at {call} {number}"));
    }
    panic!("the story has more than {CALLS_MAX} calls of {call}")
}

#[test]
fn a_server_killed_at_any_sync_comes_to_the_same_end() {
    let kills = kill_at_each("fdatasync");
    println!("{kills} kills");
    assert!(kills >= 5, "{kills} kills");
}

#[test]
fn a_server_killed_at_any_link_rename_or_deletion_comes_to_the_same_end() {
    let kills: usize = ["linkat", "renameat2", "unlink,unlinkat", "fsync"].map(kill_at_each).iter().sum();
    println!("{kills} kills");
    assert!(kills >= 4, "{kills} kills");
}

/// Nothing of it can be seen before the job's commit, and all of it after.
#[test]
fn a_job_makes_its_artifacts_visible_with_its_commit() {
    let site = Site::start(&LONG);
    let junit = r#"<testsuite name="s"><testcase name="a"/><testcase name="b"><failure message="no"/></testcase></testsuite>"#;
    let steps = json!([
        "mkdir out && echo hello >out/app.txt && ln -s /etc/passwd out/link.txt",
        format!("printf %s '{junit}' >out/junit.xml"),
    ]);
    let artifacts =
        json!([{"type": "file", "path_glob": "out/*.txt"}, {"type": "junit", "path_glob": "**/junit.xml"}]);
    let publish = json!({"package": "app", "version": "1.0"});
    let job = json!({"name": "build", "steps": steps, "artifacts": artifacts, "publish": publish});
    let run = site.post("/v1/tenants/default/runs", &json!({"plan": {"jobs": [job]}})).expect(201);
    let version = "/v1/tenants/default/packages/app/versions/1.0";
    assert_eq!(site.get(version).status, 404);
    let _worker = Worker::start(&site, "a", &[]);
    let run = until_succeeded(&site, &run, 1);
    let id = run["jobs"][0]["id"].as_str().expect("an id");
    let shown = site.get(&format!("/v1/tenants/default/jobs/{id}")).expect(200);
    let paths: Vec<&str> =
        shown["artifacts"].as_array().expect("a list").iter().filter_map(|it| it["path"].as_str()).collect();
    assert_eq!(paths, ["out/app.txt", "out/junit.xml"], "{shown:#}");
    assert_eq!((&shown["tests"]["total"], &shown["tests"]["failed"]), (&json!(2), &json!(1)), "{shown:#}");
    assert_eq!(site.get(version).expect(200)["state"], "published");
    assert_eq!(site.get(&format!("{version}/files/out/app.txt")).text(), "hello\n");
    assert!(
        site.get(&format!("/v1/tenants/default/jobs/{id}/log")).text().contains("link.txt"),
        "the link is named"
    );
    site.is_healthy();
}
