//! Finds, in what a job writes, the marks by which the shell inside says that it is ready and how a step ended.
//!
//! A mark is in the output itself because only there its place is certain: after all that the step wrote. A job could
//! forge one and so lie about its own exit code, which it can do anyway.

/// What a mark says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Ready,
    Ended(i32),
}

#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    Bytes(Vec<u8>),
    Mark(Mark),
}

/// The ASCII record separator, rare in any output.
const BEGIN: u8 = 0x1e;
/// `ready`, or an exit code of at most three digits, and the line's end.
const SAYING_BYTES_MAX: usize = 6;

pub fn may_be_word(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

pub struct Scanner {
    /// How a mark of ours begins.
    opening: Vec<u8>,
    /// Bytes that may be the beginning of a mark.
    held: Vec<u8>,
}

/// What stands at a place where a mark could begin.
enum Found {
    Mark(Mark, usize),
    Nothing,
    /// Too short to tell.
    Perhaps,
}

impl Scanner {
    pub fn new(word: &str) -> Scanner {
        let opening = [&[BEGIN], word.as_bytes(), b" "].concat();
        Scanner { opening, held: Vec::new() }
    }

    /// The pieces that are certain by now.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Piece> {
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(bytes);
        let mut pieces = Vec::new();
        let mut begin = 0; // of what is not yet in a piece
        let mut at = 0;
        while let Some(offset) = text[at..].iter().position(|byte| *byte == BEGIN) {
            let place = at + offset;
            match self.look(&text[place..]) {
                Found::Nothing => at = place + 1,
                Found::Mark(mark, length) => {
                    push_bytes(&mut pieces, &text[begin..place]);
                    pieces.push(Piece::Mark(mark));
                    begin = place + length;
                    at = begin;
                }
                Found::Perhaps => {
                    self.held = text.split_off(place);
                    break;
                }
            }
        }
        push_bytes(&mut pieces, &text[begin..]);
        pieces
    }

    /// What was held back, when no more will come.
    pub fn end(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    fn look(&self, text: &[u8]) -> Found {
        let common = text.len().min(self.opening.len());
        if text[..common] != self.opening[..common] {
            return Found::Nothing;
        }
        let saying = &text[common..];
        let Some(length) = saying.iter().take(SAYING_BYTES_MAX).position(|byte| *byte == b'\n') else {
            return if saying.len() < SAYING_BYTES_MAX { Found::Perhaps } else { Found::Nothing };
        };
        match parse(&saying[..length]) {
            Some(mark) => Found::Mark(mark, common + length + 1),
            None => Found::Nothing,
        }
    }
}

fn parse(saying: &[u8]) -> Option<Mark> {
    match std::str::from_utf8(saying).ok()? {
        "ready" => Some(Mark::Ready),
        code => code.parse().ok().map(Mark::Ended),
    }
}

fn push_bytes(pieces: &mut Vec<Piece>, bytes: &[u8]) {
    if !bytes.is_empty() {
        pieces.push(Piece::Bytes(bytes.to_vec()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of a text that arrives in parts of this size, neighbouring bytes joined.
    fn scan(text: &[u8], size: usize) -> Vec<Piece> {
        let mut scanner = Scanner::new("w-1");
        let mut pieces: Vec<Piece> = text.chunks(size).flat_map(|part| scanner.feed(part)).collect();
        push_bytes(&mut pieces, &scanner.end());
        let mut joined = Vec::new();
        for piece in pieces {
            match (joined.last_mut(), piece) {
                (Some(Piece::Bytes(before)), Piece::Bytes(bytes)) => before.extend(bytes),
                (_, piece) => joined.push(piece),
            }
        }
        joined
    }

    #[test]
    fn marks_are_found_however_the_text_is_cut() {
        let text = b"\x1ew-1 ready\nhello\x1e\x1ew-1 0\n\x1ew-1 137\nbye";
        for size in 1..=text.len() {
            assert_eq!(
                scan(text, size),
                [
                    Piece::Mark(Mark::Ready),
                    Piece::Bytes(b"hello\x1e".to_vec()),
                    Piece::Mark(Mark::Ended(0)),
                    Piece::Mark(Mark::Ended(137)),
                    Piece::Bytes(b"bye".to_vec()),
                ],
                "in parts of {size}"
            );
        }
    }

    #[test]
    fn what_only_looks_like_a_mark_is_output() {
        for text in
            [&b"\x1ew-2 0\n"[..], b"\x1ew-1 none\n", b"\x1ew-1 1234567\n", b"\x1ew-1 0", b"\x1e", b"\x1ew-1"]
        {
            for size in 1..=text.len() {
                assert_eq!(scan(text, size), [Piece::Bytes(text.to_vec())], "in parts of {size}");
            }
        }
    }

    #[test]
    fn ordinary_bytes_are_not_held_back() {
        let mut scanner = Scanner::new("w-1");
        assert_eq!(scanner.feed(b"prompt> "), [Piece::Bytes(b"prompt> ".to_vec())]);
    }
}
