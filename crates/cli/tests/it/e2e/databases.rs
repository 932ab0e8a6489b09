//! Two servers on one PostgreSQL.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::e2e::crashes::{each_ended_once, run_of, until_succeeded};
use crate::e2e::patience::until_so;
use crate::e2e::secrets::Places;
use crate::e2e::site::{LONG, Site};
use crate::e2e::worker::Worker;

/// A database of its own, on the server that the tests are given.
pub fn database() -> String {
    let server = std::env::var("DELTACI_TEST_POSTGRES")
        .expect("DELTACI_TEST_POSTGRES names no server: run the tests with `cargo xtask test`");
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("e2e_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let made = Command::new(program("psql"))
        .args(["--no-psqlrc", "--quiet", "--command", &format!("CREATE DATABASE {name}"), &server])
        .output()
        .expect("psql can be run");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let (address, options) = server.split_once('?').unwrap_or((&server, ""));
    let (before, _) = address.rsplit_once('/').expect("the server is given as a URL with a database");
    format!("{before}/{name}?{options}")
}

/// The newest that Debian keeps, whose program on PATH is a slow wrapper; else what is on PATH.
fn program(name: &str) -> PathBuf {
    let kept = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let programs =
        kept.map(|version| version.path().join("bin").join(name)).filter(|program| program.is_file());
    programs.max().unwrap_or_else(|| name.into())
}

#[test]
fn two_servers_on_one_database_end_each_of_forty_jobs_once_though_one_is_killed() {
    let database = database();
    let first = Site::start(&["--database", &database]);
    let mut second = Site::start(&["--database", &database]);
    let run = run_of(&first, 40, |_| 0.3);
    let survivor = Worker::start(&first, "first", &["--slots", "3"]);
    let bereft = Worker::start(&second, "second", &["--slots", "3"]);
    // The second server hears of jobs made on the first within a second.
    until_so("both servers hand out work", || !bereft.proxy.leases().is_empty());
    until_succeeded(&first, &run, 12);
    second.server.kill();
    let run = until_succeeded(&first, &run, 40);
    each_ended_once(&first, &run);
    let dump = Command::new(program("pg_dump")).arg(&database).output().expect("pg_dump can be run");
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
    let mut secrets = vec![first.runner_token.clone(), second.runner_token.clone()];
    secrets.extend([survivor, bereft].iter().flat_map(|worker| worker.proxy.leases()));
    Places::only("the dump", dump.stdout).hold_none_of(&secrets);
}

#[test]
fn a_runner_whose_server_dies_goes_on_with_the_other() {
    let database = database();
    let flags = [&["--database", database.as_str()], &LONG[..]].concat();
    let first = Site::start(&flags);
    let mut second = Site::start(&flags);
    second.submit("steady", &first.noted("steady", &first.waits_for("go")));
    let _worker = Worker::start(&second, "moved", &[]);
    first.until_noted("begin steady");
    second.server.kill();
    *second.upstream.lock().unwrap() = first.address(); // as a load balancer would
    first.touch("go");
    first.ran_once("steady");
    first.submit("next", &first.noted("next", "true"));
    first.ran_once("next");
    first.is_healthy();
}
