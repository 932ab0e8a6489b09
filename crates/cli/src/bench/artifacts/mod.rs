//! `deltaci bench artifacts`: bytes in and out over loopback HTTP, beside what disk and hash allow, and beside a registry
//! when one is named. We and the peer take turns; what one has left to the disk is written before the other's time begins.

mod sides;
mod wire;

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::bench::amounts::{CALLERS_MAX, ITEMS_MAX, KIB_MAX, MIB_MAX, ROUNDS_MAX, count};
use crate::bench::artifacts::sides::{Content, Side};
use crate::bench::folder::Folder;
use crate::bench::protocol::processes::{Memory, Server};
use crate::bench::report::middle;
use crate::bench::told::{Rows, told};
use crate::output::progress;

#[derive(clap::Args)]
pub struct Args {
    /// A registry to measure beside (OCI distribution API), such as 127.0.0.1:5000
    #[arg(long)]
    registry: Option<SocketAddr>,
    /// How large the large blob is, in MiB
    #[arg(long, default_value_t = 1_024, value_parser = count::<usize>(MIB_MAX))]
    large: usize,
    /// How many small blobs there are
    #[arg(long, default_value_t = 2_000, value_parser = count::<usize>(ITEMS_MAX))]
    small: usize,
    /// How large a small one is, in KiB
    #[arg(long, default_value_t = 16, value_parser = count::<usize>(KIB_MAX))]
    small_kib: usize,
    #[arg(long, default_value_t = 8, value_parser = count::<usize>(CALLERS_MAX))]
    connections: usize,
    /// In each, both sides do everything once
    #[arg(long, default_value_t = 3, value_parser = count::<usize>(ROUNDS_MAX))]
    rounds: usize,
}

/// What one side did; medians over the rounds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
struct Rates {
    large: Large,
    small: Small,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
struct Large {
    push_mb_per_second: f64,
    /// By pre-signed parts; a registry has no such way.
    parts_mb_per_second: Option<f64>,
    pull_mb_per_second: f64,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
struct Small {
    pushes_per_second: f64,
    pulls_per_second: f64,
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
    /// After the large blobs, and after all.
    server_large: Memory,
    server_after: Memory,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let report = runtime.block_on(measure(args))?;
    told(&report, json, Report::tell)
}

async fn measure(args: &Args) -> Result<Report> {
    let folder = Folder::make()?;
    let server = Server::start(&folder.path().join("server")).await?;
    let ours = Side::Ours { address: server.address, token: server.submitter.clone() };
    let peer = args.registry.map(|address| Side::Registry { address });
    let rounds = args.rounds;
    let (mut disk, mut hash) = (Vec::new(), Vec::new());
    let (mut our_large, mut peer_large) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        progress(&format!("round {} of {rounds}: large, ours", round + 1));
        let of = |number: usize| content(round * 3 + number, args.large << 20);
        let first = of(0);
        disk.push(megabytes(first.bytes.len(), || write(folder.path(), &first.bytes))?);
        hash.push(megabytes(first.bytes.len(), || hashed(&first.bytes))?);
        our_large.push(tokio::task::block_in_place(|| large(&ours, &first, || of(1)))?);
        if let Some(peer) = &peer {
            progress(&format!("round {} of {rounds}: large, the registry", round + 1));
            peer_large.push(tokio::task::block_in_place(|| large(peer, &of(2), || of(1)))?);
        }
    }
    let server_large = server.memory()?;
    let (mut our_small, mut peer_small) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        progress(&format!("round {} of {rounds}: small, ours", round + 1));
        our_small.push(tokio::task::block_in_place(|| small(&ours, args, round))?);
        if let Some(peer) = &peer {
            progress(&format!("round {} of {rounds}: small, the registry", round + 1));
            peer_small.push(tokio::task::block_in_place(|| small(peer, args, round))?);
        }
    }
    Ok(Report {
        large_mib: args.large,
        small: args.small,
        small_kib: args.small_kib,
        connections: args.connections,
        ours: Rates { large: Large::medians(&our_large), small: Small::medians(&our_small) },
        registry: peer
            .map(|_| Rates { large: Large::medians(&peer_large), small: Small::medians(&peer_small) }),
        disk_mb_per_second: middle(disk),
        sha256_mb_per_second: middle(hash),
        server_large,
        server_after: server.memory()?,
    })
}

