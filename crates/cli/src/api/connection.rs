//! Which server, as whom, for which tenant; and one request to it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use runner::client::{Client, Reply, Stream, Token};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ApiError;
use crate::local::reading;
use crate::output::{Exit, Problem, usage};
use crate::view::ways::Ways;

/// Where a server listens unless told otherwise.
const SERVER_USUAL: &str = "http://127.0.0.1:7171";

/// Longer than the server itself gives a request.
pub(super) const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);

/// What an id or a name may hold in a path without being escaped.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

#[derive(clap::Args)]
#[command(next_help_heading = "Server")]
pub struct Connection {
    /// Where the server is [default: http://127.0.0.1:7171]
    #[arg(long, env = "DELTACI_SERVER", value_name = "URL")]
    server: Option<String>,
    /// A file that holds the token; without it, DELTACI_TOKEN does
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The tenant, by name or id
    #[arg(long, env = "DELTACI_TENANT", value_name = "NAME", default_value = "default")]
    tenant: String,
}

impl Connection {
    /// A server was named, by flag or environment.
    pub fn is_named(&self) -> bool {
        self.server.is_some()
    }

    pub fn open(&self) -> Result<Server> {
        let url = self.server.as_deref().unwrap_or(SERVER_USUAL).trim_end_matches('/');
        if url.contains('@') {
            // Not repeated: it may hold a password.
            return Err(usage("the server's address must not hold a user or password: use DELTACI_TOKEN"));
        }
        let client = Client::new(url, &self.token()?).map_err(usage)?;
        Ok(Server { client, url: url.into(), tenant: self.tenant.clone(), ways: Ways::Server })
    }

    /// For commands that only look: without a server that is named, the records of local runs in this folder do.
    pub async fn open_to_read(&self) -> Result<Server> {
        let Some(data) = reading::here().filter(|_| !self.is_named()) else { return self.open() };
        self.open_records(&data).await
    }

    /// The records of local runs in this data directory.
    pub async fn open_records(&self, data: &Path) -> Result<Server> {
        if !reading::has_records(data) {
            return Err(usage(format!(
                "{} holds no records of runs; --data names where they are",
                data.display()
            )));
        }
        let (client, url) = (reading::client(data).await?, data.display().to_string());
        Ok(Server { client, url, tenant: self.tenant.clone(), ways: reading::ways(data) })
    }

    fn token(&self) -> Result<Token> {
        let text = match &self.token_file {
            Some(path) => {
                std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?
            }
            None => std::env::var("DELTACI_TOKEN").unwrap_or_default(),
        };
        if self.token_file.is_none() && text.is_empty() {
            let message = match (self.is_named(), reading::here()) {
                (true, _) => "no token: set DELTACI_TOKEN, or give --token-file FILE",
                (false, None) => {
                    "no token: set DELTACI_TOKEN, or give --token-file FILE; of local runs, `runs`, `show`, `logs` and \
                     `explain` can be asked without one, in the folder or with --data DIR"
                }
                (false, Some(_)) => {
                    "this needs a server: name it with --server or DELTACI_SERVER, and set DELTACI_TOKEN; of local runs, \
                     `runs`, `show`, `logs`, `explain` and `artifact list` and `pull` can be asked without one"
                }
            };
            return Err(Problem { exit: Exit::NotAuthorised, message: message.into() }.into());
        }
        Token::parse(&text).ok_or_else(|| usage("the token is empty or holds spaces"))
    }
}

/// A server, and the tenant that is asked about.
#[derive(Clone)]
pub struct Server {
    pub(super) client: Client,
    pub url: String,
    pub tenant: String,
    /// How what is suggested comes back here.
    pub ways: Ways,
}

impl Server {
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiError> {
        self.read(self.client.get(path, ANSWER_TIME_MAX).await)
    }

    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, ApiError> {
        let body = serde_json::to_vec(body).expect("requests are plain data");
        self.read(self.client.post_json(path, body, ANSWER_TIME_MAX).await)
    }

    pub async fn put<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, ApiError> {
        let body = serde_json::to_vec(body).expect("requests are plain data");
        self.read(self.client.put_json(path, body, ANSWER_TIME_MAX).await)
    }

    pub async fn delete(&self, path: &str) -> Result<(), ApiError> {
        let reply = self.client.delete(path, ANSWER_TIME_MAX).await;
        self.taken(reply).map(|_| ())
    }

    /// A body that is read as it comes.
    pub async fn open(
        &self,
        path: &str,
        accept: &'static str,
        after: Option<&str>,
    ) -> Result<Stream, ApiError> {
        let stream = self.client.open(path, accept, after, ANSWER_TIME_MAX).await;
        let stream = stream.map_err(|lost| ApiError::unreachable(&self.url, &lost))?;
        if stream.status == 200 {
            return Ok(stream);
        }
        let reply = stream.reply().await.map_err(|lost| ApiError::unreachable(&self.url, &lost))?;
        Err(ApiError::refused(&self.url, &reply))
    }

    /// `rest` below the tenant's own path.
    pub fn of_tenant(&self, rest: &str) -> String {
        format!("/v1/tenants/{}{rest}", escaped(&self.tenant))
    }

    pub fn broken(&self, problem: &str) -> ApiError {
        ApiError::broken(&self.url, problem)
    }

    fn read<T: DeserializeOwned>(&self, reply: Result<Reply, runner::client::Lost>) -> Result<T, ApiError> {
        let reply = self.taken(reply)?;
        serde_json::from_slice(&reply.body).map_err(|error| {
            let problem = format!("an answer that cannot be read ({error}); are both the same version?");
            ApiError::broken(&self.url, &problem)
        })
    }

    fn taken(&self, reply: Result<Reply, runner::client::Lost>) -> Result<Reply, ApiError> {
        let reply = reply.map_err(|lost| ApiError::unreachable(&self.url, &lost))?;
        if (200..300).contains(&reply.status) { Ok(reply) } else { Err(ApiError::refused(&self.url, &reply)) }
    }
}

/// Fit for one part of a path, or one value of a query.
pub fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}
