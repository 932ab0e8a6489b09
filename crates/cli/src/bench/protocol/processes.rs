//! The processes that are measured: a server with a fresh SQLite file, an echo, runners. Killed when dropped.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};

use crate::bench::protocol::http::{Connection, Head, field};

/// Of the servers that this benchmark starts for itself, so that it can make the other tokens.
const ADMIN_TOKEN: &str = "an-admin-token-for-the-benchmark-alone";

/// How long a process may take to start, and a state to come about.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

pub struct Server {
    pub address: SocketAddr,
    /// Of a tenant: it submits and looks.
    pub submitter: String,
    /// Of that tenant's runners.
    pub runner: String,
    process: Child,
}

pub enum Method {
    Get,
    Post,
}

pub struct Echo {
    pub address: SocketAddr,
    _process: Child,
}

pub struct Runner {
    process: Child,
}

impl Server {
    /// The database is made in the folder, which must be on a disk.
    pub async fn start(folder: &Path) -> Result<Server> {
        Server::start_with(folder, &[]).await
    }

    pub async fn start_with(folder: &Path, flags: &[&str]) -> Result<Server> {
        std::fs::create_dir_all(folder)?;
        let mut command = ourselves()?;
        command.args(["server", "--listen", "127.0.0.1:0", "--data"]).arg(folder).args(flags);
        command.env("DELTACI_ADMIN_TOKEN", ADMIN_TOKEN);
        let (process, address) = listening(command).await.context("the server did not start")?;
        let submitter = token(address, "tenant").await?;
        let runner = token(address, "runner").await?;
        Ok(Server { address, submitter, runner, process })
    }

    pub async fn connect(&self) -> Result<Connection> {
        Connection::open(self.address).await
    }

    pub fn submit_head(&self) -> Head {
        Head::post("/v1/tenants/default/jobs", &self.submitter)
    }

    pub fn runner_head(&self, message: &str) -> Head {
        Head::post(&format!("/v1/runner/{message}"), &self.runner)
    }

    /// Returns when so many runners wait for work.
    pub async fn until_waiting(&self, runners: usize) -> Result<()> {
        let wanted = format!("deltaci_leases_waiting {runners}\n");
        let head = Head::get("/metrics", ADMIN_TOKEN);
        let mut connection = self.connect().await?;
        let look = async {
            loop {
                let text = connection.expect(&head, "", 200).await?;
                if String::from_utf8_lossy(&text).contains(&wanted) {
                    return anyhow::Ok(());
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        let looked = tokio::time::timeout(PATIENCE, look).await;
        looked.with_context(|| format!("{runners} runners did not come to wait"))?
    }

    pub fn memory(&self) -> Result<Memory> {
        memory(&self.process)
    }

    pub fn admin_head(&self, method: Method, path: &str) -> Head {
        match method {
            Method::Get => Head::get(path, ADMIN_TOKEN),
            Method::Post => Head::post(path, ADMIN_TOKEN),
        }
    }

    pub async fn end(mut self) -> Result<()> {
        self.process.kill().await.context("a server could not be ended")
    }
}

impl Echo {
    pub async fn start() -> Result<Echo> {
        let mut command = ourselves()?;
        command.args(["bench", "echo"]);
        let (process, address) = listening(command).await.context("the echo did not start")?;
        Ok(Echo { address, _process: process })
    }
}

impl Runner {
    /// One slot, plain processes; its talk goes to a file, as a service manager would have it.
    pub fn start(server: &Server, folder: &Path, name: &str) -> Result<Runner> {
        let talk = std::fs::File::create(folder.join(format!("{name}.log")))?;
        let mut command = ourselves()?;
        command.args(["runner", "--executor", "process", "--name", name, "--work-dir"]);
        command.arg(folder.join("work")).arg("--server").arg(format!("http://{}", server.address));
        command.env("DELTACI_TOKEN", &server.runner).stderr(talk);
        Ok(Runner { process: command.spawn().context("a runner did not start")? })
    }

    pub fn memory(&self) -> Result<Memory> {
        memory(&self.process)
    }

    /// Returns when it is gone, so that nothing is written any more to the folder that is removed next.
    pub async fn end(mut self) -> Result<()> {
        self.process.kill().await.context("a runner could not be ended")
    }
}

fn ourselves() -> Result<Command> {
    let mut command = Command::new(std::env::current_exe().context("where this program is")?);
    command.stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
    Ok(command)
}

/// Starts a program that says on stderr where it listens.
async fn listening(mut command: Command) -> Result<(Child, SocketAddr)> {
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    let mut talk = BufReader::new(child.stderr.take().context("it has no stderr")?);
    let address =
        tokio::time::timeout(PATIENCE, address_in(&mut talk)).await.context("it says nothing")??;
    tokio::spawn(async move {
        let mut line = String::new();
        while let Ok(1..) = talk.read_line(&mut line).await {
            line.clear(); // a pipe that nobody reads would hold it up
        }
    });
    Ok((child, address))
}

async fn address_in(talk: &mut BufReader<ChildStderr>) -> Result<SocketAddr> {
    let mut line = String::new();
    let mut said = String::new();
    while talk.read_line(&mut line).await? > 0 {
        if let Some((_, rest)) = line.split_once("listens on http://") {
            return rest.split_whitespace().next().unwrap_or(rest).parse().context("no address");
        }
        said.push_str(&line);
        line.clear();
    }
    bail!("it ended: {said}")
}

async fn token(address: SocketAddr, kind: &str) -> Result<String> {
    let mut connection = Connection::open(address).await?;
    let head = Head::post("/v1/tenants/default/tokens", ADMIN_TOKEN);
    let body = format!(r#"{{"kind":"{kind}","name":"bench"}}"#);
    let answer = connection.expect(&head, &body, 201).await?;
    Ok(field(&answer, "token")?.into())
}

/// Resident memory, by what it is: what the process made itself, and what the system could drop and read again.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Memory {
    pub resident_kib: u64,
    pub anonymous_kib: u64,
    pub file_kib: u64,
    /// The most that was ever resident.
    pub peak_kib: u64,
}

fn memory(process: &Child) -> Result<Memory> {
    let id = process.id().context("a process of the benchmark has ended")?;
    let status =
        std::fs::read_to_string(format!("/proc/{id}/status")).context("reading a process's memory")?;
    let kib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_whitespace().next()?.parse().ok())
            .with_context(|| format!("no {name}"))
    };
    Ok(Memory {
        resident_kib: kib("VmRSS:")?,
        anonymous_kib: kib("RssAnon:")?,
        file_kib: kib("RssFile:")?,
        peak_kib: kib("VmHWM:")?,
    })
}
