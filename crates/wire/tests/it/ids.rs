//! Ids: texts that name what they identify and sort by birth.

use wire::{
    BlobId, CacheId, CollectionId, ExecId, JobId, MessageId, RunId, RunnerId, TenantId, Time, TokenId,
    UploadId, VersionId,
};

const MOMENT: Time = Time::from_seconds(1_767_513_600);

/// Bytes that look random and are the same in every run.
fn scrambled(seed: u64) -> [u8; 8] {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    std::array::from_fn(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
}

macro_rules! check_each {
    ($check:ident) => {
        $check!(TenantId, "ten", "a tenant");
        $check!(RunId, "run", "a run");
        $check!(JobId, "job", "a job");
        $check!(ExecId, "exec", "an execution");
        $check!(MessageId, "msg", "a message");
        $check!(TokenId, "tok", "a token");
        $check!(UploadId, "upl", "an upload");
        $check!(BlobId, "blob", "a blob");
        $check!(VersionId, "ver", "a version");
        $check!(CacheId, "cache", "a cache");
        $check!(CollectionId, "gc", "a collection");
    };
}

#[test]
fn an_id_is_its_prefix_and_26_letters_and_reads_back() {
    macro_rules! check {
        ($id:ident, $prefix:literal, $kind:literal) => {
            for seed in 0..200 {
                let id = $id::minted(MOMENT, scrambled(seed));
                let text = id.to_string();
                assert_eq!(text.len(), $prefix.len() + 27);
                assert!(text.starts_with(concat!($prefix, "_")), "{text}");
                assert_eq!(text.parse::<$id>(), Ok(id));
                assert_eq!(id.text().as_str(), text);
                assert_eq!(format!("{id:?}"), text);
                assert_eq!($id::from_u128(id.as_u128()), id);
                assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"{text}\""));
                assert_eq!(serde_json::from_str::<$id>(&format!("\"{text}\"")).unwrap(), id);
            }
        };
    }
    check_each!(check);
}

#[test]
fn the_whole_range_reads_back() {
    for bits in [0, 1, u128::MAX, u128::MAX - 1, 1 << 127, (1 << 127) - 1, u128::from(u64::MAX)] {
        let id = JobId::from_u128(bits);
        assert_eq!(id.to_string().parse::<JobId>(), Ok(id));
    }
    assert_eq!(JobId::FIRST.to_string(), "job_00000000000000000000000000");
    assert_eq!(JobId::from_u128(u128::MAX).to_string(), "job_7zzzzzzzzzzzzzzzzzzzzzzzzz");
}

#[test]
fn an_id_knows_when_it_was_born_to_the_millisecond() {
    let moment = Time::from_micros(1_700_000_000_123_456);
    assert_eq!(RunId::minted(moment, [0xff; 8]).born(), Time::from_micros(1_700_000_000_123_000));
    assert_eq!(RunId::FIRST.born(), Time::from_micros(0));
}

#[test]
fn ids_sort_by_birth_as_values_and_as_texts() {
    macro_rules! check {
        ($id:ident, $prefix:literal, $kind:literal) => {
            let born: Vec<$id> =
                (0..2_500i64) // each microsecond of more than two milliseconds
                    .map(|step| {
                        $id::minted(Time::from_micros(MOMENT.as_micros() + step), scrambled(step as u64))
                    })
                    .collect();
            assert!(born.is_sorted(), "values");
            let texts: Vec<String> = born.iter().map(|id| id.to_string()).collect();
            assert!(texts.is_sorted(), "texts");
            assert!(born.iter().all(|id| *id > $id::FIRST));
        };
    }
    check_each!(check);
}

#[test]
fn an_older_id_sorts_first_whatever_its_random_bits() {
    let day = 86_400;
    for (earlier, later) in [(0, 1), (1, day), (day, 365 * day), (365 * day, 8_000 * 365 * day)] {
        let old = RunId::minted(Time::from_seconds(earlier), [0xff; 8]);
        let new = RunId::minted(Time::from_seconds(later), [0x00; 8]);
        assert!(old < new && old.to_string() < new.to_string(), "{earlier} {later}");
    }
}

#[test]
fn a_time_before_the_epoch_still_makes_an_id() {
    let id = RunId::minted(Time::from_seconds(-5), [7; 8]);
    assert_eq!(id.to_string().parse::<RunId>(), Ok(id));
    assert!(id > RunId::FIRST);
}

