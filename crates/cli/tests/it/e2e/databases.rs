//! Two servers on one PostgreSQL.

use std::path::PathBuf;
use std::process::Command;

use crate::e2e::crashes::{each_ended_once, run_of, until_succeeded};
use crate::e2e::site::Site;
use crate::e2e::worker::Worker;

/// A database of its own, on the server that the tests are given.
fn database() -> String {
    let server = std::env::var("DELTACI_TEST_POSTGRES")
        .expect("DELTACI_TEST_POSTGRES names no server: run the tests with `cargo xtask test`");
    let name = format!("e2e_{}", std::process::id());
    let made = Command::new(psql())
        .args(["--no-psqlrc", "--quiet", "--command", &format!("CREATE DATABASE {name}"), &server])
        .output()
        .expect("psql can be run");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let (address, options) = server.split_once('?').unwrap_or((&server, ""));
    let (before, _) = address.rsplit_once('/').expect("the server is given as a URL with a database");
    format!("{before}/{name}?{options}")
}

/// The newest that Debian keeps, whose program on PATH is a slow wrapper; else what is on PATH.
fn psql() -> PathBuf {
    let kept = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let programs = kept.map(|version| version.path().join("bin/psql")).filter(|program| program.is_file());
    programs.max().unwrap_or_else(|| "psql".into())
}

#[test]
fn two_servers_on_one_database_end_each_of_forty_jobs_once_though_one_is_killed() {
    let database = database();
    let first = Site::start(&["--database", &database]);
    let mut second = Site::start(&["--database", &database]);
    let run = run_of(&first, 40);
    let _survivor = Worker::start(&first, "first", &["--slots", "3"]);
    let bereft = Worker::start(&second, "second", &["--slots", "3"]);
    until_succeeded(&first, &run, 12);
    assert!(!bereft.proxy.leases().is_empty(), "both servers hand out work");
    second.server.kill();
    let run = until_succeeded(&first, &run, 40);
    each_ended_once(&first, &run);
}