fn large(side: &Side, content: &Content, other: impl FnOnce() -> Content) -> Result<Large> {
    let mut client = side.connect()?;
    let bytes = content.bytes.len();
    let push_mb_per_second = megabytes(bytes, || side.push(&mut client, content, true))?;
    let pull_mb_per_second = megabytes(bytes, || side.pull(&mut client, content))?;
    let parts_mb_per_second = match side {
        Side::Ours { .. } => {
            let other = other();
            Some(megabytes(bytes, || sides::push_parts(&mut client, &other))?)
        }
        Side::Registry { .. } => None,
    };
    Ok(Large { push_mb_per_second, parts_mb_per_second, pull_mb_per_second })
}

fn small(side: &Side, args: &Args, round: usize) -> Result<Small> {
    let first = 1_000_000 * (round + 1);
    let small: Vec<Content> =
        (0..args.small).map(|number| content(first + number, args.small_kib << 10)).collect();
    let pushes_per_second =
        spread(side, args.connections, &small, |client, it| side.push(client, it, false))?;
    let pulls_per_second = spread(side, args.connections, &small, |client, it| side.pull(client, it))?;
    Ok(Small { pushes_per_second, pulls_per_second })
}

/// So many different small blobs for another benchmark, on eight connections.
pub fn push_small(server: &Server, count: usize, bytes: usize) -> Result<()> {
    let side = Side::Ours { address: server.address, token: server.submitter.clone() };
    let small: Vec<Content> = (0..count).map(|number| content(number, bytes)).collect();
    spread(&side, 8, &small, |client, it| side.push(client, it, false)).map(drop)
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
    rustix::fs::sync();
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
    rustix::fs::sync();
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

impl Large {
    fn medians(rounds: &[Large]) -> Large {
        let of = |figure: fn(&Large) -> f64| middle(rounds.iter().map(figure).collect());
        let parts: Option<Vec<f64>> = rounds.iter().map(|round| round.parts_mb_per_second).collect();
        Large {
            push_mb_per_second: of(|it| it.push_mb_per_second),
            parts_mb_per_second: parts.map(middle),
            pull_mb_per_second: of(|it| it.pull_mb_per_second),
        }
    }
}

impl Small {
    fn medians(rounds: &[Small]) -> Small {
        let of = |figure: fn(&Small) -> f64| middle(rounds.iter().map(figure).collect());
        Small {
            pushes_per_second: of(|it| it.pushes_per_second),
            pulls_per_second: of(|it| it.pulls_per_second),
        }
    }
}

impl Report {
    fn tell(&self, rows: &mut Rows) {
        let limit = self.disk_mb_per_second.min(self.sha256_mb_per_second);
        let rate = |figure: f64| format!("{figure:.0} MB/s");
        rows.row("disk, with fsync", rate(self.disk_mb_per_second), format!("{} MiB", self.large_mib));
        rows.row("SHA-256", rate(self.sha256_mb_per_second), "one core");
        let part = |figure: f64| format!("{:.0} % of the lower of the two", 100.0 * figure / limit);
        let Large { push_mb_per_second, parts_mb_per_second, pull_mb_per_second } = self.ours.large;
        let push = self.beside(part(push_mb_per_second), |it| it.large.push_mb_per_second);
        rows.row("push", rate(push_mb_per_second), push);
        if let Some(parts) = parts_mb_per_second {
            rows.row("push by parts", rate(parts), part(parts));
        }
        let pull = self.beside(String::new(), |it| it.large.pull_mb_per_second);
        rows.row("pull", rate(pull_mb_per_second), pull);
        let small = format!("{} of {} KiB on {} connections", self.small, self.small_kib, self.connections);
        let each = |figure: f64| format!("{figure:.0}/s");
        let Small { pushes_per_second, pulls_per_second } = self.ours.small;
        rows.row(
            "small pushes",
            each(pushes_per_second),
            self.beside(small, |it| it.small.pushes_per_second),
        );
        let pulls = self.beside(String::new(), |it| it.small.pulls_per_second);
        rows.row("small pulls", each(pulls_per_second), pulls);
        let mib = |kib: u64| format!("{:.1} MiB", kib as f64 / 1024.0);
        let peak = mib(self.server_large.peak_kib);
        rows.row("server's memory", peak, "at most, while the large blobs came and went");
        let note = format!("after all; at most {}", mib(self.server_after.peak_kib));
        rows.row("", mib(self.server_after.resident_kib), note);
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
