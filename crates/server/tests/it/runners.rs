//! Whose a runner is: a tenant's own, or shared by all. The same name in two scopes is two runners.

use std::time::Duration;

use decisions::Policy;
use decisions::records::Runner;
use store::Store;
use wire::TenantId;

use crate::script::{block_on, check, check_timeless};
use crate::stores::{InFile, InMemory, Place};
use crate::words::Words;
use crate::world::World;

#[test]
fn a_runner_of_a_tenant_gets_its_jobs_and_no_others() {
    check_timeless(
        "
        -    submit J
        -    grant L a J scope=other       -> refused job_not_found
        -    grant L a scope=other         -> nothing
        -    grant L a scope=own           -> GRANTED J 1
        -    ack L                         -> ACTIVE
        -    complete L ok                 -> COMPLETED
    ",
    );
}

#[test]
fn a_shared_runner_serves_whoever_asks() {
    check_timeless(
        "
        -    submit J
        -    grant L a J                   -> GRANTED J 1
        -    ack L                         -> ACTIVE
        -    complete L ok                 -> COMPLETED
    ",
    );
}

#[test]
fn a_bar_on_a_shared_runner_does_not_touch_a_tenants_own_of_the_same_name() {
    check(
        "
        0s    submit J
        0s    grant L1 a        -> GRANTED
        30s   tick
        30s   grant L2 a        -> GRANTED
        60s   tick
        60s   grant L3 a        -> GRANTED
        90s   tick
        90s   restart
        90s   grant L4 a        -> barred
        90s   grant L5 a scope=own -> GRANTED
        # Read anew, the lease leads to the tenant's own.
        90s   restart
        90s   ack L5            -> ACTIVE
    ",
    );
}

#[test]
fn a_kept_word_forgives_only_who_kept_it() {
    check(
        "
        0s    submit J
        0s    grant L1 a            -> GRANTED
        30s   tick
        30s   grant L2 a            -> GRANTED
        60s   tick
        # The tenant's own keeps its word; the shared one has two misses still.
        60s   grant L3 a scope=own  -> GRANTED
        60s   ack L3                -> ACTIVE
        60s   complete L3 ok
        60s   submit K
        60s   grant L4 a            -> GRANTED K 1
        90s   tick
        90s   grant L5 a            -> barred
    ",
    );
}

async fn says<S: Store>(world: &mut World<S>, verb: &str, words: &str) -> String {
    let words = Words::split(words, ' ');
    let command = world.command(verb, &words).await.unwrap();
    let answer = world.perform_one(command).await;
    world.answered(&words, answer).await.unwrap()
}

async fn runner_of<S: Store>(world: &World<S>, tenant: Option<TenantId>) -> Option<Runner> {
    world.store.runners_of(tenant, None, 10).await.unwrap().pop()
}

/// Two tenants on one server, each with a runner that calls itself `a`.
async fn two_tenants<P: Place>(place: P) {
    let store = place.open().await;
    let mut one = World::begin_as(store.clone(), Policy::default(), 1).await;
    let mut two = World::begin_as(store, Policy::default(), 2).await;
    assert_eq!(says(&mut one, "submit", "J").await, "PENDING");
    assert_eq!(says(&mut two, "submit", "K").await, "PENDING");
    for miss in 0..3 {
        assert_eq!(says(&mut one, "grant", &format!("L{miss} a scope=own")).await, "GRANTED J 1", "{miss}");
        one.now = one.now.plus(Duration::from_secs(30));
        one.tick().await;
    }
    two.now = one.now;
    assert_eq!(says(&mut one, "grant", "L a scope=own").await, "barred 60s");
    assert_eq!(says(&mut two, "grant", "L a scope=own can=os:linux").await, "GRANTED K 1");
    assert_eq!(says(&mut two, "ack", "L").await, "ACTIVE");
    let (first, second) = (runner_of(&one, Some(one.tenant)).await, runner_of(&two, Some(two.tenant)).await);
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first.key.id, second.key.id);
    assert!(first.barred_until.is_some() && second.barred_until.is_none());
    assert_eq!((first.capabilities, second.capabilities), (vec![], vec!["os:linux".to_owned()]));
    assert_eq!(runner_of(&one, None).await, None, "nobody is shared");
    // One tenant's job is not even there for the other's runner, named or searched for.
    let of_one = one.job_named("J").unwrap();
    two.names.insert("J".into(), crate::world::Named::Job(of_one));
    assert_eq!(says(&mut two, "grant", "M b J scope=own").await, "refused job_not_found");
    assert_eq!(says(&mut two, "grant", "N b scope=own").await, "nothing");
}

#[test]
fn the_same_name_in_two_tenants_is_two_runners() {
    block_on(async {
        two_tenants(InMemory::default()).await;
        two_tenants(InFile::new()).await;
    });
}
