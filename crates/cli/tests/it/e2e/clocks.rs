//! Wall clocks that are set while a server works, and between two starts of it: no lease ends early, none lives on.

use serde_json::Value;
use store::{Anchor, Kept, Sqlite, Store, Timekeeping};

use crate::e2e::crashes::hangs_once;
use crate::e2e::patience::until_so;
use crate::e2e::site::{LONG, Site};
use crate::e2e::views::lease_states;
use crate::e2e::worker::Worker;

const HOUR: i64 = 3_600;

/// The runner's heartbeats are answered well, often enough that ticks have looked at its lease meanwhile; and nobody else has
/// begun with its job.
#[track_caller]
fn until_renewed(site: &Site, worker: &Worker, job: &str) {
    let renewed = || worker.proxy.seen("heartbeat").iter().filter(|beat| beat.status() == Some(200)).count();
    let before = renewed();
    until_so("the lease is renewed again and again", || {
        assert_eq!(site.noted_lines(&format!("begin {job}")), 1, "{job} runs a second time");
        renewed() >= before + 4
    });
}

#[test]
fn a_wall_clock_that_is_set_between_two_starts_ends_no_lease() {
    for ahead in [HOUR, -HOUR] {
        let mut site = Site::with_wall(&LONG);
        site.submit("steady", &site.noted("steady", &site.waits_for("go")));
        let first = Worker::start(&site, "first", &[]);
        site.until_noted("begin steady");
        let _second = Worker::start(&site, "second", &[]); // it would take the job
        site.server.kill();
        site.set_wall(ahead);
        site.restart();
        until_renewed(&site, &first, "steady");
        site.touch("go");
        site.ran_once("steady");
        assert_eq!(lease_states(&site.job("steady")), ["COMPLETED"]);
        assert!(site.server.log().contains("the wall clock shows another time"), "{}", site.server.log());
        site.is_healthy();
    }
}

#[test]
fn a_dead_runners_job_runs_again_after_its_lease_though_the_wall_clock_was_set_back() {
    let mut site = Site::with_wall(&[]);
    site.submit("hung", &hangs_once(&site, "hung"));
    let mut first = Worker::start(&site, "first", &[]);
    site.until_noted("begin hung");
    site.server.kill();
    first.program.kill();
    site.set_wall(-HOUR);
    site.restart();
    let _second = Worker::start(&site, "second", &[]);
    site.ran_again("hung");
    assert_eq!(lease_states(&site.job("hung")), ["EXPIRED", "COMPLETED"]);
    // As the records have it, too, no hour lies between the two.
    let times: Vec<i64> = site.events("default", Some("hung")).iter().map(micros).collect();
    assert!(times.is_sorted() && times[times.len() - 1] - times[0] < HOUR * 1_000_000, "{times:?}");
    site.is_healthy();
}

fn micros(event: &Value) -> i64 {
    let at: wire::Time = serde_json::from_value(event["at"].clone()).expect("a time");
    at.as_micros()
}

#[test]
fn a_wall_clock_that_is_set_while_a_server_works_moves_nothing() {
    let site = Site::with_wall(&LONG);
    site.submit("steady", &site.noted("steady", &site.waits_for("go")));
    let worker = Worker::start(&site, "first", &[]);
    site.until_noted("begin steady");
    for ahead in [24 * HOUR, -24 * HOUR] {
        site.set_wall(ahead);
        until_renewed(&site, &worker, "steady");
    }
    site.touch("go");
    site.ran_once("steady");
    site.is_healthy();
}

/// As if the machine had been started anew in between: the anchor is one of another boot.
fn forget_boot(site: &Site) {
    let store = Sqlite::open(&site.path("data").join("deltaci.db")).expect("the server is gone");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let Ok(Timekeeping::Process(Kept { anchor: Some(found), .. })) = store.timekeeping().await else {
            panic!("the first start has kept its time");
        };
        let another = Anchor { boot: "another".into(), ..found.clone() };
        assert_eq!(store.keep_anchor(Some(&found), &another).await.as_ref(), Ok(&another));
    });
}

/// The runner does not hear that its lease is over, and works on for as long as it was promised.
#[test]
fn after_another_boot_a_lease_ends_when_its_runner_has_stopped_though_the_wall_clock_is_ahead() {
    let mut site = Site::with_wall(&["--lease-ttl", "5s"]);
    site.submit("hung", &hangs_once(&site, "hung"));
    let first = Worker::start(&site, "first", &[]);
    site.until_noted("begin hung");
    until_renewed(&site, &first, "hung");
    first.proxy.cut();
    site.server.kill();
    forget_boot(&site);
    site.set_wall(HOUR);
    site.restart();
    let _second = Worker::start(&site, "second", &[]);
    site.ran_again("hung");
    assert_eq!(lease_states(&site.job("hung")), ["EXPIRED", "COMPLETED"]);
    site.is_healthy();
}
