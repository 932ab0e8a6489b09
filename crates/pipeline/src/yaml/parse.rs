//! Bytes to a tree, within limits.

use std::str;

use saphyr_parser::{Event, Parser, Span};

use super::Node;
use super::build::Builder;
use super::faults;
use crate::problem::{Code, Place, Problem, Problems, Source};

pub const BYTES_MAX: usize = 256 * 1024;
pub const DEPTH_MAX: usize = 32;
/// Scalars, lists and tables, those that aliases stand for counted each time.
pub const NODES_MAX: usize = 20_000;

/// The file's one document; nothing if that could not be read to its end, or if there is none.
pub fn parse(bytes: &[u8], problems: &mut Problems) -> Option<Node> {
    match document(bytes, problems) {
        Ok(root) => root,
        Err(problem) => {
            problems.add(problem);
            None
        }
    }
}

fn document(bytes: &[u8], problems: &mut Problems) -> Result<Option<Node>, Problem> {
    let text = text_of(bytes)?;
    let source = Source::new(text);
    refuse_control_characters(text, &source)?;
    let mut parser = Parser::new_from_str(text);
    let mut builder = Builder::new(&source, problems);
    let mut documents = 0;
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| faults::explain(&error, &source))?;
        if let Event::DocumentStart(_) = event {
            documents += 1;
            refuse_second(documents, &source, span)?;
        }
        builder.take(event, span)?;
    }
    Ok(builder.finish())
}

fn text_of(bytes: &[u8]) -> Result<&str, Problem> {
    if bytes.len() > BYTES_MAX {
        return Err(Problem::new(
            Code::FileTooLarge,
            Place::START,
            format!("the file has {} bytes; at most {BYTES_MAX} are read", bytes.len()),
            "this file",
            "move long scripts into files of their own, and run those",
        ));
    }
    str::from_utf8(bytes).map_err(|error| {
        let good = str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        let source = Source::new(good);
        let end = good.chars().count();
        // The text ends there, so the place has no length of its own.
        let place = Place { length: 1, ..source.place(end, end) };
        let byte = bytes[error.valid_up_to()];
        let message = format!("the file is not UTF-8: byte {byte:#04x} at offset {}", place.offset);
        Problem::new(Code::NotUtf8, place, message, "this byte", "save the file as UTF-8")
    })
}

/// YAML allows none, and a terminal might obey them.
fn refuse_control_characters(text: &str, source: &Source<'_>) -> Result<(), Problem> {
    let is_bad = |letter: char| letter.is_control() && !matches!(letter, '\t' | '\n' | '\r' | '\u{85}');
    let Some(at) = text.chars().position(is_bad) else { return Ok(()) };
    let letter = text.chars().nth(at).unwrap_or_default() as u32;
    Err(Problem::new(
        Code::ControlCharacter,
        source.place(at, at + 1),
        format!("the file holds the control character U+{letter:04X}"),
        "not allowed in a text file",
        "take it out; inside double quotes it can be written as an escape such as `\\e`",
    ))
}

fn refuse_second(documents: usize, source: &Source<'_>, span: Span) -> Result<(), Problem> {
    if documents < 2 {
        return Ok(());
    }
    Err(Problem::new(
        Code::ManyDocuments,
        source.place(span.start.index(), span.end.index()),
        "the file holds more than one document",
        "a second document begins here",
        "keep one pipeline in the file and take the other documents out",
    ))
}
