//! An agent for tests to kill and to freeze: starts a keeper with the order in a file and shows what it hears.

use std::path::PathBuf;

fn main() {
    let mut words = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(program), Some(order)) = (words.next(), words.next()) else {
        panic!("usage: agent KEEPER ORDER.json");
    };
    let order = std::fs::read(order).expect("the order can be read");
    let order = serde_json::from_slice(&order).expect("the order is one");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut keeper = runner::keeper::Keeper::spawn(&program, order).expect("the keeper starts");
        while let Some(report) = keeper.next().await {
            println!("{report:?}");
        }
    });
}
