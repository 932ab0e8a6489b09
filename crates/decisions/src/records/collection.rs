//! Collection: one run of the collector; and the collector, of which there is one.

use wire::{CollectionId, Time};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    pub id: CollectionId,
    pub state: Progress,
    /// Whoever was promised something in this epoch or later is left alone.
    pub epoch: i64,
    /// Who works on it; a word from anybody else is ignored.
    pub holder: u64,
    /// Then another one may go on with it.
    pub held_until: Time,
    /// Blobs without a reference that were looked at, and those of them that stay.
    pub marked: u64,
    pub kept: u64,
    pub deleted: u64,
    pub bytes: u64,
    pub message: String,
    pub started_at: Time,
    /// Nothing is claimed before this is on the disk.
    pub mark_completed_at: Option<Time>,
    pub finished_at: Option<Time>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Running,
    Done,
    Failed,
}

impl Progress {
    pub const ALL: [Progress; 3] = [Progress::Running, Progress::Done, Progress::Failed];

    pub fn as_str(self) -> &'static str {
        match self {
            Progress::Running => "running",
            Progress::Done => "done",
            Progress::Failed => "failed",
        }
    }

    pub fn parse(text: &str) -> Option<Progress> {
        Progress::ALL.into_iter().find(|it| it.as_str() == text)
    }
}

/// Not there before the first collection: then the epoch is zero and nothing runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collector {
    pub epoch: i64,
    pub running: Option<CollectionId>,
}
