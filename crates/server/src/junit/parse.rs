//! The XML itself: one pass over the bytes, nothing kept but what is counted.

use quick_xml::Reader;
use quick_xml::errors::{Error, IllFormedError, SyntaxError};
use quick_xml::events::Event;

use super::attributes::{Attributes, shortened, text};
use super::cases::Counts;
use super::{BadReport, DEPTH_MAX, MESSAGE_LETTERS_MAX, NAME_LETTERS_MAX, REPORT_BYTES_MAX, TestReport};

pub fn parse(bytes: &[u8]) -> Result<TestReport, BadReport> {
    if bytes.len() > REPORT_BYTES_MAX {
        return Err(BadReport::TooLarge);
    }
    let mut reader = Reader::from_reader(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    reader.config_mut().allow_dangling_amp = true; // many writers forget to escape it
    let mut counts = Counts::default();
    let (mut depth, mut begun) = (0, false);
    // Ends with the bytes: each event takes at least one.
    loop {
        match reader.read_event().map_err(bad)? {
            Event::Start(element) => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Err(BadReport::TooDeep);
                }
                check_root(&mut begun, element.local_name().as_ref())?;
                counts.opened(element.local_name().as_ref(), Attributes::read(&element)?)?;
            }
            Event::Empty(element) => {
                check_root(&mut begun, element.local_name().as_ref())?;
                counts.opened(element.local_name().as_ref(), Attributes::read(&element)?)?;
                counts.closed(element.local_name().as_ref());
            }
            Event::End(element) => {
                depth -= 1;
                counts.closed(element.local_name().as_ref());
            }
            Event::Text(piece) if counts.listens() => counts.heard(&lossy(&piece)),
            Event::CData(piece) if counts.listens() => counts.heard(&lossy(&piece)),
            Event::GeneralRef(name) if counts.listens() => {
                let entity = [b"&".as_slice(), name.as_ref(), b";"].concat();
                counts.heard(&text(&entity, NAME_LETTERS_MAX));
            }
            Event::DocType(_) => return Err(BadReport::DocumentType),
            Event::Eof if depth > 0 => return Err(BadReport::Truncated),
            Event::Eof if !begun => return Err(BadReport::NotXml("there is no element".into())),
            Event::Eof => return Ok(counts.report()),
            Event::Text(_) | Event::CData(_) | Event::GeneralRef(_) => {}
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
    }
}

/// Other reports, such as .trx files, are XML too.
fn check_root(begun: &mut bool, name: &[u8]) -> Result<(), BadReport> {
    if *begun || matches!(name, b"testsuites" | b"testsuite" | b"testcase") {
        *begun = true;
        return Ok(());
    }
    Err(BadReport::NotJunit(text(name, NAME_LETTERS_MAX)))
}

/// Only as much as a message can hold.
fn lossy(bytes: &[u8]) -> String {
    let bytes = &bytes[..bytes.len().min(MESSAGE_LETTERS_MAX * 4)];
    String::from_utf8_lossy(bytes).into_owned()
}

fn bad(error: Error) -> BadReport {
    match error {
        Error::Syntax(
            SyntaxError::UnclosedTag
            | SyntaxError::UnclosedComment
            | SyntaxError::UnclosedCData
            | SyntaxError::UnclosedSingleQuotedAttributeValue
            | SyntaxError::UnclosedDoubleQuotedAttributeValue,
        ) => BadReport::Truncated,
        Error::IllFormed(IllFormedError::MissingEndTag(_)) => BadReport::Truncated,
        other => BadReport::NotXml(shortened(&other.to_string(), NAME_LETTERS_MAX)),
    }
}
