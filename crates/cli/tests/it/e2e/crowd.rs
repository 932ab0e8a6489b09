//! Two thousand runners that wait.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use crate::e2e::http::request;
use crate::e2e::patience::until;
use crate::e2e::site::{LONG, Site};

const RUNNERS: usize = 2_000;

/// A sign that nothing queues up behind the crowd, not a measurement.
const PROMPT: Duration = Duration::from_secs(10);

#[test]
fn two_thousand_idle_runners_do_not_delay_the_one_that_gets_the_job() {
    // As most systems start programs, far below what the server needs; it may have more, and has to ask for it.
    open_files_max(Some(1_024));
    let site = Site::start(&LONG);
    open_files_max(getrlimit(Resource::Nofile).maximum);
    let mut polls: Vec<TcpStream> = (0..RUNNERS).map(|number| poll(&site, number)).collect();
    site.until_waiting(RUNNERS);
    let mut leased = BTreeSet::new();
    for number in 0..10 {
        let began = Instant::now();
        let job = format!("job-{number}");
        site.submit(&job, "true");
        let (index, answer) = until("somebody gets the job", || answered(&mut polls, &leased));
        assert!(answer.contains("200 OK") && answer.contains(&format!("\"{job}\"")), "{answer}");
        assert!(began.elapsed() < PROMPT, "it took {:?}", began.elapsed());
        leased.insert(index);
    }
    site.until_waiting(RUNNERS - leased.len());
    drop(polls);
    site.until_waiting(0);
}

/// For us, and for what we start from now on.
fn open_files_max(current: Option<u64>) {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current, ..limit }).expect("up to the maximum it is ours to choose");
}

fn poll(site: &Site, number: usize) -> TcpStream {
    let mut stream = TcpStream::connect(site.address()).expect("the server takes one more");
    let body = json!({"runner_id": format!("idle-{number}"), "wait_seconds": 60}).to_string();
    let bearer = format!("Bearer {}", site.runner_token);
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let bytes = request("1.1", "POST", "/v1/runner/lease", &headers, body.as_bytes());
    stream.write_all(&bytes).expect("the request is sent");
    stream.set_nonblocking(true).expect("a socket can be asked without waiting");
    stream
}

/// The first poll that has an answer, besides those that had one before.
fn answered(polls: &mut [TcpStream], before: &BTreeSet<usize>) -> Option<(usize, String)> {
    let waiting = polls.iter_mut().enumerate().filter(|(index, _)| !before.contains(index));
    for (index, stream) in waiting {
        let mut bytes = vec![0; 64 * 1024];
        match stream.read(&mut bytes) {
            Ok(length) => return Some((index, String::from_utf8_lossy(&bytes[..length]).into_owned())),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => panic!("poll {index}: {error}"),
        }
    }
    None
}
