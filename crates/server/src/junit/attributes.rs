//! The few attributes we look at. Wrong bytes and unknown entities are shown as they are: a report that is a little wrong is
//! worth more than none.

use std::borrow::Cow;

use quick_xml::escape::unescape;
use quick_xml::events::BytesStart;

use super::{ATTRIBUTES_MAX, BadReport, MESSAGE_LETTERS_MAX, NAME_LETTERS_MAX};

#[derive(Debug, Default)]
pub struct Attributes {
    pub name: String,
    pub class: String,
    pub message: String,
    pub kind: String,
    pub time_ms: Option<u64>,
    /// As nextest and others have it, in place of an element.
    pub status: String,
}

impl Attributes {
    pub fn read(element: &BytesStart<'_>) -> Result<Attributes, BadReport> {
        let mut read = Attributes::default();
        // Without the check for a name that comes twice: it would take the square of their number.
        let mut attributes = element.attributes();
        for (number, attribute) in attributes.with_checks(false).enumerate() {
            if number >= ATTRIBUTES_MAX {
                return Err(BadReport::TooManyAttributes);
            }
            let attribute = attribute.map_err(|error| BadReport::NotXml(error.to_string()))?;
            let value = attribute.value.as_ref();
            match attribute.key.local_name().as_ref() {
                b"name" => read.name = text(value, NAME_LETTERS_MAX),
                b"classname" => read.class = text(value, NAME_LETTERS_MAX),
                b"message" => read.message = text(value, MESSAGE_LETTERS_MAX),
                b"type" => read.kind = text(value, NAME_LETTERS_MAX),
                b"status" | b"result" => read.status = text(value, NAME_LETTERS_MAX),
                b"time" => read.time_ms = milliseconds(&text(value, NAME_LETTERS_MAX)),
                _ => {}
            }
        }
        Ok(read)
    }
}

/// Seconds, with a fraction; some write thousands with commas. Nonsense is as good as nothing.
fn milliseconds(seconds: &str) -> Option<u64> {
    const LONG: f64 = 10.0 * 365.0 * 86_400.0;
    let seconds: f64 = seconds.trim().replace(',', "").parse().ok()?;
    (seconds.is_finite() && (0.0..LONG).contains(&seconds)).then(|| (seconds * 1_000.0).round() as u64)
}

/// Printable, on one line, and no longer than it may be. No letter needs more bytes than an entity for it has.
pub fn text(bytes: &[u8], letters_max: usize) -> String {
    const ENTITY_BYTES: usize = 12;
    let bytes = &bytes[..bytes.len().min(letters_max * ENTITY_BYTES)];
    let raw = String::from_utf8_lossy(bytes);
    let unescaped = unescape(&raw).unwrap_or(Cow::Borrowed(&raw));
    shortened(&unescaped, letters_max)
}

pub fn shortened(text: &str, letters_max: usize) -> String {
    let printable = |letter: char| if letter.is_control() { ' ' } else { letter };
    let around = |letter: char| letter.is_whitespace() || letter.is_control();
    let mut letters = text.trim_matches(around).chars().map(printable);
    let mut short: String = letters.by_ref().take(letters_max).collect();
    if letters.next().is_some() {
        short.pop();
        short.push('…');
    }
    short
}
