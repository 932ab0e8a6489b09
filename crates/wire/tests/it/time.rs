//! Time: RFC 3339 outside, microseconds inside, and bounds that hold instead of overflowing.

use std::time::Duration;

use wire::Time;

fn read(text: &str) -> Result<Time, serde_json::Error> {
    serde_json::from_value(text.into())
}

#[test]
fn a_time_is_written_and_read_as_rfc_3339() {
    for text in [
        "2026-01-04T08:00:00Z",
        "2026-01-04T08:00:00.5Z",
        "2026-01-04T08:00:00.000001Z",
        "2026-01-04T08:00:00.123456Z",
        "1970-01-01T00:00:00Z",
        "1969-12-31T23:59:59.999999Z",
        "2024-02-29T23:59:59Z",
        "9999-12-30T21:59:59.999999Z",
    ] {
        let time = read(text).unwrap();
        assert_eq!(time.to_string(), text);
        assert_eq!(format!("{time:?}"), text);
        assert_eq!(serde_json::to_value(time).unwrap(), text);
    }
}

#[test]
fn an_offset_is_the_same_moment_in_utc() {
    assert_eq!(read("2026-01-04T10:30:00+02:30").unwrap(), read("2026-01-04T08:00:00Z").unwrap());
    assert_eq!(read("2026-01-03T20:00:00-12:00").unwrap().to_string(), "2026-01-04T08:00:00Z");
}

#[test]
fn what_is_finer_than_a_microsecond_is_cut_off() {
    assert_eq!(read("2026-01-04T08:00:00.1234569Z").unwrap().to_string(), "2026-01-04T08:00:00.123456Z");
    assert_eq!(read("2026-01-04T08:00:00.000000999Z").unwrap().to_string(), "2026-01-04T08:00:00Z");
}

#[test]
fn a_text_that_is_no_moment_is_refused() {
    for text in [
        "",
        "now",
        "2026-01-04",
        "08:00:00Z",
        "2026-01-04T08:00:00",
        "2026-02-30T08:00:00Z",
        "2026-01-04T25:00:00Z",
        "2026-01-04T08:00:00Z and more",
        "1767513600",
    ] {
        assert!(read(text).is_err(), "{text}");
    }
    assert!(serde_json::from_value::<Time>(1_767_513_600.into()).is_err(), "a number says no unit");
}

#[test]
fn micros_and_seconds_agree() {
    let time = Time::from_seconds(1_767_513_600);
    assert_eq!(time.as_micros(), 1_767_513_600_000_000);
    assert_eq!(Time::from_micros(time.as_micros()), time);
    assert_eq!(time.to_string(), "2026-01-04T08:00:00Z");
}

#[test]
fn a_bound_too_far_to_be_written_is_the_last_moment() {
    let last = Time::from_micros(i64::MAX);
    assert_eq!(Time::from_seconds(0).plus(Duration::MAX), last);
    assert_eq!(last.plus(Duration::from_micros(1)), last);
    assert_eq!(Time::from_micros(i64::MAX - 1).plus(Duration::from_micros(1)), last);
    assert_eq!(Time::from_micros(i64::MIN).plus(Duration::MAX), Time::from_micros(-1));
    assert!(last > Time::from_seconds(253_402_300_799));
    assert_eq!(Time::from_seconds(i64::MAX), last, "whoever names the seconds may name any");
    assert_eq!(Time::from_seconds(i64::MIN), Time::from_micros(i64::MIN));
    assert_eq!(Time::from_seconds(0).minus(Duration::MAX), Time::from_micros(-i64::MAX));
    assert_eq!(Time::from_micros(i64::MIN).minus(Duration::from_micros(1)), Time::from_micros(i64::MIN));
    assert!(!last.to_string().is_empty(), "it can be shown, if not as a date");
}

#[test]
fn a_duration_is_never_negative() {
    let (early, late) = (Time::from_seconds(10), Time::from_seconds(70));
    assert_eq!(late.since(early), Duration::from_secs(60));
    assert_eq!(early.since(late), Duration::ZERO);
    assert_eq!(early.plus(late.since(early)), late);
    let whole = Time::from_micros(i64::MAX).since(Time::from_micros(i64::MIN));
    assert_eq!(whole, Duration::from_micros(i64::MAX as u64), "held, not wrapped");
}

#[test]
fn times_sort_as_moments() {
    let texts = ["1969-01-01T00:00:00Z", "1970-01-01T00:00:00.000001Z", "2026-01-04T08:00:00Z"];
    let times: Vec<Time> = texts.iter().map(|text| read(text).unwrap()).collect();
    assert!(times.is_sorted());
}
