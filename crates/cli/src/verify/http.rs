//! HTTP as bytes: one request per connection for clients, whole messages for the wire between runner and server.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How often a reader that waits looks at what else happens.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What comes longer than this is no message of ours.
const MESSAGE_BYTES_MAX: usize = 32 * 1024 * 1024;

#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Reply {
    fn parse(bytes: &[u8]) -> Option<Reply> {
        let end = head_length(bytes)?;
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length = content_length(&head);
        let body = &bytes[end..];
        if length.is_some_and(|length| length != body.len()) {
            return None;
        }
        Some(Reply { status: head.split(' ').nth(1)?.parse().ok()?, body: body.to_vec() })
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// Nobody was there to take the request.
    NotSent,
    /// It may have arrived.
    Unknown,
}

/// As HTTP/1.0, so that the end of the connection is the end of the answer.
pub fn ask(
    address: SocketAddr,
    token: &str,
    method: &str,
    path: &str,
    body: &Value,
    patience: Duration,
) -> Result<Reply, Silence> {
    let mut stream = TcpStream::connect_timeout(&address, patience).map_err(|_| Silence::NotSent)?;
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let head = format!(
        "{method} {path} HTTP/1.0\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut talk = || -> io::Result<Vec<u8>> {
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        stream.write_all(head.as_bytes())?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = talk().map_err(|_| Silence::Unknown)?;
    Reply::parse(&bytes).ok_or(Silence::Unknown)
}

/// One end of a connection, read message by message.
pub struct Wire {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Wire {
    pub fn new(stream: TcpStream) -> io::Result<Wire> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LOOK_EVERY))?;
        stream.set_write_timeout(Some(Duration::from_secs(10)))?;
        Ok(Wire { stream, bytes: Vec::new() })
    }

    pub fn send(&mut self, message: &[u8]) -> bool {
        self.stream.write_all(message).is_ok()
    }

    /// The next whole message; nothing when the connection ended or `given_up` says so.
    pub fn next(&mut self, mut given_up: impl FnMut() -> bool) -> Option<Vec<u8>> {
        loop {
            if let Some(length) = message_length(&self.bytes) {
                return Some(self.bytes.drain(..length).collect());
            }
            if self.bytes.len() > MESSAGE_BYTES_MAX {
                return None;
            }
            let mut part = [0; 16 * 1024];
            match self.stream.read(&mut part) {
                Ok(0) => return None,
                Ok(length) => self.bytes.extend_from_slice(&part[..length]),
                Err(error) if is_pause(&error) => {
                    if given_up() {
                        return None;
                    }
                }
                Err(_) => return None,
            }
        }
    }

    /// The other side has hung up.
    pub fn is_closed(&self) -> bool {
        let peeked = self.stream.set_nonblocking(true).and_then(|()| self.stream.peek(&mut [0]));
        let restored = self.stream.set_nonblocking(false);
        match peeked {
            Ok(count) => count == 0 || restored.is_err(),
            Err(error) => !is_pause(&error),
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both); // it may be closed already
    }
}

/// The words of a message's first line, and its body.
pub fn opened(message: &[u8]) -> (Vec<String>, Value) {
    let end = head_length(message).unwrap_or(message.len());
    let head = String::from_utf8_lossy(&message[..end]).into_owned();
    let words = head.lines().next().unwrap_or_default().split(' ').map(String::from).collect();
    (words, serde_json::from_slice(&message[end..]).unwrap_or(Value::Null))
}

/// A header's value, by its name in small letters.
pub fn header(message: &[u8], name: &str) -> Option<String> {
    let end = head_length(message)?;
    let head = String::from_utf8_lossy(&message[..end]).into_owned();
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn head_length(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|place| place + 4)
}

fn content_length(head: &str) -> Option<usize> {
    let head = head.to_ascii_lowercase();
    head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok())
}

/// How long the first message is, once it is there as a whole. What passes here names its length.
fn message_length(bytes: &[u8]) -> Option<usize> {
    let head = head_length(bytes)?;
    let length = content_length(&String::from_utf8_lossy(&bytes[..head])).unwrap_or(0);
    let whole = head + length;
    (bytes.len() >= whole).then_some(whole)
}
