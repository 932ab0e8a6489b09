//! `deltaci artifact` and `deltaci gc` against a store that follows the contract and breaks on demand.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::depot::{Depot, Fault, digest_of};
use crate::harness::{binary, wait_until};
use crate::{stderr, stdout};

const LARGE: usize = 12_000_000;

struct Shop {
    depot: Depot,
    url: String,
    folder: TempDir,
    _runtime: tokio::runtime::Runtime,
}

impl Shop {
    fn open() -> Shop {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let depot = Depot::default();
        let address = runtime.block_on(depot.start());
        Shop {
            depot,
            url: format!("http://{address}"),
            folder: tempfile::tempdir().unwrap(),
            _runtime: runtime,
        }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = binary(words);
        command
            .current_dir(self.folder.path())
            .env("DELTACI_SERVER", &self.url)
            .env("DELTACI_TOKEN", "t")
            .env("XDG_CACHE_HOME", self.folder.path().join("cache"))
            .stdin(Stdio::null());
        command
    }

    fn exits(&self, code: i32, words: &[&str]) -> Output {
        let output = self.command(words).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}{}", stdout(&output), stderr(&output));
        output
    }

    fn json(&self, words: &[&str]) -> Value {
        let output = self.exits(0, &[words, &["--json"]].concat());
        assert_eq!(stderr(&output), "", "{words:?}");
        serde_json::from_str(stdout(&output)).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 88172645463325252u64;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    })
    .take(bytes)
    .collect()
}

#[test]
fn files_go_up_become_a_version_and_come_down() {
    let shop = Shop::open();
    shop.file("app", b"binary");
    shop.file("docs/a/readme", b"read me");
    shop.file("docs/empty", b"");
    let pushed = shop.exits(
        0,
        &["artifact", "push", "app", "docs", "--package", "@me/app", "--version", "1.0", "--publish"],
    );
    assert!(stdout(&pushed).starts_with("ver_"), "{}", stdout(&pushed));
    assert!(stderr(&pushed).contains("✓ docs/a/readme        7 B"), "{}", stderr(&pushed));
    assert!(stderr(&pushed).ends_with("✓ published  @me/app@1.0\n"), "{}", stderr(&pushed));

    let pulled = shop.exits(0, &["artifact", "pull", "@me/app@1.0", "-o", "out"]);
    assert_eq!(stdout(&pulled), "out/app\nout/docs/a/readme\nout/docs/empty\n");
    assert_eq!(fs::read(shop.path("out/docs/a/readme")).unwrap(), b"read me");
    assert_eq!(fs::read(shop.path("out/docs/empty")).unwrap(), b"");
    let again = shop.exits(0, &["artifact", "pull", "@me/app@1.0", "docs/a", "-o", "out"]);
    assert!(stderr(&again).contains("was there already"), "{}", stderr(&again));

    let list = shop.exits(0, &["artifact", "list"]);
    assert!(stdout(&list).contains("✓ published      3  13 B"), "{}", stdout(&list));
    assert!(stdout(&list).contains("@me/app@1.0"), "{}", stdout(&list));
    let files = shop.exits(0, &["artifact", "list", "@me/app@1.0"]);
    assert!(stdout(&files).contains(&digest_of(b"binary")), "{}", stdout(&files));
    let none = shop.exits(0, &["artifact", "list", "other"]);
    assert!(stdout(&none).is_empty() && stderr(&none).contains("no versions"));

    shop.exits(1, &["artifact", "push", "app", "--package", "@me/app", "--version", "1.0"]);
    shop.exits(2, &["artifact", "pull", "@me/app@2.0"]);
    let missing = shop.exits(2, &["artifact", "pull", "@me/app@1.0", "nothing"]);
    assert!(stderr(&missing).contains("does not hold nothing"), "{}", stderr(&missing));
}

