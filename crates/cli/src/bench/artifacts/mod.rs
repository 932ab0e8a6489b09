//! `deltaci bench artifacts`: bytes in and out over loopback HTTP, beside what disk and hash allow, and beside a registry
//! when one is named. We and the peer take turns.

mod sides;
mod wire;

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::bench::artifacts::sides::{Content, Side};
use crate::bench::protocol::processes::{Memory, Server};
use crate::output::{Exit, progress};

#[derive(clap::Args)]
pub struct Args {
    /// A registry to measure beside (OCI distribution API), such as 127.0.0.1:5000
    #[arg(long)]
    registry: Option<SocketAddr>,
    /// How large the large blob is, in MiB
    #[arg(long, default_value_t = 1_024)]
    large: usize,
    /// How many small blobs there are
    #[arg(long, default_value_t = 2_000)]
    small: usize,
    /// How large a small one is, in KiB
    #[arg(long, default_value_t = 16)]
    small_kib: usize,
    #[arg(long, default_value_t = 8)]
    connections: usize,
    /// In each, both sides do everything once
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// What one side did; medians over the rounds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
struct Rates {
    push_mb_per_second: f64,
    pull_mb_per_second: f64,
    small_pushes_per_second: f64,
    small_pulls_per_second: f64,
}

#[derive(Serialize)]
struct Report {
    large_mib: usize,
    small: usize,
    small_kib: usize,
    connections: usize,
    ours: Rates,
    registry: Option<Rates>,
    disk_mb_per_second: f64,
    sha256_mb_per_second: f64,
    server_after: Memory,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let report = runtime.block_on(measure(args))?;
    progress("");
    if json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        report.print();
    }
    Ok(Exit::Success.into())
}

async fn measure(args: &Args) -> Result<Report> {
    let folder = tempfile::tempdir_in(".").context("a folder for the benchmark")?;
    let server = Server::start(&folder.path().join("server")).await?;
    let ours = Side::Ours { address: server.address, token: server.submitter.clone() };
    let peer = args.registry.map(|address| Side::Registry { address });
    let (mut our_rounds, mut peer_rounds) = (Vec::new(), Vec::new());
    let (mut disk, mut hash) = (Vec::new(), Vec::new());
    for round in 0..args.rounds.max(1) {
        progress(&format!("round {} of {}: preparing", round + 1, args.rounds));
        let bytes = args.large << 20;
        let large = [content(round * 2, bytes), content(round * 2 + 1, bytes)];
        disk.push(megabytes(bytes, || write(folder.path(), &large[0].bytes))?);
        hash.push(megabytes(bytes, || hashed(&large[0].bytes))?);
        progress(&format!("round {} of {}: ours", round + 1, args.rounds));
        our_rounds.push(tokio::task::block_in_place(|| side(&ours, args, round, &large[0]))?);
        if let Some(peer) = &peer {
            progress(&format!("round {} of {}: the registry", round + 1, args.rounds));
            peer_rounds.push(tokio::task::block_in_place(|| side(peer, args, round, &large[1]))?);
        }
    }
    Ok(Report {
        large_mib: args.large,
        small: args.small,
        small_kib: args.small_kib,
        connections: args.connections,
        ours: medians(&our_rounds),
        registry: peer.map(|_| medians(&peer_rounds)),
        disk_mb_per_second: median(disk),
        sha256_mb_per_second: median(hash),
        server_after: server.memory()?,
    })
}

fn side(side: &Side, args: &Args, round: usize, large: &Content) -> Result<Rates> {
    let mut client = side.connect()?;
    let bytes = large.bytes.len();
    let push_mb_per_second = megabytes(bytes, || side.push(&mut client, large, true))?;
    let pull_mb_per_second = megabytes(bytes, || side.pull(&mut client, large))?;
    let first = 1_000_000 * (round + 1);
    let small: Vec<Content> =
        (0..args.small).map(|number| content(first + number, args.small_kib << 10)).collect();
    let small_pushes_per_second =
        spread(side, args.connections, &small, |client, it| side.push(client, it, false))?;
    let small_pulls_per_second = spread(side, args.connections, &small, |client, it| side.pull(client, it))?;
    Ok(Rates { push_mb_per_second, pull_mb_per_second, small_pushes_per_second, small_pulls_per_second })
}

