//! Durations and ages, short.

use std::time::Duration;

use wire::Time;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// `340ms`, `1.2s`, `42s`, `3m 05s`, `2h 05m`, `3d 04h`.
pub fn took(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => format!("{}ms", duration.as_millis()),
        1..10 => format!("{}.{}s", seconds, duration.subsec_millis() / 100),
        10..MINUTE => format!("{seconds}s"),
        MINUTE..HOUR => format!("{}m {:02}s", seconds / MINUTE, seconds % MINUTE),
        HOUR..DAY => format!("{}h {:02}m", seconds / HOUR, seconds % HOUR / MINUTE),
        DAY.. => format!("{}d {:02}h", seconds / DAY, seconds % DAY / HOUR),
    }
}

/// `now`, `5s ago`, `3m ago`, `2h ago`, `4d ago`.
pub fn ago(then: Time, now: Time) -> String {
    let seconds = now.since(then).as_secs();
    match seconds {
        0 => "now".into(),
        1..MINUTE => format!("{seconds}s ago"),
        MINUTE..HOUR => format!("{}m ago", seconds / MINUTE),
        HOUR..DAY => format!("{}h ago", seconds / HOUR),
        DAY.. => format!("{}d ago", seconds / DAY),
    }
}

/// `512 B`, `12 KiB`, `3.4 MiB`, `1.5 GiB`.
pub fn size(bytes: u64) -> String {
    const KIB: u64 = 1024;
    const MIB: u64 = 1024 * KIB;
    const GIB: u64 = 1024 * MIB;
    match bytes {
        0..KIB => format!("{bytes} B"),
        KIB..MIB => format!("{} KiB", bytes / KIB),
        MIB..GIB => format!("{}.{} MiB", bytes / MIB, bytes % MIB * 10 / MIB),
        GIB.. => format!("{}.{} GiB", bytes / GIB, bytes % GIB * 10 / GIB),
    }
}

/// `1,234,567`
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short_and_true() {
        for (millis, expected) in [
            (0, "0ms"),
            (340, "340ms"),
            (1_290, "1.2s"),
            (42_900, "42s"),
            (185_000, "3m 05s"),
            (7_500_000, "2h 05m"),
            (273_600_000, "3d 04h"),
        ] {
            assert_eq!(took(Duration::from_millis(millis)), expected);
        }
    }

    #[test]
    fn ages_and_sizes() {
        let at = Time::from_seconds;
        for (seconds, expected) in
            [(-5, "now"), (0, "now"), (5, "5s ago"), (185, "3m ago"), (7_500, "2h ago"), (400_000, "4d ago")]
        {
            assert_eq!(ago(at(1_000_000), at(1_000_000 + seconds)), expected);
        }
        for (bytes, expected) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (12_300, "12 KiB"),
            (3_600_000, "3.4 MiB"),
            (1_700_000_000, "1.5 GiB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
        for (number, expected) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), expected);
        }
    }
}
