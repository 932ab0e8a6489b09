//! `deltaci bench collection`: how long a collection takes, and how much memory, among many blobs that are kept.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use serde_json::Value;

use crate::bench::amounts::{ITEMS_MAX, count};
use crate::bench::artifacts::push_small;
use crate::bench::folder::Folder;
use crate::bench::protocol::processes::{Memory, Method, Server};
use crate::bench::told::{Rows, told};
use crate::database::FILE;
use crate::output::progress;

#[derive(clap::Args)]
pub struct Args {
    /// Blobs that something refers to
    #[arg(long, default_value_t = 990_000, value_parser = count::<u64>(ITEMS_MAX))]
    kept: u64,
    /// Blobs that nothing refers to, with their bytes
    #[arg(long, default_value_t = 10_000, value_parser = count::<usize>(ITEMS_MAX))]
    garbage: usize,
}

/// How long bytes are kept that nothing refers to, in this benchmark.
const GRACE: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
const SMALL_BYTES: usize = 64;

#[derive(Serialize)]
struct Report {
    kept: u64,
    garbage: usize,
    deleted: u64,
    seconds: f64,
    /// The same collection with nothing else in the store, in the same run.
    alone_seconds: f64,
    server: Memory,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let report = runtime.block_on(measure(args))?;
    told(&report, json, Report::tell)
}

async fn measure(args: &Args) -> Result<Report> {
    let folder = Folder::make()?;
    let (alone_seconds, _, _) = collect(&folder.path().join("alone"), 0, args.garbage).await?;
    let (seconds, deleted, server) = collect(&folder.path().join("among"), args.kept, args.garbage).await?;
    Ok(Report { kept: args.kept, garbage: args.garbage, deleted, seconds, alone_seconds, server })
}

async fn collect(folder: &Path, kept: u64, garbage: usize) -> Result<(f64, u64, Memory)> {
    let flags = ["--blob-grace", &format!("{}s", GRACE.as_secs()), "--gc-interval", "24h"];
    if kept > 0 {
        progress(&format!("{kept} blobs that are kept"));
        Server::start_with(folder, &flags).await?.end().await?;
        store::raw::keep_blobs(&folder.join(FILE), kept).context("rows of kept blobs")?;
    }
    let server = Server::start_with(folder, &flags).await?;
    progress(&format!("{garbage} blobs that nothing refers to"));
    tokio::task::block_in_place(|| push_small(&server, garbage, SMALL_BYTES))?;
    tokio::time::sleep(GRACE * 2).await;
    progress("collecting");
    let began = Instant::now();
    let mut connection = server.connect().await?;
    let head = server.admin_head(Method::Post, "/v1/admin/gc");
    let answer: Value = serde_json::from_slice(&connection.expect(&head, "{}", 202).await?)?;
    let id = answer.get("id").and_then(Value::as_str).context("no id")?;
    let head = server.admin_head(Method::Get, &format!("/v1/admin/gc/{id}"));
    loop {
        let seen: Value = serde_json::from_slice(&connection.expect(&head, "", 200).await?)?;
        match seen.get("state").and_then(Value::as_str) {
            Some("running") => tokio::time::sleep(LOOK_AGAIN).await,
            Some("done") => {
                let seconds = began.elapsed().as_secs_f64();
                let deleted = seen.get("deleted").and_then(Value::as_u64).context("no count")?;
                ensure!(deleted == garbage as u64, "{deleted} were deleted, not {garbage}");
                return Ok((seconds, deleted, server.memory()?));
            }
            _ => bail!("the collection ended otherwise: {seen}"),
        }
    }
}

impl Report {
    fn tell(&self, rows: &mut Rows) {
        let note = format!("{} of {} blobs deleted", self.deleted, self.kept + self.garbage as u64);
        rows.row("collection", format!("{:.1} s", self.seconds), note);
        let note = format!("with nothing else there: {:.1} x", self.seconds / self.alone_seconds);
        rows.row("alone", format!("{:.1} s", self.alone_seconds), note);
        let peak = format!("{:.1} MiB", self.server.peak_kib as f64 / 1024.0);
        rows.row("server's memory", peak, "at most");
    }
}
