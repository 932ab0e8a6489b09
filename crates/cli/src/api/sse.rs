//! Server-sent events, read from bytes as they come.

use std::collections::VecDeque;

/// An event larger than this is none of ours.
const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SentEvent {
    pub name: String,
    pub data: String,
    /// Of this event, if it has one.
    pub id: Option<String>,
}

#[derive(Debug, Default)]
pub struct Parser {
    /// A line whose end has not come.
    line: Vec<u8>,
    event: SentEvent,
    bytes: usize,
    sign_of_life: bool,
}

/// More than an event may hold.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLarge;

impl Parser {
    pub fn feed(&mut self, bytes: &[u8], ready: &mut VecDeque<SentEvent>) -> Result<(), TooLarge> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.bytes += part.len();
            if self.bytes > EVENT_BYTES_MAX {
                return Err(TooLarge);
            }
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.read(&String::from_utf8_lossy(&line), ready);
            }
        }
        Ok(())
    }

    /// Whether a comment has come since this was last asked: servers send them when they have had nothing to say.
    pub fn heard_sign_of_life(&mut self) -> bool {
        std::mem::take(&mut self.sign_of_life)
    }

    fn read(&mut self, line: &str, ready: &mut VecDeque<SentEvent>) {
        let line = line.trim_end_matches(['\r', '\n']);
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            self.bytes = 0;
            if !event.data.is_empty() {
                ready.push_back(event);
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event.name = value.into(),
            "id" => self.event.id = Some(value.into()),
            "data" => {
                if !self.event.data.is_empty() {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "" => self.sign_of_life = true,
            _ => {} // a field we do not use
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ": hello\n\nevent: log\nid: 0-3\ndata: {\"text\":\"é\"}\n\nevent: end\r\ndata:a\r\ndata: b\r\n\r\nevent: cut";

    fn event(name: &str, data: &str, id: Option<&str>) -> SentEvent {
        SentEvent { name: name.into(), data: data.into(), id: id.map(String::from) }
    }

    #[test]
    fn events_are_read_however_the_bytes_are_cut() {
        let expected = [event("log", "{\"text\":\"é\"}", Some("0-3")), event("end", "a\nb", None)];
        for size in 1..TEXT.len() {
            let (mut parser, mut ready) = (Parser::default(), VecDeque::new());
            TEXT.as_bytes().chunks(size).for_each(|bytes| parser.feed(bytes, &mut ready).unwrap());
            assert_eq!(ready, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn an_event_without_an_end_is_given_up() {
        let (mut parser, mut ready) = (Parser::default(), VecDeque::new());
        let megabyte = vec![b'x'; 1024 * 1024];
        let fed = (0..17).try_for_each(|_| parser.feed(&megabyte, &mut ready));
        assert_eq!(fed, Err(TooLarge));
    }
}
