//! The two sides: how each is given bytes and asked for them.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::bench::artifacts::wire::Client;

const BYTES: &str = "application/octet-stream";
const JSON: &str = "application/json";

#[derive(Clone)]
pub enum Side {
    Ours {
        address: SocketAddr,
        token: String,
    },
    /// A registry of the OCI distribution specification.
    Registry {
        address: SocketAddr,
    },
}

/// Bytes and their digest, `sha256:…`.
#[derive(Clone)]
pub struct Content {
    pub digest: String,
    pub bytes: Vec<u8>,
}

impl Side {
    pub fn connect(&self) -> Result<Client> {
        match self {
            Side::Ours { address, token } => Client::connect(*address, Some(token)),
            Side::Registry { address } => Client::connect(*address, None),
        }
    }

    /// Durable when this returns, by each side's own promise.
    pub fn push(&self, client: &mut Client, content: &Content, large: bool) -> Result<()> {
        match self {
            Side::Ours { .. } if large => push_session(client, content),
            Side::Ours { .. } => {
                let path = format!("/v1/tenants/default/blobs/{}", content.digest);
                client.expect("PUT", &path, BYTES, &content.bytes, &[200, 201]).map(drop)
            }
            Side::Registry { .. } => {
                let begun = client.expect("POST", "/v2/bench/blobs/uploads/", BYTES, &[], &[202])?;
                let location = begun.location.context("no location")?;
                let path =
                    location.split_once("/v2/").map_or(location.clone(), |(_, rest)| format!("/v2/{rest}"));
                let joint = if path.contains('?') { '&' } else { '?' };
                let path = format!("{path}{joint}digest={}", content.digest);
                client.expect("PUT", &path, BYTES, &content.bytes, &[201]).map(drop)
            }
        }
    }

    pub fn pull(&self, client: &mut Client, content: &Content) -> Result<()> {
        let path = match self {
            Side::Ours { .. } => format!("/v1/tenants/default/blobs/{}", content.digest),
            Side::Registry { .. } => format!("/v2/bench/blobs/{}", content.digest),
        };
        let reply = client.expect("GET", &path, BYTES, &[], &[200])?;
        if reply.length != content.bytes.len() as u64 {
            bail!("{} bytes came, not {}", reply.length, content.bytes.len());
        }
        Ok(())
    }
}

fn push_session(client: &mut Client, content: &Content) -> Result<()> {
    let uploads = "/v1/tenants/default/uploads";
    let start = format!(r#"{{"digest":"{}","length":{}}}"#, content.digest, content.bytes.len());
    let started = client.expect("POST", uploads, JSON, start.as_bytes(), &[201])?;
    let started: Value = serde_json::from_slice(&started.body).context("an upload")?;
    let id = started.get("id").and_then(Value::as_str).context("no id")?;
    client.expect("PUT", &format!("{uploads}/{id}/content"), BYTES, &content.bytes, &[200])?;
    client.expect("POST", &format!("{uploads}/{id}/commit"), JSON, &[], &[200]).map(drop)
}
