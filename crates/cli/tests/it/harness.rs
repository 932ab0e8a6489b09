//! A real server, real runners and a proxy that can be cut, for the tests of the client commands. All are gone when the
//! test is.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long anything may take that must happen.
pub const DEADLINE: Duration = Duration::from_secs(60);

const ADMIN_TOKEN: &str = "dci_admin_of_the_tests";

pub struct Site {
    pub url: String,
    pub folder: TempDir,
    children: Vec<Child>,
}

impl Site {
    pub fn start() -> Site {
        Site::start_with(&[])
    }

    /// With more flags for the server.
    pub fn start_with(flags: &[&str]) -> Site {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let mut server = binary(&["server", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()])
            .args(["--heartbeat-interval", "300ms"]) // cancels travel with heartbeats
            .args(flags)
            .env("DELTACI_ADMIN_TOKEN", ADMIN_TOKEN)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let url = url_said_by(&mut server);
        Site { url, folder, children: vec![server] }
    }

    /// A runner of the default tenant, with two slots.
    pub fn with_runner(mut self) -> Site {
        let token = self.said(&["token", "create", "--kind", "runner"]);
        let work = self.folder.path().join("work");
        let runner = binary(&["runner", "--server", &self.url, "--executor", "process", "--slots", "2"])
            .args(["--work-dir", work.to_str().unwrap()])
            .env("DELTACI_TOKEN", token)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.children.push(runner);
        self
    }

    /// The binary, pointed at this server as its administrator.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = binary(words);
        command.env("DELTACI_SERVER", &self.url).env("DELTACI_TOKEN", ADMIN_TOKEN);
        command
    }

    pub fn deltaci(&self, words: &[&str]) -> Output {
        self.command(words).stdin(Stdio::null()).output().unwrap()
    }

    /// What a command that must succeed prints.
    pub fn said(&self, words: &[&str]) -> String {
        let output = self.deltaci(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", crate::stderr(&output));
        crate::stdout(&output).trim_end().to_string()
    }

    pub fn json(&self, words: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.said(&[words, &["--json"]].concat())).unwrap()
    }

    /// A command that must end with this code.
    pub fn exits(&self, code: i32, words: &[&str]) -> Output {
        let output = self.deltaci(words);
        let (out, err) = (crate::stdout(&output), crate::stderr(&output));
        assert_eq!(output.status.code(), Some(code), "{words:?}: {out}{err}");
        output
    }

    /// A file of this site.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().into()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub fn binary(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deltaci"));
    for name in ["SERVER", "TOKEN", "TENANT", "DATABASE", "DATA", "LISTEN", "ADMIN_TOKEN"] {
        command.env_remove(format!("DELTACI_{name}"));
    }
    command.args(words).env("NO_COLOR", "1");
    command
}

/// The address is in what the server says once it is ready; the rest is read too, so that it never blocks.
fn url_said_by(server: &mut Child) -> String {
    let lines = BufReader::new(server.stderr.take().unwrap()).lines();
    let (said, heard) = mpsc::channel();
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if let Some((_, rest)) = line.split_once("listens on ") {
                let _ = said.send(rest.split(' ').next().unwrap_or(rest).to_string());
            }
        }
    });
    heard.recv_timeout(DEADLINE).expect("the server says where it listens")
}

pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < DEADLINE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Bytes to a server and back, until it is cut.
pub struct Proxy {
    pub url: String,
    open: Arc<AtomicBool>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    losing: Arc<AtomicBool>,
}

impl Proxy {
    pub fn before(site: &Site) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let target: SocketAddr = site.url.trim_start_matches("http://").parse().unwrap();
        let (open, streams) = (Arc::new(AtomicBool::new(true)), Arc::new(Mutex::new(Vec::new())));
        let losing = Arc::new(AtomicBool::new(false));
        let proxy = Proxy { url, open: open.clone(), streams: streams.clone(), losing: losing.clone() };
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if !open.load(Ordering::SeqCst) {
                    continue; // dropped: the client is refused
                }
                let Ok(mut server) = TcpStream::connect(target) else { continue };
                streams.lock().unwrap().extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
                pass(client.try_clone().unwrap(), server.try_clone().unwrap());
                if losing.load(Ordering::SeqCst) {
                    let _ = server.read(&mut [0]);
                    let _ = client.shutdown(Shutdown::Both);
                    losing.store(false, Ordering::SeqCst);
                    continue;
                }
                pass(server, client);
            }
        });
        proxy
    }

    /// Breaks every connection, and refuses new ones until it is opened.
    pub fn cut(&self) {
        self.open.store(false, Ordering::SeqCst);
        for stream in self.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// The next connection breaks when the server begins to answer.
    pub fn lose_an_answer(&self) {
        self.losing.store(true, Ordering::SeqCst);
    }

    pub fn has_lost_it(&self) -> bool {
        !self.losing.load(Ordering::SeqCst)
    }

    pub fn reopen(&self) {
        self.open.store(true, Ordering::SeqCst);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.flush();
        let _ = to.shutdown(Shutdown::Both);
    });
}
