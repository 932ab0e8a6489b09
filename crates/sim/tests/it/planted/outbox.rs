//! Mistakes with deliveries.

use decisions::deliveries::{DeliveryDelivered, DeliveryFailed};
use decisions::draft::Stated;
use decisions::{Command, decide};
use machines::delivery;
use sim::models::outbox::names;

use super::{LOST_SAVE, NO_CONFLICT_CHECK, deciding, found, spoilt};
use crate::outbox::one_message;

#[test]
fn a_result_is_taken_whichever_claim_it_is_of() {
    let parts = deciding(|book, command, now, policy| {
        let claim = book.deliveries.peek_all().next().map_or(0, |it| it.claims);
        match command {
            Command::DeliveryDelivered(it) => {
                decide(book, &DeliveryDelivered { claim, ..it.clone() }.into(), now, policy)
            }
            Command::DeliveryFailed(it) => {
                decide(book, &DeliveryFailed { claim, ..it.clone() }.into(), now, policy)
            }
            _ => decide(book, command, now, policy),
        }
    });
    found("a claim that is not fenced by its number", one_message(), parts, names::LATE);
}

#[test]
fn tries_are_not_counted() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| {
            changes.deliveries.values_mut().for_each(|it| it.tries = 0);
        })
    });
    found("tries without end", one_message(), parts, names::BOUNDED);
}

#[test]
fn a_claim_that_runs_out_counts_as_delivered() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| {
            if matches!(command, Command::DeliveryDue(_)) {
                let delivered = Stated::stored(delivery::State::Delivered);
                changes.deliveries.values_mut().for_each(|it| it.state = delivered);
            }
        })
    });
    found("delivered without arriving", one_message(), parts, names::AT_LEAST_ONCE);
}

#[test]
fn two_workers_claim_at_once() {
    found("no conflict check on a claim", one_message(), NO_CONFLICT_CHECK, names::ONE_CLAIM);
}

#[test]
fn a_claim_is_acknowledged_and_never_saved() {
    found("lost save of a claim", one_message(), LOST_SAVE, names::ONE_CLAIM);
}

#[test]
fn a_run_is_never_reported() {
    let parts = deciding(|book, command, now, policy| {
        spoilt((book, command, now, policy), |_, changes| changes.runs.clear())
    });
    found("a report that is not counted", one_message(), parts, names::REPORTED);
}
