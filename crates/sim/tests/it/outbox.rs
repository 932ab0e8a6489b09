//! One message, two workers, two servers.

use sim::models::outbox::Outbox;

use crate::worlds;

pub fn one_message() -> Outbox {
    Outbox { workers: 2, servers: 2, redrives: 1, policy: Outbox::policy() }
}

#[test]
fn one_message_two_workers_and_two_servers_in_every_order() {
    assert_eq!(worlds(one_message()), 130_688);
}
