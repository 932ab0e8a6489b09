//! Upkeep and the collector of a server, step by step as in `server::artifacts`: what is due, what is left lying about, and
//! what nothing holds any more. All of the collector's memory is in the store; what is here dies with its server.

use decisions::collections::{
    BlobsSwept, ClaimBlobs, FinishCollection, MarkBlobs, StartCollection, TakeOverCollection,
};
use decisions::records::{Collection, Upload};
use decisions::runs::{PlanAccepted, PlanFailed};
use decisions::uploads::{UploadDue, UploadReaped};
use decisions::versions::{BundleDue, VersionDue};
use decisions::{Answer, Command};
use server::perform::Failure;
use store::Store;
use wire::{BlobId, CollectionId, Time};

use super::faults::Class;
use super::parts::now;
use super::people::plan_of;
use super::rules;
use super::server::Ticket;
use super::world::{Event, World};

#[derive(Debug, Clone)]
pub struct Collecting {
    id: CollectionId,
    holder: u64,
    step: Step,
}

#[derive(Debug, Clone)]
enum Step {
    Begin,
    Mark,
    Claim,
    /// These are ours, and go.
    Sweep(Vec<BlobId>),
    Finish,
}

const ROUND_MAX: usize = 200;
/// More than a world has.
const PAGE: usize = 500;

impl World {
    pub fn upkeep(&mut self, server: usize) {
        let due = now(self.store.artifacts_due(self.now, ROUND_MAX)).expect("memory can be read");
        for upload in due.uploads {
            self.perform(server, UploadDue { upload }, Ticket::Nobody);
        }
        for version in due.versions {
            self.perform(server, VersionDue { version }, Ticket::Nobody);
        }
        for execution in due.bundles {
            self.perform(server, BundleDue { execution }, Ticket::Nobody);
        }
        for upload in due.litter {
            if self.faults.strikes(Class::BlobDeleteFailed) {
                continue; // the next round finds it again
            }
            self.discard(&upload);
            self.perform(server, UploadReaped { upload: upload.id }, Ticket::Nobody);
        }
        self.plan_runs(server);
        self.look_after_collections(server);
        let (life, pause) = (self.servers[server].life, self.dice.disk.millis(2_000, 6_000));
        let pause = self.pace(pause);
        self.agenda.add(self.now.plus(pause), Event::Upkeep { server, life });
    }

    /// Whatever an ended upload left.
    pub fn discard(&mut self, upload: &Upload) {
        self.disk.unstage(upload.id);
        if upload.got != Some(upload.blob) {
            self.delete_bytes(upload.blob);
        }
    }

    fn delete_bytes(&mut self, blob: BlobId) {
        if self.watch.is_held(blob, self.now) {
            self.watch.broke(rules::REACHABLE, format!("the bytes of {blob} were deleted"));
        }
        self.tell(|| format!("the bytes of {blob} are deleted"));
        self.disk.delete(blob);
    }

    /// The planner answers, or fails, or takes its time.
    fn plan_runs(&mut self, server: usize) {
        let waiting = now(self.store.runs_planning(None, ROUND_MAX)).expect("memory can be read");
        for run in waiting {
            let (answers, fails) = (self.dice.people.chance(0.6), self.dice.people.chance(0.15));
            let trigger = self.watch.runs.get(&run).and_then(|run| run.trigger_key.clone());
            let shape = trigger.as_ref().and_then(|trigger| self.people.shapes.get(trigger)).copied();
            let (Some(trigger), Some(shape)) = (trigger, shape) else { continue };
            let command: Command = match (answers, fails) {
                (false, _) => continue,
                (true, true) => PlanFailed { run, message: "no file".into() }.into(),
                (true, false) => PlanAccepted { run, plan: plan_of(&trigger, shape) }.into(),
            };
            self.perform(server, command, Ticket::Nobody);
        }
    }

