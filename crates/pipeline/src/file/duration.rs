//! Durations as people write them: `300ms`, `90s`, `20m`, `1h30m`, `1.5h`.

const UNITS: &[(&str, f64)] = &[("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3_600.0), ("d", 86_400.0)];

/// The most that the engine takes, three years and more.
const SECONDS_MAX: f64 = 1e8;

/// Parts from the longest unit to the shortest, each once. What is wrong, in a few words.
pub fn seconds(text: &str) -> Result<f64, &'static str> {
    let (mut total, mut last, mut rest) = (0.0, f64::INFINITY, text);
    while !rest.is_empty() {
        let digits = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let number = &rest[..rest.len() - digits.len()];
        let after = digits.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        let unit = &digits[..digits.len() - after.len()];
        if number.is_empty() {
            return Err("a number is missing");
        }
        if unit.is_empty() {
            return Err("a unit is missing");
        }
        let (_, length) = UNITS.iter().find(|(name, _)| *name == unit).ok_or("not a unit of time")?;
        if *length >= last {
            return Err("units go from long to short");
        }
        let well_formed = number.starts_with(|letter: char| letter != '.') && !number.ends_with('.');
        let number: f64 = number.parse().ok().filter(|_| well_formed).ok_or("not a number")?;
        (total, last, rest) = (total + number * length, *length, after);
    }
    if text.is_empty() || total <= 0.0 {
        return Err("it must be longer than nothing");
    }
    if total > SECONDS_MAX {
        return Err("longer than three years");
    }
    // Sums of fractions, in the resolution that is kept.
    Ok((total * 1e6).round() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, expected) in [
            ("300ms", 0.3),
            ("90s", 90.0),
            ("20m", 1_200.0),
            ("1h30m", 5_400.0),
            ("1.5h", 5_400.0),
            ("2d", 172_800.0),
            ("1m0.5s", 60.5),
        ] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "5",
            "0s",
            "-1s",
            "soon",
            "m",
            "1x",
            "1m1h",
            "1m1m",
            "1 m",
            "1.m",
            ".5m",
            "1.2.3s",
            "1e3s",
            "∞",
            "99999999999999999999999999d",
            "20min",
        ] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
