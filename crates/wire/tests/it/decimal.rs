//! Seconds and percents: numbers that are written as they came.

use std::time::Duration;

use wire::runner::Decimal;

fn read(text: &str) -> Result<Decimal, serde_json::Error> {
    serde_json::from_str(text)
}

fn written(decimal: Decimal) -> String {
    serde_json::to_string(&decimal).unwrap()
}

#[test]
fn a_number_is_written_as_it_came() {
    for text in ["0", "1", "120", "3600", "0.5", "0.25", "119.999999", "0.001", "33.3", "999999999999999"] {
        assert_eq!(written(read(text).unwrap()), text);
    }
}

#[test]
fn a_whole_number_has_no_fraction_however_it_was_said() {
    for (said, text) in [("120.0", "120"), ("1.2e2", "120"), ("0.0", "0"), ("-0.0", "0"), ("-0", "0")] {
        assert_eq!(written(read(said).unwrap()), text, "{said}");
    }
}

#[test]
fn a_number_beyond_whole_ones_stays_a_number() {
    for text in ["1e15", "1e300", "18446744073709551616"] {
        let decimal = read(text).unwrap();
        assert_eq!(read(&written(decimal)).unwrap(), decimal, "{text}");
    }
}

#[test]
fn what_is_negative_or_no_number_is_refused() {
    for text in [
        "-1",
        "-0.000001",
        "-1e300",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "\"120\"",
        "null",
        "true",
        "[1]",
    ] {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn a_duration_is_its_seconds_to_the_microsecond() {
    for (duration, text) in [
        (Duration::ZERO, "0"),
        (Duration::from_secs(120), "120"),
        (Duration::from_millis(500), "0.5"),
        (Duration::from_micros(1), "1e-6"),
        (Duration::from_nanos(1_999), "1e-6"),
        (Duration::from_micros(119_999_999), "119.999999"),
    ] {
        assert_eq!(written(Decimal::from_duration(duration)), text);
    }
    assert!(Decimal::from_duration(Duration::MAX).as_f64().is_finite());
}

#[test]
fn nothing_said_is_zero() {
    assert_eq!(written(Decimal::default()), "0");
}
