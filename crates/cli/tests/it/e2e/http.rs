//! HTTP as bytes: whole messages for the proxy, one request per connection for the tests.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::e2e::patience::PATIENCE;

/// How often a reader that waits looks at what else happens.
const LOOK_EVERY: Duration = Duration::from_millis(20);

#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Reply {
    fn parse(bytes: &[u8]) -> Option<Reply> {
        let end = head_length(bytes)?;
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(Reply { status, head, body: bytes[end..].to_vec() })
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The body of an answer with this status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        if self.body.is_empty() { Value::Null } else { self.json() }
    }
}

/// As HTTP/1.0, so that the end of the connection is the end of the answer.
pub fn ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> io::Result<Reply> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(&request("1.0", method, path, headers, body))?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Reply::parse(&bytes).ok_or_else(|| io::Error::other("the connection ended within the answer"))
}

pub fn request(version: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head =
        format!("{method} {path} HTTP/{version}\r\nhost: localhost\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    [head.as_bytes(), b"\r\n", body].concat()
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
        stream.set_write_timeout(Some(PATIENCE))?;
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
        let _ = self.stream.set_nonblocking(false);
        match peeked {
            Ok(count) => count == 0,
            Err(error) => !is_pause(&error),
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn head_length(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|place| place + 4)
}

/// How long the first message is, once it is there as a whole. What passes here names its length.
fn message_length(bytes: &[u8]) -> Option<usize> {
    let head = head_length(bytes)?;
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    assert!(!text.contains("\r\ntransfer-encoding:"), "the proxy knows no chunks");
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let whole = head + length.unwrap_or(0usize);
    (bytes.len() >= whole).then_some(whole)
}
