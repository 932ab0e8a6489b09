//! A job's log as it grows, followed to its end through broken connections: nothing twice, nothing left out.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use runner::client::Stream;
use serde::de::DeserializeOwned;
use wire::ExecId;
use wire::api::{LogEnd, LogExecution, LogGap, LogText};

use super::sse::{Parser, SentEvent};
use super::{ApiError, Server};

/// Tries in a row that brought nothing, a pause between them.
const TRIES_MAX: u32 = 60;
const PAUSE: Duration = Duration::from_secs(1);

/// The server shows every fifteen seconds that it lives; after three times that it does not.
const SILENCE_MAX: Duration = Duration::from_secs(45);

/// What a follower is told.
#[derive(Debug)]
pub enum Followed {
    Execution(LogExecution),
    Log(LogText),
    Gap(LogGap),
    Lost(LogExecution),
    /// The connection broke; it goes on from where it was.
    Broken,
    End(LogEnd),
}

pub struct Follower {
    server: Server,
    path: String,
    /// Where the server goes on.
    last_id: Option<String>,
    stream: Option<Stream>,
    parser: Parser,
    ready: VecDeque<SentEvent>,
    /// Announced or lost: said again after a reconnection, but only once by us.
    begun: HashSet<ExecId>,
    lost: HashSet<ExecId>,
    connected: bool,
    tries: u32,
}

impl Follower {
    pub fn of(server: Server, job: &str) -> Follower {
        Follower {
            path: server.log_path(job, true),
            server,
            last_id: None,
            stream: None,
            parser: Parser::default(),
            ready: VecDeque::new(),
            begun: HashSet::new(),
            lost: HashSet::new(),
            connected: false,
            tries: 0,
        }
    }

    pub async fn next(&mut self) -> Result<Followed, ApiError> {
        loop {
            while let Some(event) = self.ready.pop_front() {
                if let Some(followed) = self.understood(event)? {
                    return Ok(followed);
                }
            }
            if let Some(broken) = self.receive().await? {
                return Ok(broken);
            }
        }
    }

    /// More bytes, or another connection.
    async fn receive(&mut self) -> Result<Option<Followed>, ApiError> {
        let Some(stream) = &mut self.stream else { return self.connect().await.map(|()| None) };
        match tokio::time::timeout(SILENCE_MAX, stream.next()).await {
            Ok(Some(Ok(bytes))) if self.parser.feed(&bytes, &mut self.ready).is_ok() => {
                if self.parser.heard_sign_of_life() {
                    self.tries = 0;
                }
                Ok(None)
            }
            Ok(_) | Err(_) if self.tries >= TRIES_MAX => {
                Err(self.server.broken("a log that breaks off again and again"))
            }
            Ok(_) | Err(_) => {
                self.stream = None;
                self.parser = Parser::default();
                Ok((self.tries == 0).then_some(Followed::Broken))
            }
        }
    }

    /// The first connection must work at once; later ones may take a while, as when a server restarts.
    async fn connect(&mut self) -> Result<(), ApiError> {
        if self.connected {
            tokio::time::sleep(PAUSE.min(PAUSE * self.tries)).await;
            self.tries += 1;
        }
        match self.server.open(&self.path, "text/event-stream", self.last_id.as_deref()).await {
            Ok(stream) => {
                (self.stream, self.connected) = (Some(stream), true);
                Ok(())
            }
            Err(error) if error.passing && self.connected && self.tries < TRIES_MAX => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn understood(&mut self, event: SentEvent) -> Result<Option<Followed>, ApiError> {
        let followed = match event.name.as_str() {
            "log" => Followed::Log(self.data(&event)?),
            "gap" => Followed::Gap(self.data(&event)?),
            "end" => Followed::End(self.data(&event)?),
            "execution" => {
                let execution: LogExecution = self.data(&event)?;
                if !self.begun.insert(execution.exec_id) {
                    return Ok(None);
                }
                Followed::Execution(execution)
            }
            "lost" => {
                let execution: LogExecution = self.data(&event)?;
                if !self.lost.insert(execution.exec_id) {
                    return Ok(None);
                }
                Followed::Lost(execution)
            }
            _ => return Ok(None), // a newer server may say more
        };
        self.tries = 0;
        self.last_id = event.id.or(self.last_id.take());
        Ok(Some(followed))
    }

    fn data<T: DeserializeOwned>(&self, event: &SentEvent) -> Result<T, ApiError> {
        let read = serde_json::from_str(&event.data);
        read.map_err(|error| self.server.broken(&format!("an event that cannot be read ({error})")))
    }
}
