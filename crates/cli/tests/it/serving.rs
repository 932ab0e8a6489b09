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
    /// Until it listened.
    said: String,
}

impl Running {
    fn start(data: &Path, more: &[&str]) -> Running {
        Running::start_in(data, more, &[])
    }

    fn start_in(data: &Path, more: &[&str], variables: &[(&str, &str)]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_deltaci"));
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("DELTACI_"))
        {
            command.env_remove(name);
        }
        command.args(["server", "--listen", "127.0.0.1:0", "--data"]).arg(data).args(more);
        command.envs(variables.iter().copied());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the binary starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let (mut address, mut token, mut said) = (None, None, String::new());
        while address.is_none() {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).expect("stderr is text") > 0, "it ended before it listened");
            let word_with = |start: &str| {
                line.split_whitespace().find_map(|word| word.strip_prefix(start)).map(str::to_owned)
            };
            address = word_with("http://");
            token = token.or_else(|| word_with("dci_").map(|rest| format!("dci_{rest}")));
            said.push_str(&line);
        }
        Running { child, stderr, address: address.expect("it listens"), token, said }
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
    let third = Running::start(&data, &["--admin-token", "chosen-for-this-test"]);
    assert!(third.get("/v1/tenants", "chosen-for-this-test").starts_with("HTTP/1.1 200"));
    third.stop();
}

#[test]
fn a_variable_that_holds_nothing_is_as_good_as_none() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let empty = [
        "DELTACI_ADMIN_TOKEN",
        "DELTACI_BLOBS",
        "DELTACI_DATABASE",
        "DELTACI_HEARTBEAT_INTERVAL",
        "DELTACI_NATS",
        "DELTACI_POLICY_URL",
    ];
    let server = Running::start_in(&folder.path().join("data"), &[], &empty.map(|name| (name, "")));
    let token = server.token.clone().expect("a first start mints a token");
    assert!(server.get("/v1/tenants", &token).starts_with("HTTP/1.1 200"));
    assert!(!server.get("/v1/tenants", "").starts_with("HTTP/1.1 200"));
    server.stop();
}

#[test]
fn a_short_admin_token_is_taken_with_a_warning() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let short = Running::start(&folder.path().join("data"), &["--admin-token", "secret"]);
    assert!(short.said.contains("less than 16 characters"), "{}", short.said);
    assert!(!short.said.contains("secret"), "{}", short.said);
    assert!(short.get("/v1/tenants", "secret").starts_with("HTTP/1.1 200"));
    short.stop();
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

/// A server that is given these words is not started, and nothing is made.
#[track_caller]
fn refused(words: &[&str], variables: &[(&str, &str)], said: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut command = crate::harness::binary(&["server"]);
    command.args(words).env("DELTACI_LISTEN", "127.0.0.1:0").envs(variables.iter().copied());
    let output = command.current_dir(folder.path()).output();
    let output = output.expect("the binary starts");
    let stderr = crate::stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{words:?}: {stderr}");
    assert!(stderr.contains(said), "{words:?}: {stderr}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "{words:?}");
}

#[test]
fn leases_that_end_before_their_first_heartbeat_are_refused() {
    let said = "at most a third of --lease-ttl, here 333.333333ms, or make --lease-ttl three times --heartbeat-interval, here 15s";
    refused(&["--lease-ttl", "1s", "--heartbeat-interval", "5s"], &[], said);
    refused(&["--lease-ttl", "1s"], &[("DELTACI_HEARTBEAT_INTERVAL", "1s")], "give --heartbeat-interval");
    refused(&["--lease-ttl", "1ns"], &[], "`1ns` is too short: it must be more than zero, and 1ms at least");
    refused(&["--ack-timeout", "0s"], &[], "`0s` is too short");
}

#[test]
fn places_of_a_kind_that_is_not_known_are_refused() {
    refused(
        &["--database", "mysql://root:secret@x/y"],
        &[],
        "--database: `mysql://` is no database that we know",
    );
    refused(&["--blobs", "ftp://x"], &[], "--blobs: artifacts are not kept at `ftp://`");
    refused(&["--nats", "http://x"], &[], "give nats://HOST:PORT");
    refused(&["--policy-url", "foo"], &[], "expected http:// or https://, and a host");
    refused(&["--listen", "localhost:7171"], &[], "such as 127.0.0.1:7171");
    for command in ["doctor", "explain job_x"] {
        let words: Vec<&str> = command.split(' ').chain(["--database", "mysql://root:secret@x/y"]).collect();
        let output = crate::deltaci(&words);
        assert_eq!(output.status.code(), Some(2), "{}", crate::stderr(&output));
        assert!(
            crate::stderr(&output).contains("postgres://USER@HOST:PORT/NAME"),
            "{}",
            crate::stderr(&output)
        );
        assert!(!crate::stderr(&output).contains("secret"), "{}", crate::stderr(&output));
    }
}
