//! The doctor beside a server at work: whatever it reads, it reads as of one moment, so it finds nothing.

use std::sync::atomic::{AtomicBool, Ordering};

use decisions::Policy;

use crate::script::{self, block_on};
use crate::stores::{InDatabase, InFile, Place};
use crate::world::World;

/// Runs that live while the doctor looks.
const LIVES: usize = 20;

/// A run with a retry, a commit and a job that somebody cancels, and one that is cancelled with a job at work.
fn life(number: usize) -> String {
    format!(
        "
        - run R{number} a b:optional c:needs=a+b group=main
        - grant A{number} x R{number}/a
        - ack A{number}
        - log A{number} 0 what it prints
        - complete A{number} fail connection reset by peer
        - grant B{number} x R{number}/a
        + grant C{number} y R{number}/b
        - ack B{number}
        - ack C{number}
        - heartbeat C{number}
        - commit B{number}
        + complete C{number} fail
        - complete B{number} ok
        - tick
        - cancel R{number}/c
        - tick
        - run S{number} a b:needs=a
        - grant D{number} x S{number}/a
        - ack D{number}
        - cancel S{number}
        - heartbeat D{number}
        - cancel-ack D{number}
        - tick
        - state S{number} -> CANCELED
    "
    )
}

async fn the_doctor_finds_nothing_on<P: Place>(place: &P) {
    let mut world = World::begin(place.open().await, Policy::default()).await;
    script::run(&mut world, place, "- webhook ci run.finished job.finished ordered=yes").await;
    let store = world.store.clone();
    let at_work = AtomicBool::new(true);
    let work = async {
        for number in 0..LIVES {
            script::run(&mut world, place, &life(number)).await;
        }
        at_work.store(false, Ordering::SeqCst);
    };
    let look = async {
        while at_work.load(Ordering::SeqCst) {
            let report = server::doctor::examine(&*store, |_| ()).await.unwrap();
            assert!(report.findings.is_empty(), "{}: {:#?}", P::NAME, report.findings);
        }
    };
    tokio::join!(look, work);
    let report = server::doctor::examine(&*store, |_| ()).await.unwrap();
    assert_eq!((report.findings.len(), report.runs), (0, 2 * LIVES as u64), "{}", P::NAME);
}

#[test]
fn beside_commits_to_a_file_it_finds_nothing() {
    block_on(the_doctor_finds_nothing_on(&InFile::new()));
}

#[test]
fn beside_commits_to_postgresql_it_finds_nothing() {
    block_on(the_doctor_finds_nothing_on(&InDatabase::new()));
}
