//! A lease id is a capability: it travels in messages and is seen nowhere else.

use std::fmt::Display;
use std::marker::PhantomData;

use wire::{LeaseHash, LeaseId, RunId};

use crate::samples::all;

const SECRET: &str = "lease_abc";

#[test]
fn a_lease_id_prints_nothing_of_itself() {
    let minted = LeaseId::minted(std::array::from_fn(|index| index as u8));
    for lease in [minted, LeaseId::from(SECRET.to_owned())] {
        for shown in [format!("{lease:?}"), format!("{lease:#?}"), format!("{:?}", Some(&lease))] {
            assert!(!shown.contains(lease.expose()), "{shown}");
            assert!(shown.contains("hidden"), "{shown}");
        }
    }
}

#[test]
fn no_message_prints_the_lease_id_it_holds() {
    let mut holders = 0;
    for sample in all() {
        let shown = (sample.shown)(sample.json.as_bytes());
        assert!(!shown.contains(SECRET), "{}: {shown}", sample.name);
        holders += usize::from(sample.json.contains(SECRET));
    }
    assert_eq!(holders, 14, "every message but CommitAck and LeaseRequest holds a lease id");
}

/// The specification: runners must not log or expose `lease_id` or `cancel_token`.
#[test]
fn no_message_prints_its_cancel_token() {
    for sample in all() {
        let shown = (sample.shown)(sample.json.as_bytes());
        assert!(!shown.contains("cancel_tok_optional"), "{}: {shown}", sample.name);
    }
}

#[test]
fn a_refused_message_does_not_quote_its_lease_id() {
    for sample in all() {
        let mut value = sample.value();
        if value.get("lease_id").is_none() {
            continue;
        }
        value["lease_id"] = serde_json::json!([SECRET]);
        let bad = sample.reread_value(&value).unwrap_err();
        assert!(!bad.to_string().contains(SECRET), "{bad}");
    }
}

/// Finds a `Display` where there is one: a method of the type itself goes before one of a trait.
struct Probe<T>(PhantomData<T>);

impl<T: Display> Probe<T> {
    fn has_display(&self) -> bool {
        true
    }
}

trait WithoutDisplay {
    fn has_display(&self) -> bool {
        false
    }
}

impl<T> WithoutDisplay for Probe<T> {}

#[test]
fn a_lease_id_has_no_display() {
    assert!(!Probe::<LeaseId>(PhantomData).has_display());
    assert!(!Probe::<LeaseHash>(PhantomData).has_display());
    assert!(Probe::<RunId>(PhantomData).has_display(), "the probe sees a Display that is there");
}

#[test]
fn a_lease_id_is_known_again_by_its_hash() {
    let lease = LeaseId::minted([7; 32]);
    let sent = serde_json::to_string(&lease).unwrap();
    let received: LeaseId = serde_json::from_str(&sent).unwrap();
    assert_eq!(received.hash(), lease.hash());
    assert_ne!(LeaseId::minted([8; 32]).hash(), lease.hash());
    assert_eq!(LeaseHash::from_bytes(*lease.hash().as_bytes()), lease.hash());
}

#[test]
fn a_minted_lease_id_holds_all_256_bits() {
    let lease = LeaseId::minted([0xa5; 32]);
    assert_eq!(lease.expose(), format!("lease_{}", "a5".repeat(32)));
}

#[test]
fn a_hash_shows_too_little_to_look_it_up() {
    let hash = LeaseId::minted([7; 32]).hash();
    let whole: String = hash.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let shown = format!("{hash:?}");
    assert!(shown.contains(&whole[..8]) && !shown.contains(&whole[..10]), "{shown}");
}