#[test]
fn a_text_that_is_no_such_id_is_refused_with_what_was_expected() {
    macro_rules! check {
        ($id:ident, $prefix:literal, $kind:literal) => {
            let right = $id::minted(MOMENT, [9; 8]).to_string();
            let letters = &right[$prefix.len() + 1..];
            let wrong = [
                String::new(),
                $prefix.into(),
                letters.into(),
                format!("{}{letters}", $prefix),
                format!("{}-{letters}", $prefix),
                format!("other_{letters}"),
                format!("{}_{letters}", $prefix.to_uppercase()),
                format!("{}_{}", $prefix, letters.to_uppercase()),
                format!("{}_{}", $prefix, &letters[1..]),
                format!("{right}0"),
                format!(" {right}"),
                format!("{right}\n"),
                format!("{}_8{}", $prefix, &letters[1..]),
                format!("{}_{}", $prefix, "é".repeat(13)),
            ];
            for text in wrong {
                let bad = text.parse::<$id>().expect_err(&text);
                assert_eq!((bad.kind, bad.prefix), ($kind, $prefix));
                assert_eq!(
                    bad.to_string(),
                    concat!("not ", $kind, " id: expected `", $prefix, "_` and 26 letters")
                );
                assert!(serde_json::from_value::<$id>(text.clone().into()).is_err(), "{text}");
            }
            assert!(serde_json::from_value::<$id>(7.into()).is_err());
        };
    }
    check_each!(check);
}

#[test]
fn no_letter_beyond_the_alphabet_is_taken() {
    let right = JobId::minted(MOMENT, [9; 8]).to_string();
    let alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
    for byte in 0..=127u8 {
        let letter = char::from(byte);
        let text = format!("{}{letter}", &right[..right.len() - 1]);
        assert_eq!(text.parse::<JobId>().is_ok(), alphabet.contains(letter), "{letter:?}");
    }
}

#[test]
fn ids_of_different_kinds_do_not_pass_for_each_other() {
    let run = RunId::minted(MOMENT, [1; 8]).to_string();
    assert!(run.parse::<JobId>().is_err() && run.parse::<TenantId>().is_err());
    assert!(run.parse::<ExecId>().is_err() && run.parse::<MessageId>().is_err());
}

#[test]
fn the_same_cause_and_name_derive_the_same_id() {
    macro_rules! check {
        ($id:ident, $prefix:literal, $kind:literal) => {
            let id = $id::derived(MOMENT, "run_1", "lint");
            assert_eq!($id::derived(MOMENT, "run_1", "lint"), id);
            let others = [
                $id::derived(MOMENT, "run_2", "lint"),
                $id::derived(MOMENT, "run_1", "test"),
                $id::derived(MOMENT, "run_1lint", ""),
                $id::derived(MOMENT, "", "run_1lint"),
                $id::derived(MOMENT, "run_1l", "int"),
                $id::derived(Time::from_seconds(1), "run_1", "lint"),
            ];
            assert!(others.iter().all(|other| *other != id), "{others:?}");
        };
    }
    check_each!(check);
}

/// Ids outlive a release: a new one must derive what an old one stored.
#[test]
fn derived_ids_are_the_same_in_every_release() {
    let id = JobId::derived(MOMENT, "run_00000000000000000000000000", "unit-tests");
    assert_eq!(id.to_string(), "job_01ke40ac00e00aew4mrkbvrdg9");
}

#[test]
fn a_derived_id_depends_on_its_kind() {
    let job = JobId::derived(MOMENT, "cause", "name").as_u128();
    let message = MessageId::derived(MOMENT, "cause", "name").as_u128();
    assert_ne!(job, message);
}

#[test]
fn a_runner_names_itself_in_1_to_128_printable_characters() {
    let longest = "r".repeat(128);
    for name in ["r", "runner_xyz", "host:7/slot-2", "~!@#$%^&*()", &longest] {
        assert_eq!(RunnerId::parse(name).unwrap().to_string(), name);
        assert_eq!(serde_json::from_value::<RunnerId>(name.into()).unwrap().as_str(), name);
    }
    let too_long = "r".repeat(129);
    for name in ["", " ", "two words", "tab\t", "line\n", "zero\0", "größe", "\u{7f}", &too_long] {
        assert_eq!(RunnerId::parse(name), None, "{name:?}");
        assert!(serde_json::from_value::<RunnerId>(name.into()).is_err(), "{name:?}");
    }
}
