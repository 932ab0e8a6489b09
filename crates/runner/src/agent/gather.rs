//! The side of a lease that brings the job's artifacts to the server, and says in the job's log what became of them. A task
//! of its own, so that heartbeats go on; dropped, it stops.

use tokio::sync::mpsc::Sender;
use tokio::sync::oneshot;
use wire::runner::{ArtifactSpec, LeaseGranted};

use crate::agent::drive::Event;
use crate::agent::hold::Words;
use crate::artifacts::{Bounds, Collector};
use crate::caches::{Packed, bring};
use crate::client::Client;
use crate::keeper::Report;
use crate::session::{Collected, Wanted, Which};
use crate::transfer::Uploads;

/// What a lease's job leaves behind, before anything is known of it.
pub struct Leavings {
    collector: Collector,
    packed: Vec<Packed>,
}

impl Leavings {
    pub fn of(
        granted: &LeaseGranted,
        specs: Vec<ArtifactSpec>,
        workspace: std::path::PathBuf,
        client: &Client,
        bounds: Bounds,
    ) -> Leavings {
        let uploads = granted
            .tenant_id
            .and_then(|tenant| Uploads::new(client.clone(), &tenant.to_string()).under(&granted.lease_id));
        Leavings { collector: Collector { workspace, specs, uploads, bounds }, packed: Vec::new() }
    }

    /// And what it leaves for later jobs.
    pub fn with(self, packed: Vec<Packed>) -> Leavings {
        Leavings { packed, ..self }
    }

    pub fn wanted(&self) -> Wanted {
        let specs = &self.collector.specs;
        Wanted {
            any: !specs.is_empty(),
            reports: specs.iter().any(|spec| Which::Reports.includes(&spec.r#type)),
            caches: !self.packed.is_empty(),
        }
    }

    /// `words` come from whoever held the keeper, once the job is over.
    pub async fn gather(mut self, which: Which, words: oneshot::Receiver<Words>, events: Sender<Event>) {
        self.collector.specs.retain(|spec| which.includes(&spec.r#type));
        let mut log = Log { words: words.await.ok(), events };
        let (found, lines) = if self.collector.specs.is_empty() {
            (Err(Collected::Done { artifacts: Vec::new(), caches: Vec::new() }), Vec::new())
        } else {
            self.collector.find().await
        };
        for line in lines {
            log.note(&line);
        }
        log.tell().await;
        let collected = match found {
            Ok(haul) => {
                let (collected, line) = self.collector.bring(haul).await;
                line.iter().for_each(|line| log.note(line));
                collected
            }
            Err(collected) => collected,
        };
        if let Collected::TooMuch { problem } | Collected::Failed { problem, .. } = &collected {
            log.note(&format!("artifacts are missing: {problem}"));
        }
        log.tell().await;
        let collected = self.bring_caches(which, collected, &mut log).await;
        let _ = log.events.send(Event::Collected(collected)).await; // nobody may care any more
    }
}

impl Leavings {
    /// Only when all else went well: a cache without its job's success is never saved.
    async fn bring_caches(self, which: Which, collected: Collected, log: &mut Log) -> Collected {
        let (Which::All, Collected::Done { artifacts, .. }) = (which, &collected) else { return collected };
        let brought = bring(self.packed, self.collector.uploads.as_ref()).await;
        for line in brought.lines {
            log.note(&line);
            log.show(line).await;
        }
        log.tell().await;
        match brought.stale {
            Some(reason) => Collected::Stale(reason),
            None => Collected::Done { artifacts: artifacts.clone(), caches: brought.caches },
        }
    }
}

struct Log {
    words: Option<Words>,
    events: Sender<Event>,
}

impl Log {
    fn note(&mut self, line: &str) {
        if let Some(Words { spool, .. }) = &mut self.words {
            spool.note(&format!("# {line}"));
        }
    }

    /// To whoever watches, as what was said when the job began.
    async fn show(&mut self, line: String) {
        let Some(Words { tap, .. }) = &mut self.words else { return };
        if tap.is_waiting() {
            tap.told().await;
        }
        tap.tell(&Report::Note { line }, &[]);
        if tap.is_waiting() {
            tap.told().await;
        }
    }

    async fn tell(&self) {
        if let Some(Words { spool, .. }) = &self.words {
            let _ = self.events.send(Event::Written(spool.written())).await;
        }
    }
}
