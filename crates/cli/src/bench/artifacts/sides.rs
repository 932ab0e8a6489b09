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

/// Pieces of 64 MiB, each sent to a URL of its own; the last may be shorter.
const PART_BYTES: usize = 64 << 20;

/// The way around the server where bytes lie in a bucket; with files, the URLs lead to the server as well.
pub fn push_parts(client: &mut Client, content: &Content) -> Result<()> {
    let uploads = "/v1/tenants/default/uploads";
    let id = start(client, content)?;
    let parts: Vec<&[u8]> = content.bytes.chunks(PART_BYTES).collect();
    let lengths =
        serde_json::json!({"part_lengths": parts.iter().map(|part| part.len()).collect::<Vec<_>>()});
    let signed = client.expect(
        "POST",
        &format!("{uploads}/{id}/parts"),
        JSON,
        lengths.to_string().as_bytes(),
        &[200],
    )?;
    let signed: Value = serde_json::from_slice(&signed.body).context("parts")?;
    let signed = signed.get("parts").and_then(Value::as_array).context("no parts")?;
    let mut tags = Vec::new();
    for (place, bytes) in signed.iter().zip(&parts) {
        let url = place.get("url").and_then(Value::as_str).context("no URL")?;
        let path = url.splitn(4, '/').nth(3).context("no path")?;
        let put = client.expect("PUT", &format!("/{path}"), BYTES, bytes, &[200])?;
        tags.push(serde_json::json!({"number": place.get("number"), "etag": put.etag.context("no tag")?}));
    }
    let tags = serde_json::json!({"parts": tags}).to_string();
    client.expect("POST", &format!("{uploads}/{id}/complete"), JSON, tags.as_bytes(), &[200])?;
    client.expect("POST", &format!("{uploads}/{id}/commit"), JSON, &[], &[200]).map(drop)
}

fn push_session(client: &mut Client, content: &Content) -> Result<()> {
    let uploads = "/v1/tenants/default/uploads";
    let id = start(client, content)?;
    client.expect("PUT", &format!("{uploads}/{id}/content"), BYTES, &content.bytes, &[200])?;
    client.expect("POST", &format!("{uploads}/{id}/commit"), JSON, &[], &[200]).map(drop)
}

fn start(client: &mut Client, content: &Content) -> Result<String> {
    let start = format!(r#"{{"digest":"{}","length":{}}}"#, content.digest, content.bytes.len());
    let started = client.expect("POST", "/v1/tenants/default/uploads", JSON, start.as_bytes(), &[201])?;
    let started: Value = serde_json::from_slice(&started.body).context("an upload")?;
    Ok(started.get("id").and_then(Value::as_str).context("no id")?.to_owned())
}
