//! Everything at once: while sixty jobs run, servers and runners are killed, frozen and cut off, one after the other.

use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use crate::e2e::crashes::{each_ended_once, run_of, until_succeeded};
use crate::e2e::site::Site;
use crate::e2e::worker::Worker;

/// Longer than the lease: what is frozen or cut off loses its jobs.
const AWAY: Duration = Duration::from_secs(4);

const NAMES: [&str; 3] = ["a", "b", "c"];

fn hired(site: &Site, name: &str) -> Worker {
    Worker::start(site, name, &["--slots", "2"])
}

#[test]
fn whatever_is_killed_frozen_or_cut_off_every_job_ends_exactly_once() {
    let mut site = Site::start(&[]);
    // Some take longer than the lease: they would be seen running twice, if anything let them.
    let run = run_of(&site, 60, |number| if number % 10 == 3 { 5.0 } else { 0.4 });
    let mut workers = NAMES.map(|name| hired(&site, name));
    for round in 0..3 {
        let [first, second, third] = [0, 1, 2].map(|place| (round + place) % NAMES.len());
        until_succeeded(&site, &run, 2 + round * 12);
        workers[first].program.signal(Signal::STOP);
        workers[second].proxy.cut();
        workers[third].program.kill();
        site.server.kill();
        site.restart();
        workers[third] = hired(&site, NAMES[third]);
        sleep(AWAY);
        site.server.signal(Signal::STOP);
        workers[first].program.signal(Signal::CONT);
        workers[second].proxy.heal();
        sleep(Duration::from_millis(500));
        site.server.signal(Signal::CONT);
    }
    let before = until_succeeded(&site, &run, 0);
    assert!(before["jobs_open"].as_u64() > Some(0), "it was over before the trouble was: {before:#}");
    let run = until_succeeded(&site, &run, 60);
    each_ended_once(&site, &run);
    assert!(workers.iter_mut().all(|worker| !worker.program.has_ended()), "every runner is still at work");
}
