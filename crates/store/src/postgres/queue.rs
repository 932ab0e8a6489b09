//! The table of ready attempts is a projection: an attempt has an entry while it is queued.

use decisions::Book;
use decisions::records::{Attempt, ReadyKey};

/// Entries that a batch takes away and adds.
#[derive(Default)]
pub struct QueueMoves {
    pub left: Vec<ReadyKey>,
    pub entered: Vec<ReadyKey>,
}

impl QueueMoves {
    pub fn of(book: &Book) -> QueueMoves {
        let mut moves = QueueMoves::default();
        for (before, now) in book.attempts.writes() {
            let (before, now) = (before.and_then(Attempt::ready_key), now.ready_key());
            if before != now {
                moves.left.extend(before);
                moves.entered.extend(now);
            }
        }
        moves
    }
}
