//! Start, take over, finish: one collection at a time, worked on by one at a time.

use wire::CollectionId;

use crate::collections::running;
use crate::records::{Collection, Collector, Progress};
use crate::{Answer, Ask, Decide, Draft, Refusal};

#[derive(Debug, Clone)]
pub struct StartCollection {
    /// Minted at the edge, both.
    pub id: CollectionId,
    pub holder: u64,
}

impl Decide for StartCollection {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.extend([Ask::Collector, Ask::Collection(self.id)]);
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut collector = draft.get::<Collector>(&()).cloned().unwrap_or_default();
        if let Some(id) = collector.running {
            let running: Collection = draft.copy(&id);
            return Ok(Answer::CollectionIs { collection: Box::new(running), existing: true });
        }
        collector.epoch += 1;
        collector.running = Some(self.id);
        let collection = Collection {
            id: self.id,
            state: Progress::Running,
            epoch: collector.epoch,
            holder: self.holder,
            held_until: draft.now.plus(draft.policy.collection_hold),
            marked: 0,
            kept: 0,
            deleted: 0,
            bytes: 0,
            message: String::new(),
            started_at: draft.now,
            mark_completed_at: None,
            finished_at: None,
        };
        draft.put(collector);
        draft.put(collection.clone());
        Ok(Answer::CollectionIs { collection: Box::new(collection), existing: false })
    }
}

/// Whoever worked on it has gone.
#[derive(Debug, Clone)]
pub struct TakeOverCollection {
    pub collection: CollectionId,
    pub holder: u64,
}

impl Decide for TakeOverCollection {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.push(Ask::Collection(self.collection));
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let known: Option<&Collection> = draft.get(&self.collection);
        let mut collection = known.cloned().ok_or(Refusal::CollectionNotFound)?;
        let open = collection.state == Progress::Running;
        if !open || (collection.holder != self.holder && collection.held_until > draft.now) {
            return Err(Refusal::CollectionLost);
        }
        collection.holder = self.holder;
        collection.held_until = draft.now.plus(draft.policy.collection_hold);
        draft.put(collection.clone());
        Ok(Answer::CollectionIs { collection: Box::new(collection), existing: true })
    }
}

#[derive(Debug, Clone)]
pub struct FinishCollection {
    pub collection: CollectionId,
    pub holder: u64,
    /// What went wrong, if anything did.
    pub failure: Option<String>,
}

impl Decide for FinishCollection {
    fn asks(&self, asks: &mut Vec<Ask>) {
        asks.extend([Ask::Collector, Ask::Collection(self.collection)]);
    }

    fn decide(&self, draft: &mut Draft<'_>) -> Result<Answer, Refusal> {
        let mut collection = running(draft, self.collection, self.holder)?;
        collection.state = if self.failure.is_some() { Progress::Failed } else { Progress::Done };
        collection.message = self.failure.clone().unwrap_or_default();
        collection.finished_at = Some(draft.now);
        let mut collector: Collector = draft.copy(&());
        collector.running = None;
        draft.put(collector);
        draft.put(collection.clone());
        Ok(Answer::CollectionIs { collection: Box::new(collection), existing: true })
    }
}