    fn look_after_collections(&mut self, server: usize) {
        if self.servers[server].collecting.is_some() {
            return;
        }
        let running = now(self.store.collector()).expect("memory can be read").running;
        let holder = self.dice.mint.draw() >> 1;
        if let Some(id) = running {
            let found = now(self.store.collection(id)).expect("memory can be read");
            if found.is_some_and(|it| it.held_until <= self.now) {
                self.begin_collecting(server, id, holder, TakeOverCollection { collection: id, holder });
            }
        } else if self.collect_at <= self.now {
            self.collect_at = self.now.plus(self.setup.collect_every);
            let id = CollectionId::minted(self.now, self.dice.mint.bytes());
            self.begin_collecting(server, id, holder, StartCollection { id, holder });
        }
    }

    fn begin_collecting(&mut self, server: usize, id: CollectionId, holder: u64, by: impl Into<Command>) {
        self.servers[server].collecting = Some(Collecting { id, holder, step: Step::Begin });
        self.perform(server, by, Ticket::Collect);
    }

    /// A step was taken, or the collection is left to whoever finds it.
    pub fn collect_settled(&mut self, server: usize, result: Result<Answer, Failure>) {
        let Some(collecting) = self.servers[server].collecting.take() else { return };
        let next = match (&collecting.step, result) {
            (Step::Claim, Err(Failure::Unknown(_))) if !self.parts.awaits_claim => {
                // A mistake: what may have been claimed is taken for claimed.
                let page = self.page();
                Some(Step::Sweep(page))
            }
            (_, Err(_)) => None,
            (Step::Begin, Ok(Answer::CollectionIs { collection, existing })) => {
                let ours = !existing || collection.holder == collecting.holder;
                (ours && collection.id == collecting.id).then(|| first_step(&collection))
            }
            (Step::Mark, Ok(_)) => Some(Step::Claim),
            (Step::Claim, Ok(Answer::BlobsClaimed(claimed))) => {
                Some(Step::Sweep(claimed.iter().map(|blob| blob.id).collect()))
            }
            (Step::Sweep(_), Ok(_)) => Some(Step::Finish),
            (Step::Finish, Ok(_)) => None,
            (Step::Begin | Step::Claim, Ok(other)) => panic!("no collection is answered with {other:?}"),
        };
        if let Some(step) = next {
            self.servers[server].collecting = Some(Collecting { step, ..collecting });
            let (life, pause) = (self.servers[server].life, self.dice.disk.millis(0, 1_500));
            self.agenda.add(self.now.plus(pause), Event::CollectStep { server, life });
        }
    }

    fn page(&self) -> Vec<BlobId> {
        let page = now(self.store.blobs_unreferenced(None, PAGE)).expect("memory can be read");
        page.iter().map(|blob| blob.id).collect()
    }

    pub fn collect_step(&mut self, server: usize) {
        let Some(Collecting { id: collection, holder, step }) = self.servers[server].collecting.clone()
        else {
            return;
        };
        let command: Command = match step {
            Step::Begin => return,
            Step::Mark => MarkBlobs { collection, holder, blobs: self.page(), last: true }.into(),
            Step::Claim => {
                let page = now(self.store.blobs_unreferenced(None, PAGE)).expect("memory can be read");
                let ours = page.iter().filter(|blob| blob.unmarked_by == Some(collection));
                ClaimBlobs { collection, holder, blobs: ours.map(|blob| blob.id).collect() }.into()
            }
            Step::Sweep(claimed) => {
                let mut gone = Vec::new();
                for blob in claimed {
                    if !self.faults.strikes(Class::BlobDeleteFailed) {
                        self.delete_bytes(blob);
                        gone.push(blob);
                    }
                }
                BlobsSwept { collection, holder, blobs: gone }.into()
            }
            Step::Finish => FinishCollection { collection, holder, failure: None }.into(),
        };
        self.perform(server, command, Ticket::Collect);
    }
}

fn first_step(collection: &Collection) -> Step {
    let marked: Option<Time> = collection.mark_completed_at;
    if marked.is_some() { Step::Claim } else { Step::Mark }
}
