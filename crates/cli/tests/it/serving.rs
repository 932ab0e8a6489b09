//! `deltaci server`: what it says at the start, that it serves, and that it stops when told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

/// A server of its own on a free port; ended with the test.
struct Running {
    child: Child,
    stderr: BufReader<ChildStderr>,
    address: String,
    /// The admin token, if this start minted one.
    token: Option<String>,
}

impl Running {
    fn start(data: &Path, more: &[&str]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_deltaci"));
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("DELTACI_"))
        {
            command.env_remove(name);
        }
        command.args(["server", "--listen", "127.0.0.1:0", "--data"]).arg(data).args(more);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the binary starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let (mut address, mut token) = (None, None);
        while address.is_none() {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).expect("stderr is text") > 0, "it ended before it listened");
            let word_with = |start: &str| {
                line.split_whitespace().find_map(|word| word.strip_prefix(start)).map(str::to_owned)
            };
            address = word_with("http://");
            token = token.or_else(|| word_with("dci_").map(|rest| format!("dci_{rest}")));
        }
        Running { child, stderr, address: address.expect("it listens"), token }
    }

    fn get(&self, path: &str, token: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).expect("the request is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the answer is text");
        answer
    }

    /// What it said after it began to listen.
    fn stop(mut self) -> String {
        let killed = Command::new("kill").arg(self.child.id().to_string()).status().expect("kill runs");
        assert!(killed.success());
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).expect("stderr is text");
        assert_eq!(self.child.wait().expect("it ends").code(), Some(0), "{said}");
        said
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended already
    }
}

#[test]
fn a_server_shows_its_address_and_once_its_token_serves_and_stops() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let data = folder.path().join("not/yet/there");
    let first = Running::start(&data, &["--lease-ttl", "300ms", "--log-level", "debug"]);
    let token = first.token.clone().expect("a first start mints a token");
    let answer = first.get("/v1/tenants", &token);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"default\""), "{answer}");
    assert!(first.get("/readyz", "").starts_with("HTTP/1.1 200"));
    let said = first.stop();
    assert!(said.contains("/v1/tenants") && !said.contains("dci_"), "{said}");
    let second = Running::start(&data, &["--log-json"]);
    assert_eq!(second.token, None);
    assert!(second.get("/v1/tenants", &token).starts_with("HTTP/1.1 200"));
    second.stop();
    let third = Running::start(&data, &["--admin-token", "chosen"]);
    assert!(third.get("/v1/tenants", "chosen").starts_with("HTTP/1.1 200"));
    third.stop();
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let data = folder.path().to_str().expect("the path is text");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = taken.local_addr().expect("it has an address").to_string();
    let output = crate::deltaci(&["server", "--data", data, "--listen", &address]);
    assert_eq!(output.status.code(), Some(5));
    assert!(crate::stderr(&output).contains("cannot listen on"), "{}", crate::stderr(&output));
    let output = crate::deltaci(&["server", "--data", data, "--lease-ttl", "soon"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(crate::stderr(&output).contains("300ms"), "{}", crate::stderr(&output));
}
