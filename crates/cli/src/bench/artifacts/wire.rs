//! A plain client: one blocking socket, heads written and answers cut by hand, bodies handed to the socket as they lie in
//! memory. It costs both sides the same and takes little from the cores that it shares with them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, Result, bail};

pub struct Client {
    socket: BufReader<TcpStream>,
    host: String,
    authorization: Option<String>,
}

pub struct Reply {
    pub status: u16,
    pub location: Option<String>,
    pub etag: Option<String>,
    /// How long the body was; its bytes only when it was small.
    pub length: u64,
    pub body: Vec<u8>,
}

const READ_BYTES: usize = 1 << 20;
/// A body that is kept, such as an answer in JSON.
const KEPT_MAX: u64 = 64 * 1024;

impl Client {
    pub fn connect(address: SocketAddr, token: Option<&str>) -> Result<Client> {
        let socket = TcpStream::connect(address).context("no connection")?;
        socket.set_nodelay(true)?;
        let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
        Ok(Client {
            socket: BufReader::with_capacity(READ_BYTES, socket),
            host: address.to_string(),
            authorization,
        })
    }

    pub fn send(&mut self, method: &str, path: &str, kind: &str, body: &[u8]) -> Result<Reply> {
        let authorization = self.authorization.as_deref().unwrap_or("");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n{authorization}Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
            self.host,
            body.len()
        );
        let socket = self.socket.get_mut();
        socket.write_all(head.as_bytes())?;
        socket.write_all(body)?;
        self.reply()
    }

    pub fn expect(
        &mut self,
        method: &str,
        path: &str,
        kind: &str,
        body: &[u8],
        statuses: &[u16],
    ) -> Result<Reply> {
        let reply = self.send(method, path, kind, body)?;
        if !statuses.contains(&reply.status) {
            bail!("{method} {path}: {} {}", reply.status, String::from_utf8_lossy(&reply.body));
        }
        Ok(reply)
    }

    fn reply(&mut self) -> Result<Reply> {
        let mut line = String::new();
        self.socket.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).context("no status")?;
        let mut reply = Reply { status, location: None, etag: None, length: 0, body: Vec::new() };
        loop {
            line.clear();
            self.socket.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => reply.length = value.parse().context("a length")?,
                "location" => reply.location = Some(value.into()),
                "etag" => reply.etag = Some(value.into()),
                _ => {}
            }
        }
        let mut body = (&mut self.socket).take(reply.length);
        if reply.length <= KEPT_MAX {
            body.read_to_end(&mut reply.body)?;
        } else {
            let mut sink = vec![0; READ_BYTES];
            while body.read(&mut sink)? > 0 {}
        }
        Ok(reply)
    }
}
