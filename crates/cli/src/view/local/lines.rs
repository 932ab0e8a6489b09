//! A job's output as lines, cleaned, however its bytes are cut; and the last of them, within bounds.

use std::collections::VecDeque;

use crate::view::clean::Cleaner;

/// A longer line is broken, so that memory stays flat.
const LINE_BYTES_MAX: usize = 64 * 1024;
const TAIL_LINES_MAX: usize = 30;
const TAIL_LINE_BYTES_MAX: usize = 4 * 1024;

pub struct Lines {
    cleaner: Cleaner,
    /// The line whose end has not come.
    line: String,
    /// A carriage return: what comes next is written over the line.
    returned: bool,
}

impl Lines {
    pub fn new(colours: bool) -> Lines {
        Lines { cleaner: Cleaner::new(colours), line: String::new(), returned: false }
    }

    /// The lines that these bytes end.
    pub fn more(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut ended = Vec::new();
        for part in self.cleaner.clean(bytes).split_inclusive(['\n', '\r']) {
            let text = part.trim_end_matches(['\n', '\r']);
            if self.returned && !text.is_empty() {
                self.line.clear();
                self.returned = false;
            }
            self.line.push_str(text);
            if part.ends_with('\n') || self.line.len() > LINE_BYTES_MAX {
                ended.push(self.taken());
            }
            self.returned |= part.ends_with('\r');
        }
        ended
    }

    /// What stands on the line that has not ended.
    pub fn open(&self) -> &str {
        &self.line
    }

    /// Ends the line, if one is open.
    pub fn end(&mut self) -> Option<String> {
        (!self.line.is_empty()).then(|| self.taken())
    }

    fn taken(&mut self) -> String {
        self.returned = false;
        let mut line = std::mem::take(&mut self.line);
        if line.contains('\x1b') {
            line.push_str("\x1b[0m");
        }
        line
    }
}

/// The last lines of a step.
#[derive(Debug, Default)]
pub struct Tail {
    lines: VecDeque<String>,
    /// Lines that were there before those.
    dropped: u64,
}

impl Tail {
    pub fn add(&mut self, line: &str) {
        if self.lines.len() == TAIL_LINES_MAX {
            self.lines.pop_front();
            self.dropped += 1;
        }
        self.lines.push_back(shortened(line));
    }

    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    pub fn last(&self) -> Option<&str> {
        self.lines.back().map(String::as_str)
    }

    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

fn shortened(line: &str) -> String {
    if line.len() <= TAIL_LINE_BYTES_MAX {
        return line.into();
    }
    let cut = &line[..line.floor_char_boundary(TAIL_LINE_BYTES_MAX)];
    // A colour that was cut in the middle must not swallow what follows it.
    let cut = match cut.rfind('\x1b') {
        Some(begin) if !cut[begin..].contains('m') => &cut[..begin],
        Some(_) | None => cut,
    };
    let reset = if cut.contains('\x1b') { "\x1b[0m" } else { "" };
    format!("{cut}{reset}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        for size in 1..=text.len() {
            let mut lines = Lines::new(true);
            let mut all: Vec<String> =
                text.as_bytes().chunks(size).flat_map(|bytes| lines.more(bytes)).collect();
            all.extend(lines.end());
            assert_eq!(all, expected, "{text:?} in pieces of {size}");
        }
    }

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        check("a\n\nb", &["a", "", "b"]);
        check("a\r\nb\r\n", &["a", "b"]);
        check("10%\r20%\rdone\n", &["done"]);
        check("\x1b[31mred\nplain\x1b[2J\n", &["\x1b[31mred\x1b[0m", "plain"]);
        check("日本語\nno end", &["日本語", "no end"]);
    }

    #[test]
    fn neither_a_line_nor_the_tail_fills_the_memory() {
        let (mut lines, mut tail) = (Lines::new(true), Tail::default());
        for _ in 0..500 {
            lines.more(&[b'y'; 10_000]).iter().for_each(|line| tail.add(line));
            assert!(lines.open().len() <= LINE_BYTES_MAX + 10_000);
        }
        assert_eq!(tail.lines().count(), TAIL_LINES_MAX);
        assert!(tail.lines().all(|line| line.len() <= TAIL_LINE_BYTES_MAX + 8));
        assert!(tail.dropped() > 30);
    }

    #[test]
    fn a_line_is_cut_between_letters_and_outside_of_colours() {
        let mut tail = Tail::default();
        tail.add(&("é".repeat(3_000) + "x"));
        tail.add(&format!("{}\x1b[1;31mred", "x".repeat(TAIL_LINE_BYTES_MAX - 3)));
        let ends: Vec<String> =
            tail.lines().map(|line| line.chars().rev().take(2).collect::<String>()).collect();
        assert_eq!(ends, ["…é", "…x"]);
    }
}
