//! An agent for tests to kill and to freeze: starts a keeper with the order in a file and, once a step
//! runs, a lease of so many milliseconds.

use std::path::PathBuf;
use std::time::Duration;

use runner::clock::Uptime;
use runner::keeper::{Keeper, Report};

fn main() {
    let mut words = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(program), Some(order), Some(lease)) = (words.next(), words.next(), words.next()) else {
        panic!("usage: agent KEEPER ORDER.json LEASE_MS");
    };
    let lease = lease.to_str().and_then(|lease| lease.parse().ok()).expect("the lease is a number");
    let lease = Duration::from_millis(lease);
    let order = std::fs::read(order).expect("the order can be read");
    let order = serde_json::from_slice(&order).expect("the order is one");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut keeper = Keeper::spawn(&program, order).expect("the keeper starts");
        while let Some(report) = keeper.next().await {
            if let Report::StepStarted { .. } = report {
                keeper.extend(Uptime::now().plus(lease)).await;
                // The word is on its way to the keeper; whoever freezes us at the next line should not freeze it too.
                tokio::time::sleep(Duration::from_millis(200)).await;
                println!("the lease ends in {lease:?}");
            }
        }
    });
}
