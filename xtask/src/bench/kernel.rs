//! The kernel's benchmarks, and beside them graphile-worker on the same PostgreSQL. Rounds alternate; medians are
//! compared.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use serde_json::Value;

use super::{figure, output, peer};
use crate::postgres::Server;
use crate::workspace::run_to_end;

const ROUNDS: usize = 3;

pub fn run(root: &Path, deltaci: &Path) -> Result<u8> {
    let peer = peer(root, "graphile-worker");
    install_peer(&peer)?;

    println!("SQLite");
    let code = run_to_end(Command::new(deltaci).args(["bench", "kernel"]).current_dir(root))?;
    if code != 0 {
        return Ok(code);
    }
    println!("\nPostgreSQL, {ROUNDS} rounds, alternating with graphile-worker");
    let server = Server::start()?;
    let rounds: Vec<Round> =
        (1..=ROUNDS).map(|number| round(number, deltaci, &peer, &server.url)).collect::<Result<_>>()?;
    report(&rounds);
    Ok(0)
}

fn install_peer(peer: &Path) -> Result<()> {
    if peer.join("node_modules").exists() {
        return Ok(());
    }
    let code = run_to_end(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(peer))?;
    if code != 0 {
        bail!("npm could not install the peer; Node 20 or newer is needed for this benchmark");
    }
    Ok(())
}

/// Jobs or lifecycles per second.
struct Round {
    ours: f64,
    raw_rows: f64,
    peer_as_installed: f64,
    peer_tuned: f64,
}

fn round(number: usize, deltaci: &Path, peer: &Path, url: &str) -> Result<Round> {
    let bare = peer_rates(peer, url, "1")?;
    let ours = output(Command::new(deltaci).args([
        "bench",
        "kernel",
        "--store",
        "postgres",
        "--json",
        "--database",
        url,
    ]))?;
    let tuned = peer_rates(peer, url, "24")?;
    let round = Round {
        ours: figure(&ours, "/lifecycles_per_second")?,
        raw_rows: figure(&ours, "/raw_rows_per_second")?,
        peer_as_installed: figure(&bare, "/as_installed/jobs_per_second")?,
        peer_tuned: figure(&tuned, "/tuned/jobs_per_second")?,
    };
    println!(
        "  round {number}: ours {:.0} lifecycles/s; peer {:.0} as installed, {:.0} tuned; raw {:.0} rows/s",
        round.ours, round.peer_as_installed, round.peer_tuned, round.raw_rows
    );
    Ok(round)
}

fn peer_rates(peer: &Path, url: &str, concurrency: &str) -> Result<Value> {
    let mut bench = Command::new("node");
    bench.args(["bench.mjs", "--jobs", "20000", "--json", "--concurrency", concurrency]);
    output(bench.env("DATABASE_URL", url).current_dir(peer))
}

fn report(rounds: &[Round]) {
    let ours = median(rounds, |round| round.ours);
    let bare = median(rounds, |round| round.peer_as_installed);
    let tuned = median(rounds, |round| round.peer_tuned);
    println!("  median: ours {ours:.0} lifecycles/s (five durable steps each)");
    println!("  {:.1} x the peer as installed ({bare:.0} jobs/s; one job at a time)", ours / bare);
    println!(
        "  1/{:.1} of the peer with its local queue and batched completion ({tuned:.0} jobs/s)",
        tuned / ours
    );
}

fn median(rounds: &[Round], of: fn(&Round) -> f64) -> f64 {
    let mut figures: Vec<f64> = rounds.iter().map(of).collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
