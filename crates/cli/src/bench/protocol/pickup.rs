//! From a submit to the `LeaseGranted` at a runner that waits: beside one fsync of the same disk, and beside many runners.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::bench::callers::Watch;
use crate::bench::protocol::messages::{Caller, Heads};
use crate::bench::protocol::processes::{Memory, Server};
use crate::bench::report::Spread;
use crate::output::progress;

#[derive(Serialize)]
pub struct Pickup {
    pub samples: usize,
    /// A page appended to a file and brought to the disk.
    pub fsync: Spread,
    /// One runner waits.
    pub one: Spread,
    pub idle_runners: usize,
    /// So many wait.
    pub many: Spread,
    pub server_with_many: Memory,
}

/// Between two samples, so that whoever had the last job waits again.
const PAUSE: Duration = Duration::from_millis(10);
const PAGE: usize = 4096;
/// A sample that takes longer is a hang.
const PATIENCE: Duration = Duration::from_secs(30);
/// Connections made at once; the listen queue of a socket is not endless.
const CONNECTED_AT_ONCE: usize = 100;

pub async fn measure(folder: &Path, samples: usize, idle_runners: usize) -> Result<Pickup> {
    let mut disk = Disk::open(folder)?;
    let mut one = Crowd::gather(&folder.join("one"), 1).await?;
    progress(&format!("{idle_runners} runners that wait"));
    let mut many = Crowd::gather(&folder.join("many"), idle_runners).await?;
    let server_with_many = many.server.memory()?;
    let (mut fsyncs, mut with_one, mut with_many) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..samples {
        progress(&format!("submit to lease: {number} of {samples}"));
        fsyncs.push(disk.fsync()?);
        with_one.push(one.sample().await?);
        fsyncs.push(disk.fsync()?);
        with_many.push(many.sample().await?);
    }
    Ok(Pickup {
        samples,
        fsync: Spread::of(fsyncs),
        one: Spread::of(with_one),
        idle_runners,
        many: Spread::of(with_many),
        server_with_many,
    })
}

/// A file beside the databases.
struct Disk {
    file: File,
}

impl Disk {
    fn open(folder: &Path) -> Result<Disk> {
        Ok(Disk { file: File::create(folder.join("fsync")).context("a file to bring to the disk")? })
    }

    fn fsync(&mut self) -> Result<Duration> {
        self.file.write_all(&[7; PAGE])?;
        let mut watch = Watch::start();
        self.file.sync_data()?;
        Ok(watch.lap())
    }
}

/// A server, the runners that wait at it, and one who submits.
struct Crowd {
    server: Server,
    submitter: Caller,
    heads: Arc<Heads>,
    happened: mpsc::UnboundedReceiver<Happened>,
}

enum Happened {
    Leased(Instant),
    /// And the runner asks for work again.
    Completed,
}

impl Crowd {
    async fn gather(folder: &Path, runners: usize) -> Result<Crowd> {
        let server = Server::start(folder).await?;
        let heads = Arc::new(Heads::of(&server));
        let (tell, happened) = mpsc::unbounded_channel();
        for number in 0..runners {
            let runner = Caller::new(server.connect().await?, format!("runner-{number}"));
            tokio::spawn(wait_for_work(runner, heads.clone(), tell.clone()));
            if number % CONNECTED_AT_ONCE == 0 {
                tokio::task::yield_now().await;
            }
        }
        server.until_waiting(runners).await?;
        let submitter = Caller::new(server.connect().await?, "nobody".into());
        Ok(Crowd { server, submitter, heads, happened })
    }

    async fn sample(&mut self) -> Result<Duration> {
        tokio::time::sleep(PAUSE).await;
        let submitted_at = Instant::now();
        self.submitter.submit(&self.heads).await?;
        let mut leased_at = None;
        loop {
            let happened = tokio::time::timeout(PATIENCE, self.happened.recv()).await;
            match happened.context("nobody took the job")?.context("the runners are gone")? {
                Happened::Leased(at) => leased_at = Some(at),
                Happened::Completed => break,
            }
        }
        Ok(leased_at.context("completed, but never leased")?.duration_since(submitted_at))
    }
}

/// Until nobody listens or the server is gone.
async fn wait_for_work(mut runner: Caller, heads: Arc<Heads>, tell: mpsc::UnboundedSender<Happened>) {
    let mut work = async || -> Result<()> {
        loop {
            let leased = runner.lease(&heads).await?;
            tell.send(Happened::Leased(leased.at))?;
            runner.ack(&heads, &leased).await?;
            runner.complete(&heads, &leased).await?;
            tell.send(Happened::Completed)?;
        }
    };
    let _ = work().await; // whoever samples notices that nothing comes any more
}
