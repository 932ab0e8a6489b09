//! A lease id is a capability: it travels in messages and is seen nowhere else.

use std::fmt::Display;
use std::marker::PhantomData;

use wire::{CancelToken, ExecId, LeaseHash, LeaseId, LeaseKey, RunId, TokenSecret};

use crate::samples::all;

const SECRET: &str = "lease_abc";

fn minted(execution: u128, byte: u8) -> LeaseId {
    LeaseId::minted(ExecId::from_u128(execution), [byte; 32])
}

#[test]
fn a_lease_id_prints_nothing_of_itself() {
    for lease in [minted(7, 0xa5), LeaseId::from(SECRET.to_owned())] {
        for shown in [format!("{lease:?}"), format!("{lease:#?}"), format!("{:?}", Some(&lease))] {
            assert!(!shown.contains(lease.expose()) && !shown.contains("a5a5"), "{shown}");
            assert!(shown.contains("hidden"), "{shown}");
        }
        let key = format!("{:?}", lease.key());
        assert!(!key.contains(lease.expose()) && !key.contains("a5a5"), "{key}");
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

/// Whatever is wrong with it: a lease id of another type, another field that is wrong, one that is said twice.
#[test]
fn a_refused_message_does_not_quote_its_lease_id() {
    for sample in all() {
        let value = sample.value();
        if value.get("lease_id").is_none() {
            continue;
        }
        let text = value.to_string();
        let mut refused =
            vec![format!("{{\"lease_id\":\"{SECRET}\",{}", &text[1..]), text.replace('}', ",}")];
        for wrong in [serde_json::json!([SECRET]), serde_json::json!({ SECRET: 1 })] {
            let mut value = value.clone();
            value["lease_id"] = wrong;
            refused.push(value.to_string());
        }
        for field in
            sample.required.iter().filter(|field| !field.contains(['.', '[']) && **field != "lease_id")
        {
            let mut value = value.clone();
            value[field] = serde_json::json!({});
            refused.push(value.to_string());
        }
        for message in refused {
            let bad = (sample.reread)(message.as_bytes()).expect_err(&message);
            assert!(!bad.to_string().contains(SECRET), "{bad}");
        }
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
fn a_secret_has_no_display() {
    assert!(!Probe::<LeaseId>(PhantomData).has_display());
    assert!(!Probe::<LeaseHash>(PhantomData).has_display());
    assert!(!Probe::<CancelToken>(PhantomData).has_display());
    assert!(!Probe::<TokenSecret>(PhantomData).has_display());
    assert!(Probe::<RunId>(PhantomData).has_display(), "the probe sees a Display that is there");
}

#[test]
fn a_lease_id_is_known_again_by_its_key() {
    let lease = minted(7, 1);
    let sent = serde_json::to_string(&lease).unwrap();
    let received: LeaseId = serde_json::from_str(&sent).unwrap();
    assert_eq!(received.key(), lease.key());
    assert_eq!(lease.key(), LeaseKey { execution: ExecId::from_u128(7), hash: lease.hash() });
    assert_ne!(minted(7, 2).hash(), lease.hash(), "other bits, another proof");
    assert_ne!(minted(8, 1).hash(), lease.hash(), "the same bits of another execution prove nothing");
    assert_eq!(LeaseHash::from_bytes(*lease.hash().as_bytes()), lease.hash());
}

#[test]
fn a_minted_lease_id_names_its_execution_and_holds_256_bits() {
    let execution = ExecId::from_u128(u128::MAX);
    let letters = &execution.to_string()["exec_".len()..];
    assert_eq!(
        LeaseId::minted(execution, [0xa5; 32]).expose(),
        format!("lease_{letters}_{}", "a5".repeat(32))
    );
}

/// Anybody may send any text: it leads nowhere, and never to a panic.
#[test]
fn a_text_that_we_did_not_mint_names_no_execution() {
    let letters = "0".repeat(26);
    let texts = [
        String::new(),
        "lease_".into(),
        SECRET.into(),
        "lease__".into(),
        format!("lease_{letters}"),
        format!("exec_{letters}_aa"),
        format!("lease_{}_aa", "é".repeat(13)),
        format!("lease_8{}_aa", "z".repeat(25)),
        format!("lease_{}_aa", "Z".repeat(26)),
        "lease_\0_\0".into(),
    ];
    for text in texts {
        assert_eq!(LeaseId::from(text.clone()).key().execution, ExecId::FIRST, "{text:?}");
    }
}

#[test]
fn a_hash_shows_too_little_to_look_it_up() {
    let hash = minted(7, 7).hash();
    let whole: String = hash.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let shown = format!("{hash:?}");
    assert!(shown.contains(&whole[..8]) && !shown.contains(&whole[..10]), "{shown}");
}