#[test]
fn json_is_all_there_is() {
    let shop = Shop::open();
    shop.file("app", b"binary");
    let pushed = shop.json(&["artifact", "push", "app"]);
    let digest = digest_of(b"binary");
    assert_eq!(
        pushed,
        json!({"files": [{"path": "app", "digest": digest, "length": 6, "deduplicated": false}], "version": null})
    );
    let pushed = shop.json(&["artifact", "push", "app", "--package", "p", "--version", "1"]);
    assert_eq!(pushed["version"]["state"], "draft");
    assert_eq!(shop.json(&["artifact", "publish", "p@1"])["state"], "published");
    assert_eq!(shop.json(&["artifact", "tombstone", "p@1", "--retention", "30d"])["state"], "tombstoned");
    assert_eq!(shop.json(&["artifact", "restore", "p@1"])["state"], "published");
    assert_eq!(shop.json(&["artifact", "list", "p"])["items"][0]["version"], "1");
    let pulled = shop.json(&["artifact", "pull", &digest, "-o", "out"]);
    assert_eq!(pulled["files"][0]["length"], 6);
    let hex = digest.strip_prefix("sha256:").unwrap();
    assert_eq!(fs::read(shop.path("out").join(hex)).unwrap(), b"binary");
}

#[test]
fn versions_change_their_state() {
    let shop = Shop::open();
    shop.file("app", b"binary");
    shop.exits(0, &["artifact", "push", "app", "--package", "p", "--version", "1"]);
    assert_eq!(stderr(&shop.exits(0, &["artifact", "publish", "p@1"])), "✓ published  p@1\n");
    let gone = shop.exits(0, &["artifact", "tombstone", "p@1"]);
    assert_eq!(stderr(&gone), "⊘ tombstoned  p@1, can be restored until 2026-02-04T08:00:00Z\n");
    shop.exits(1, &["artifact", "tombstone", "p@1"]);
    assert_eq!(stderr(&shop.exits(0, &["artifact", "restore", "p@1"])), "✓ published  p@1\n");
    shop.exits(2, &["artifact", "publish", "p@2"]);
    shop.exits(2, &["artifact", "publish", "p"]);
    shop.exits(2, &["artifact", "tombstone", "p@1", "--retention", "soon"]);
}

#[test]
fn a_push_goes_on_after_a_broken_connection() {
    let shop = Shop::open();
    shop.file("big", &noise(LARGE));
    shop.depot.fault("content", [Fault::Cut(5_000_000), Fault::Cut(3_000_000)]);
    let pushed = shop.exits(0, &["artifact", "push", "big"]);
    assert!(stderr(&pushed).contains("went on after"), "{}", stderr(&pushed));
    assert_eq!(shop.depot.with(|depot| (depot.taken, depot.uploads.len())), (LARGE, 1));
    let again = shop.exits(0, &["artifact", "push", "big"]);
    assert!(stderr(&again).contains("was there already"), "{}", stderr(&again));
}

#[test]
fn a_push_that_was_killed_goes_on_when_it_is_repeated() {
    let shop = Shop::open();
    shop.file("big", &noise(LARGE));
    shop.depot.fault("content", [Fault::Cut(5_000_000)]);
    shop.depot.fault("look", [Fault::Hang]);
    let mut child = shop.command(&["artifact", "push", "big"]).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the upload was broken off", || shop.depot.count("look") == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let pushed = shop.exits(0, &["artifact", "push", "big"]);
    assert!(stderr(&pushed).contains("went on after 4.7 MiB"), "{}", stderr(&pushed));
    assert_eq!(shop.depot.with(|depot| (depot.taken, depot.uploads.len())), (LARGE, 1));
    let left: Vec<_> = walk(&shop.path("cache"));
    assert!(left.is_empty(), "nothing is remembered of what is done: {left:?}");
}

