//! Where jobs begin is the operator's to say.

use std::fs;
use std::path::PathBuf;

use runner::agent::Ground;
use runner::keeper::{CopyOf, Order};
use serde_json::{Value, json};

use super::orchestrator::{Orchestrator, TOKEN};
use super::world::{World, block_on};

/// A job that names a commit, and would like to name more.
fn job(step: &str) -> Value {
    let checkout = json!({"repository": "/somewhere", "commit": "c"});
    json!({"name": "job", "steps": [step], "checkout": checkout, "ground": "/etc", "workspace": "/etc", "copy": "/etc"})
}

async fn ordered(ground: Ground, step: &str) -> Order {
    let orchestrator = Orchestrator::default();
    orchestrator.with(|inner| inner.queue.push_back(job(step)));
    let world = World::begin_with(orchestrator, TOKEN, |settings| settings.ground = ground).await;
    let keepers = world.keepers.clone();
    world.left().await;
    keepers.seen.lock().expect("not poisoned").orders.pop().expect("an order")
}

#[test]
fn a_fresh_folder_is_filled_with_what_the_job_names() {
    block_on(async {
        let order = ordered(Ground::Fresh, "print x").await;
        assert!(order.checkout.is_some() && order.copy.is_none());
        assert!(!order.workspace.exists() && order.scratch.parent() == order.workspace.parent());
    });
}

#[test]
fn a_copy_is_of_what_the_operator_names() {
    block_on(async {
        let copy = CopyOf { folder: PathBuf::from("/files"), list: PathBuf::from("/list") };
        let order = ordered(Ground::CopyOf(copy.clone()), "print x").await;
        assert_eq!((order.checkout, order.copy), (None, Some(copy)));
        assert!(!order.workspace.exists());
    });
}

#[test]
fn in_place_nothing_is_removed_but_what_we_made() {
    block_on(async {
        let own = tempfile::tempdir().expect("a folder");
        fs::write(own.path().join("kept"), "").expect("a file");
        let order = ordered(Ground::InPlace(own.path().into()), "sh touch made").await;
        assert_eq!(order.workspace, own.path());
        assert_eq!((order.checkout, order.copy), (None, None));
        assert!(own.path().join("kept").exists() && own.path().join("made").exists());
        assert!(!order.scratch.starts_with(own.path()) && !order.scratch.exists());
    });
}