/// All of it over so many connections, each with its share.
fn spread(
    side: &Side,
    connections: usize,
    contents: &[Content],
    each: impl Fn(&mut wire::Client, &Content) -> Result<()> + Sync,
) -> Result<f64> {
    let mut clients = (0..connections.max(1)).map(|_| side.connect()).collect::<Result<Vec<_>>>()?;
    let share = contents.len().div_ceil(clients.len()).max(1);
    let began = Instant::now();
    std::thread::scope(|scope| {
        let each = &each;
        let workers: Vec<_> = clients
            .iter_mut()
            .zip(contents.chunks(share))
            .map(|(client, share)| scope.spawn(move || share.iter().try_for_each(|it| each(client, it))))
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    Ok(contents.len() as f64 / began.elapsed().as_secs_f64())
}

fn megabytes(bytes: usize, work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let began = Instant::now();
    work()?;
    Ok(bytes as f64 / 1e6 / began.elapsed().as_secs_f64())
}

fn hashed(bytes: &[u8]) -> Result<()> {
    std::hint::black_box(Sha256::digest(bytes));
    Ok(())
}

fn write(folder: &Path, bytes: &[u8]) -> Result<()> {
    let path = folder.join("written");
    let mut file = std::fs::File::create(&path)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::remove_file(path)?;
    Ok(())
}

/// Bytes that no two numbers share and nothing compresses.
fn content(number: usize, length: usize) -> Content {
    let mut state = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    let digest = ::wire::Digest::from_bytes(Sha256::digest(&bytes).into()).to_string();
    Content { digest, bytes }
}

fn medians(rounds: &[Rates]) -> Rates {
    let of = |figure: fn(&Rates) -> f64| median(rounds.iter().map(figure).collect());
    Rates {
        push_mb_per_second: of(|it| it.push_mb_per_second),
        pull_mb_per_second: of(|it| it.pull_mb_per_second),
        small_pushes_per_second: of(|it| it.small_pushes_per_second),
        small_pulls_per_second: of(|it| it.small_pulls_per_second),
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}

impl Report {
    fn print(&self) {
        let row = |name: &str, figure: String, note: String| println!("{name:<20}{figure:>12}   {note}");
        let limit = self.disk_mb_per_second.min(self.sha256_mb_per_second);
        let rate = |figure: f64| format!("{figure:.0} MB/s");
        row("disk, with fsync", rate(self.disk_mb_per_second), format!("{} MiB", self.large_mib));
        row("SHA-256", rate(self.sha256_mb_per_second), "one core".into());
        let part = format!("{:.0} % of the lower of the two", 100.0 * self.ours.push_mb_per_second / limit);
        row("push", rate(self.ours.push_mb_per_second), self.beside(part, |it| it.push_mb_per_second));
        row(
            "pull",
            rate(self.ours.pull_mb_per_second),
            self.beside(String::new(), |it| it.pull_mb_per_second),
        );
        let small = format!("{} of {} KiB on {} connections", self.small, self.small_kib, self.connections);
        let each = |figure: f64| format!("{figure:.0}/s");
        row(
            "small pushes",
            each(self.ours.small_pushes_per_second),
            self.beside(small, |it| it.small_pushes_per_second),
        );
        let pulls = self.beside(String::new(), |it| it.small_pulls_per_second);
        row("small pulls", each(self.ours.small_pulls_per_second), pulls);
        let own = self.server_after.anonymous_kib as f64 / 1024.0;
        let memory = format!("{:.1} MiB", self.server_after.resident_kib as f64 / 1024.0);
        row("server's memory", memory, format!("{own:.1} MiB of its own, after all of it"));
    }

    fn beside(&self, note: String, figure: fn(&Rates) -> f64) -> String {
        let Some(registry) = &self.registry else { return note };
        let joint = if note.is_empty() { "" } else { "; " };
        format!(
            "{note}{joint}{:.1} x the registry's {:.0}",
            figure(&self.ours) / figure(registry),
            figure(registry)
        )
    }
}
