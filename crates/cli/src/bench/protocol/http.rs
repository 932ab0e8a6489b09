//! HTTP/1.1 by hand, as little of it as the benchmark needs: the client shares two cores with what it measures.
//!
//! Never: a general client. It understands the answers of our own servers on loopback, and fails on anything else.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An answer longer than this is none that we asked for.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;
const READ_BYTES: usize = 4 * 1024;

/// A connection that is kept open. One request at a time.
pub struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
    sending: Vec<u8>,
}

/// Everything of a request but its body.
pub struct Head(String);

impl Head {
    pub fn post(path: &str, token: &str) -> Head {
        Head(format!(
            "POST {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: "
        ))
    }

    pub fn get(path: &str, token: &str) -> Head {
        Head(format!(
            "GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\nContent-Length: "
        ))
    }
}

pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Connection {
    pub async fn open(address: SocketAddr) -> Result<Connection> {
        let stream = TcpStream::connect(address).await.with_context(|| format!("connecting to {address}"))?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, received: Vec::with_capacity(READ_BYTES), sending: Vec::new() })
    }

    pub async fn ask(&mut self, head: &Head, body: &str) -> Result<Answer> {
        self.send(head, body).await?;
        self.answer().await
    }

    /// Asks, and takes nothing but this status for an answer.
    pub async fn expect(&mut self, head: &Head, body: &str, status: u16) -> Result<Vec<u8>> {
        let answer = self.ask(head, body).await?;
        if answer.status != status {
            let text = String::from_utf8_lossy(&answer.body);
            bail!("a request was answered with {} instead of {status}: {text}", answer.status);
        }
        Ok(answer.body)
    }

    /// In one write, so that it travels as one packet.
    pub async fn send(&mut self, Head(head): &Head, body: &str) -> Result<()> {
        self.sending.clear();
        for part in [head.as_str(), &body.len().to_string(), "\r\n\r\n", body] {
            self.sending.extend_from_slice(part.as_bytes());
        }
        self.stream.write_all(&self.sending).await.context("sending a request")
    }

    pub async fn answer(&mut self) -> Result<Answer> {
        let head_end = self.receive_until(b"\r\n\r\n", 0).await?;
        let head = std::str::from_utf8(&self.received[..head_end]).context("the head is no text")?;
        let status = head.get(9..12).and_then(|text| text.parse().ok()).context("no status in an answer")?;
        let framing = Framing::of(head)?;
        let body = match framing {
            Framing::Length(length) => {
                self.receive(head_end + length).await?;
                let body = self.received[head_end..head_end + length].to_vec();
                self.received.drain(..head_end + length);
                body
            }
            Framing::Chunked => {
                // The last chunk is empty. None of our events holds these bytes: they are JSON, one line each.
                let end = self.receive_until(b"\r\n0\r\n\r\n", head_end.saturating_sub(2)).await?;
                let body = self.received[head_end..end].to_vec();
                self.received.drain(..end);
                body
            }
        };
        Ok(Answer { status, body })
    }

    /// The position after the first of these bytes at or after `from`.
    async fn receive_until(&mut self, wanted: &[u8], from: usize) -> Result<usize> {
        let mut from = from;
        loop {
            let found = self.received.get(from..).and_then(|rest| find(rest, wanted));
            if let Some(at) = found {
                return Ok(from + at + wanted.len());
            }
            from = from.max(self.received.len().saturating_sub(wanted.len()));
            self.receive(self.received.len() + 1).await?;
        }
    }

    async fn receive(&mut self, length: usize) -> Result<()> {
        ensure!(length <= ANSWER_BYTES_MAX, "an answer is longer than {ANSWER_BYTES_MAX} bytes");
        while self.received.len() < length {
            self.received.reserve(READ_BYTES);
            let read = self.stream.read_buf(&mut self.received).await.context("receiving an answer")?;
            ensure!(read > 0, "the connection was closed in the middle of an answer");
        }
        Ok(())
    }
}

/// Where a body ends.
enum Framing {
    Length(usize),
    Chunked,
}

impl Framing {
    /// Our servers write names in small letters, as hyper does.
    fn of(head: &str) -> Result<Framing> {
        let value = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
        if let Some(length) = value("content-length: ") {
            return Ok(Framing::Length(length.trim().parse().context("a length that is no number")?));
        }
        let chunked = value("transfer-encoding: chunked").is_some();
        Ok(if chunked { Framing::Chunked } else { Framing::Length(0) })
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

/// The text of a JSON field, wherever it first stands; for answers whose shape we know, cheaper than reading all of it.
pub fn field<'a>(body: &'a [u8], name: &str) -> Result<&'a str> {
    let text = std::str::from_utf8(body).context("an answer is no text")?;
    let (_, rest) =
        text.split_once(&format!("\"{name}\":\"")).with_context(|| format!("no {name}: {text}"))?;
    rest.split('"').next().with_context(|| format!("{name} does not end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn answered(bytes: &'static [u8], count: usize) -> Vec<(u16, String)> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            for byte in bytes {
                stream.write_all(&[*byte]).await.expect("taken");
                tokio::task::yield_now().await;
            }
        });
        let mut connection = Connection::open(address).await.expect("it listens");
        let mut found = Vec::new();
        for _ in 0..count {
            let Answer { status, body } = connection.answer().await.expect("an answer");
            found.push((status, String::from_utf8(body).expect("text")));
        }
        found
    }

    #[tokio::test]
    async fn answers_are_told_apart_however_they_arrive() {
        let bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 204 No Content\r\n\r\n\
            HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n\
            HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n\
            HTTP/1.1 201 Created\r\ncontent-length: 1\r\n\r\nx";
        let found = answered(bytes, 5).await;
        let statuses: Vec<u16> = found.iter().map(|(status, _)| *status).collect();
        assert_eq!(statuses, [200, 204, 200, 200, 201]);
        assert_eq!((found[0].1.as_str(), found[1].1.as_str(), found[4].1.as_str()), ("{}", "", "x"));
        assert!(found[2].1.contains("abc"));
    }

    #[test]
    fn a_field_is_found() {
        assert_eq!(field(br#"{"a":1,"lease_id":"l","b":"c"}"#, "lease_id").expect("it is there"), "l");
        assert!(field(b"{}", "lease_id").is_err());
    }
}
