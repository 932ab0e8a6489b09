//! Ranges of bytes as RFC 9110 writes them.

use std::ops::Range;

use crate::artifacts::uploads::Span;

/// What a request for a range comes to.
#[derive(Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Nothing was asked for, or nothing that we read: all of it.
    Whole,
    Part(Range<u64>),
    /// Nothing of what was asked for is here.
    Nothing,
}

/// The `Range` of a request for something of this length. Several ranges at once are answered with the whole.
pub fn wanted(header: Option<&str>, length: u64) -> Wanted {
    let Some(spec) = header.and_then(bytes_of).filter(|spec| !spec.contains(',')) else {
        return Wanted::Whole;
    };
    let Some((first, last)) = spec.split_once('-') else { return Wanted::Whole };
    let (first, last) = (first.trim(), last.trim());
    match (number(first), number(last)) {
        (None, Some(suffix)) if first.is_empty() => match length.min(suffix) {
            0 => Wanted::Nothing,
            taken => Wanted::Part(length - taken..length),
        },
        (Some(first), None) if last.is_empty() => part(first, u64::MAX, length),
        (Some(first), Some(last)) if first <= last => part(first, last, length),
        _ => Wanted::Whole,
    }
}

fn part(first: u64, last: u64, length: u64) -> Wanted {
    if first >= length { Wanted::Nothing } else { Wanted::Part(first..last.saturating_add(1).min(length)) }
}

fn bytes_of(header: &str) -> Option<&str> {
    let (unit, spec) = header.split_once('=')?;
    unit.trim().eq_ignore_ascii_case("bytes").then_some(spec)
}

/// Digits only; what is too large to be read is larger than anything.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

/// `bytes N-M/LENGTH` of a request that brings bytes: which ones, and of how many.
pub fn content_range(header: &str) -> Option<(Span, u64)> {
    let (unit, rest) = header.trim().split_once(' ')?;
    let (range, total) = rest.trim().split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last, total) = (first.parse().ok()?, last.parse::<u64>().ok()?, total.parse().ok()?);
    let end = last.checked_add(1)?;
    let sound = unit.eq_ignore_ascii_case("bytes") && first < end && end <= total;
    sound.then_some((Span { first, end }, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_a_part_or_nothing_or_the_whole() {
        for (header, expected) in [
            ("bytes=0-0", Wanted::Part(0..1)),
            ("bytes=2-5", Wanted::Part(2..6)),
            ("bytes=2-500", Wanted::Part(2..10)),
            ("bytes=9-", Wanted::Part(9..10)),
            ("bytes=-3", Wanted::Part(7..10)),
            ("bytes=-300", Wanted::Part(0..10)),
            ("Bytes = 1-2", Wanted::Part(1..3)),
            ("bytes=0-99999999999999999999", Wanted::Part(0..10)),
            ("bytes=10-", Wanted::Nothing),
            ("bytes=99999999999999999999-", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=0-1,3-4", Wanted::Whole),
            ("bytes=5-2", Wanted::Whole),
            ("bytes=-", Wanted::Whole),
            ("bytes=a-b", Wanted::Whole),
            ("bytes=+1-2", Wanted::Whole),
            ("lines=1-2", Wanted::Whole),
            ("", Wanted::Whole),
        ] {
            assert_eq!(wanted(Some(header), 10), expected, "{header}");
        }
        assert_eq!(wanted(None, 10), Wanted::Whole);
        assert_eq!(wanted(Some("bytes=0-"), 0), Wanted::Nothing);
    }

    #[test]
    fn bytes_that_come_say_where_they_belong() {
        assert_eq!(content_range("bytes 2-9/10"), Some((Span { first: 2, end: 10 }, 10)));
        for bad in ["", "bytes", "bytes 5-2/10", "bytes 0-10/10", "bytes 0-1/*", "bytes */10", "lines 0-1/2"]
        {
            assert_eq!(content_range(bad), None, "{bad}");
        }
    }
}
