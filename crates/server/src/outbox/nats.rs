//! Messages over NATS: into a stream, which acknowledges and drops repetitions, where one takes the subject; otherwise
//! published and flushed.

use std::time::Duration;

use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream;
use async_nats::jetstream::context::GetStreamByNameErrorKind;
use async_nats::{Client, ConnectOptions, HeaderMap};
use bytes::Bytes;
use tokio::sync::OnceCell;

use crate::outbox::target::Rules;

const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);

/// The client of the server's own NATS. Others are connected to for one message: their addresses are checked each time.
#[derive(Default)]
pub struct Nats {
    own: OnceCell<Client>,
}

impl Nats {
    pub async fn publish_own(
        &self,
        rules: &Rules,
        subject: &str,
        id: &str,
        body: &str,
    ) -> Result<(), String> {
        let address =
            rules.nats.as_ref().ok_or("this server has no NATS: it would have to run with --nats")?;
        let client = self.own.get_or_try_init(|| options().connect(address.clone())).await;
        publish(client.map_err(|error| format!("cannot connect to NATS: {error}"))?, subject, id, body).await
    }

    pub async fn publish_to(
        &self,
        rules: &Rules,
        (host, port): (&str, u16),
        subject: &str,
        id: &str,
        body: &str,
    ) -> Result<(), String> {
        let addresses = rules.resolve(host, port).await?;
        let address = addresses.first().ok_or("the name has no address")?;
        // The address itself, and no other that the server may know of: those were not checked.
        let options = options().ignore_discovered_servers().max_reconnects(1);
        let client = options.connect(address.to_string()).await;
        let client = client.map_err(|error| format!("cannot connect to NATS: {error}"))?;
        let published = publish(&client, subject, id, body).await;
        let _ = client.drain().await; // nobody waits for the goodbye
        published
    }
}

fn options() -> ConnectOptions {
    ConnectOptions::new().name("deltaci outbox").connection_timeout(CONNECT_TIME_MAX)
}

async fn publish(client: &Client, subject: &str, id: &str, body: &str) -> Result<(), String> {
    let mut headers = HeaderMap::new();
    headers.insert(NATS_MESSAGE_ID, id);
    let (subject, payload) = (subject.to_owned(), Bytes::from(body.to_owned()));
    let streams = jetstream::new(client.clone());
    if has_stream(&streams, &subject).await? {
        let sent = streams.publish_with_headers(subject, headers, payload).await;
        let acknowledged = sent.map_err(|error| format!("NATS did not take it: {error}"))?.await;
        return acknowledged.map(drop).map_err(|error| format!("the stream did not take it: {error}"));
    }
    let sent = client.publish_with_headers(subject, headers, payload).await;
    sent.map_err(|error| format!("NATS did not take it: {error}"))?;
    client.flush().await.map_err(|error| format!("NATS did not take it: {error}"))
}

/// Whether a stream takes the subject. A server without streams says that nobody responds.
async fn has_stream(streams: &jetstream::Context, subject: &str) -> Result<bool, String> {
    match streams.stream_by_subject(subject).await {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == GetStreamByNameErrorKind::NotFound => Ok(false),
        Err(error) => {
            let said = format!("{error}: {}", chain(&error)).to_lowercase();
            let has_none = said.contains("no responders") || said.contains("jetstream not enabled");
            if has_none { Ok(false) } else { Err(format!("NATS did not answer: {said}")) }
        }
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(error.source(), |error| error.source());
    sources.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
