//! What a start finds of the time: the anchor that was kept, and how far the records come. PostgreSQL has a clock instead.

use std::time::Duration;

use store::{Anchor, Kept, Postgres, Store, Timekeeping};
use wire::Time;

use crate::commands::{START, ack, complete, lease, submit};
use crate::desk::Desk;
use crate::stores::{on_stores, postgres};

on_stores!(memory, sqlite => [
    nothing_is_kept_at_first,
    an_anchor_is_kept_until_another_takes_its_place,
    of_two_that_start_at_once_the_first_decides,
    the_last_event_and_the_last_end_of_a_lease_are_found,
]);

async fn kept<S: Store>(desk: &Desk<S>) -> Kept {
    match desk.store.timekeeping().await.unwrap() {
        Timekeeping::Process(kept) => kept,
        Timekeeping::Database { now } => panic!("a clock of its own, at {now}"),
    }
}

fn anchor(boot: &str, leases_end_after: Option<Time>) -> Anchor {
    Anchor { boot: boot.into(), epoch: Time::from_micros(-7), leases_end_after }
}

async fn nothing_is_kept_at_first<S: Store>(desk: Desk<S>) {
    assert_eq!(kept(&desk).await, Kept::default());
}

async fn an_anchor_is_kept_until_another_takes_its_place<S: Store>(desk: Desk<S>) {
    let (first, second) = (anchor("first", None), anchor("second", Some(START)));
    assert_eq!(desk.store.keep_anchor(None, &first).await, Ok(first.clone()));
    assert_eq!(kept(&desk).await.anchor.as_ref(), Some(&first));
    assert_eq!(desk.store.keep_anchor(Some(&first), &second).await, Ok(second.clone()));
    assert_eq!(kept(&desk).await.anchor, Some(second));
    // Whoever decides goes on; at the most, what was written beside is once taken for another process's.
    let _ = desk.perform([submit(1)]).await;
    desk.open().await;
}

async fn of_two_that_start_at_once_the_first_decides<S: Store>(desk: Desk<S>) {
    let (first, second, third) = (anchor("first", None), anchor("second", None), anchor("third", None));
    desk.store.keep_anchor(None, &first).await.unwrap();
    assert_eq!(desk.store.keep_anchor(None, &second).await, Ok(first.clone()));
    desk.store.keep_anchor(Some(&first), &second).await.unwrap();
    assert_eq!(desk.store.keep_anchor(Some(&first), &third).await, Ok(second));
}

async fn the_last_event_and_the_last_end_of_a_lease_are_found<S: Store>(desk: Desk<S>) {
    let desk = desk.open().await;
    let (early, late) = (lease(1), lease(2));
    desk.must_all([submit(1), submit(2)]).await;
    for lease in [&early, &late] {
        desk.pass(Duration::from_secs(10));
        desk.must(lease.clone()).await;
        desk.must(ack(lease)).await;
    }
    let granted = desk.now();
    let found = kept(&desk).await;
    assert_eq!(found.latest, Some(granted));
    assert_eq!(found.leases_until, Some(granted.plus(desk.policy.lease_ttl)));
    desk.pass(Duration::from_secs(10));
    desk.must_all([&early, &late].map(complete)).await;
    let found = kept(&desk).await;
    assert_eq!((found.latest, found.leases_until), (Some(desk.now()), None));
}

#[test]
fn a_database_that_servers_share_has_a_clock_of_its_own() {
    postgres(async |desk: Desk<Postgres>| {
        let now = async || match desk.store.timekeeping().await.unwrap() {
            Timekeeping::Database { now } => now,
            Timekeeping::Process(kept) => panic!("{kept:?} of a process"),
        };
        let (first, loaded, second) = (now().await, desk.load(&[]).await.now, now().await);
        assert!(first <= loaded && loaded <= second, "{first} {loaded} {second}");
    });
}
