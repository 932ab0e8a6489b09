//! Carries what a job writes to the agent, as fast as the agent takes it, and sorts out the marks.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::sync::{mpsc, watch};

use super::Output;
use super::marks::{Mark, Piece, Scanner};
use crate::keeper::{OUTPUT_BYTES_MAX, Report, Reports};

/// Marks come one per step and are taken at once.
const MARKS_WAITING_MAX: usize = 16;
/// A job that is dead has written all it will. Its output ends by itself, unless somebody else holds the other end.
const LEFTOVERS_WAIT: Duration = Duration::from_secs(5);

pub struct Pump {
    marks: mpsc::Receiver<Mark>,
    dead: watch::Sender<bool>,
}

impl Pump {
    pub fn start(output: Output, word: &str, reports: Reports) -> Pump {
        let (marks_sender, marks) = mpsc::channel(MARKS_WAITING_MAX);
        let (dead, dead_receiver) = watch::channel(false);
        tokio::spawn(carry(output, Scanner::new(word), reports, marks_sender, dead_receiver));
        Pump { marks, dead }
    }

    /// The next mark, after the agent got all output before it. `None`: the output ended. May be dropped at any moment.
    pub async fn next(&mut self) -> Option<Mark> {
        self.marks.recv().await
    }

    /// Waits until the agent has all that a dead job wrote; the marks that were still in it.
    pub async fn drain(&mut self) -> Vec<Mark> {
        self.dead.send_replace(true);
        let mut found = Vec::new();
        while let Some(mark) = self.marks.recv().await {
            found.push(mark);
        }
        found
    }
}

async fn carry(
    mut output: Output,
    mut scanner: Scanner,
    reports: Reports,
    marks: mpsc::Sender<Mark>,
    mut dead: watch::Receiver<bool>,
) {
    let mut buffer = vec![0; OUTPUT_BYTES_MAX];
    loop {
        let read = tokio::select! {
            biased;
            read = output.read(&mut buffer) => read,
            () = long_dead(&mut dead) => break,
        };
        let Ok(length @ 1..) = read else { break };
        for piece in scanner.feed(&buffer[..length]) {
            match piece {
                Piece::Bytes(bytes) => send(&reports, bytes).await,
                // Nobody waits for the marks of a job that is being stopped.
                Piece::Mark(mark) => drop(marks.send(mark).await),
            }
        }
    }
    send(&reports, scanner.end()).await;
}

/// What was held back may make a piece a little longer than what is read at once.
async fn send(reports: &Reports, bytes: Vec<u8>) {
    for part in bytes.chunks(OUTPUT_BYTES_MAX) {
        reports.send(Report::Output(part.to_vec())).await;
    }
}

/// Returns when the job has been dead for so long that nothing more can come.
async fn long_dead(dead: &mut watch::Receiver<bool>) {
    if dead.wait_for(|dead| *dead).await.is_ok() {
        tokio::time::sleep(LEFTOVERS_WAIT).await;
    }
}