fn walk(folder: &std::path::Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn a_pull_goes_on_after_a_broken_connection_and_after_being_killed() {
    let shop = Shop::open();
    let bytes = noise(LARGE);
    let digest = shop.depot.keep(bytes.clone());
    let name = digest.strip_prefix("sha256:").unwrap().to_string();
    shop.depot.fault("get-blob", [Fault::Cut(5_000_000)]);
    let pulled = shop.exits(0, &["artifact", "pull", &digest]);
    assert!(stderr(&pulled).contains("trying again"), "{}", stderr(&pulled));
    assert_eq!(shop.depot.count("get-blob"), 2);
    assert!(fs::read(shop.path(&name)).unwrap() == bytes);

    fs::remove_file(shop.path(&name)).unwrap();
    fs::write(shop.path(&format!("{name}.part")), &bytes[..7_000_000]).unwrap();
    let pulled = shop.exits(0, &["artifact", "pull", &digest]);
    assert!(stderr(&pulled).contains("went on after 6.6 MiB"), "{}", stderr(&pulled));
    assert!(fs::read(shop.path(&name)).unwrap() == bytes);
    assert!(!shop.path(&format!("{name}.part")).exists());

    // Nothing is missing but the name.
    fs::rename(shop.path(&name), shop.path(&format!("{name}.part"))).unwrap();
    shop.exits(0, &["artifact", "pull", &digest]);
    assert!(fs::read(shop.path(&name)).unwrap() == bytes);
}

#[test]
fn what_is_not_what_was_asked_for_gets_no_name() {
    let shop = Shop::open();
    let digest = shop.depot.keep(b"right".to_vec());
    shop.depot.with(|depot| depot.blobs.insert(digest.clone(), b"wrong".to_vec().into()));
    let pulled = shop.exits(5, &["artifact", "pull", &digest, "-o", "out"]);
    assert!(stderr(&pulled).contains("thrown away"), "{}", stderr(&pulled));
    assert_eq!(walk(&shop.path("out")), Vec::<PathBuf>::new());
    // A part of something else is no reason to fail for ever.
    shop.depot.keep(b"right".to_vec());
    shop.file(&format!("out/{}.part", digest.strip_prefix("sha256:").unwrap()), b"no");
    shop.exits(5, &["artifact", "pull", &digest, "-o", "out"]);
    shop.exits(0, &["artifact", "pull", &digest, "-o", "out"]);
}

#[test]
fn a_version_cannot_write_outside_the_folder() {
    let shop = Shop::open();
    let digest = shop.depot.keep(b"evil".to_vec());
    for (number, path) in ["../evil", "/tmp/evil", "a/../../evil", "a\\..\\evil", ""].iter().enumerate() {
        let version = json!({
            "id": "ver_00000000000000000000000001", "package": "p", "version": number.to_string(), "state": "published",
            "quarantine": null, "content_hash": null, "retention_until": null, "purged": false,
            "entries": [{"path": "good", "digest": digest, "length": 4}, {"path": path, "digest": digest, "length": 4}],
            "created_at": "2026-01-04T08:00:00Z", "published_at": null,
        });
        shop.depot.with(|depot| depot.versions.insert(("p".into(), number.to_string()), version));
        let pulled = shop.exits(1, &["artifact", "pull", &format!("p@{number}"), "-o", "out"]);
        assert!(stderr(&pulled).contains("leads out of a folder"), "{}", stderr(&pulled));
    }
    assert!(!shop.path("evil").exists() && !shop.path("out").exists());
    assert_eq!(shop.depot.count("get-blob"), 0);
}

#[test]
fn what_is_wrong_is_said_with_the_right_code() {
    let shop = Shop::open();
    shop.file("app", b"binary");
    shop.exits(2, &["artifact", "push", "nowhere"]);
    shop.exits(2, &["artifact", "push"]);
    shop.exits(2, &["artifact", "push", "app", "--package", "p"]);
    shop.exits(2, &["artifact", "push", "app", "--publish"]);
    shop.exits(2, &["artifact", "push", "app", "./app"]);
    shop.exits(2, &["artifact", "pull", "p"]);
    shop.exits(2, &["artifact", "pull", &format!("sha256:{}", "0".repeat(64))]);
    for (status, code) in [(401, 7), (403, 7), (413, 2), (507, 5)] {
        shop.depot.fault("put-blob", [Fault::Status(status)]);
        shop.exits(code, &["artifact", "push", "app"]);
    }
    // One that passes is waited for.
    shop.depot.fault("put-blob", [Fault::Status(503), Fault::LoseAnswer]);
    let pushed = shop.exits(0, &["artifact", "push", "app"]);
    assert!(stderr(&pushed).contains("trying again"), "{}", stderr(&pushed));
    let words = ["artifact", "push", "app", "--server", "http://127.0.0.1:1"];
    let output = shop.exits(5, &words);
    assert!(stderr(&output).contains("is the server running at http://127.0.0.1:1?"), "{}", stderr(&output));
}

#[test]
fn a_collection_is_started_and_waited_for() {
    let shop = Shop::open();
    let started = shop.exits(0, &["gc", "--dry-run"]);
    assert!(stdout(&started).starts_with("gc_"), "{}", stdout(&started));
    assert!(
        stderr(&started).contains("● running  12 looked at, 2 kept, 0 to delete"),
        "{}",
        stderr(&started)
    );
    let done = shop.exits(0, &["gc", "--wait"]);
    assert_eq!(stderr(&done), "✓ done  12 looked at, 2 kept, 10 deleted (117.7 MiB)\n");
    assert_eq!(shop.json(&["gc", "--wait"])["deleted"], 10);
}
