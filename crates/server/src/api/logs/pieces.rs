//! A page of one execution's log, with the holes in it.

use std::sync::Arc;

use store::{Store, StoreError};
use wire::ExecId;

/// About how many bytes one page has.
const PAGE_BYTES: usize = 64 * 1024;

/// What comes next in a log.
pub enum Piece {
    Bytes(Slice),
    /// Received once, no longer kept.
    Gap {
        offset: u64,
        bytes: u64,
    },
}

/// Part of a chunk, shared with whoever read it.
pub struct Slice {
    /// In the log, of the first byte.
    pub offset: u64,
    chunk: Arc<[u8]>,
    skipped: usize,
}

impl Slice {
    pub fn bytes(&self) -> &[u8] {
        &self.chunk[self.skipped..]
    }

    pub fn end(&self) -> u64 {
        self.offset + self.bytes().len() as u64
    }
}

/// The next page from `from` on; nothing when no more has come.
pub async fn pieces<S: Store>(store: &S, execution: ExecId, from: u64) -> Result<Vec<Piece>, StoreError> {
    let mut at = from;
    let mut pieces = Vec::new();
    for chunk in store.log_chunks(execution, from, PAGE_BYTES).await? {
        if chunk.end() <= at {
            continue;
        }
        if chunk.offset > at {
            pieces.push(Piece::Gap { offset: at, bytes: chunk.offset - at });
            at = chunk.offset;
        }
        let skipped = (at - chunk.offset) as usize;
        let end = chunk.end();
        pieces.push(Piece::Bytes(Slice { offset: at, chunk: chunk.bytes, skipped }));
        at = end;
    }
    Ok(pieces)
}

/// `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
