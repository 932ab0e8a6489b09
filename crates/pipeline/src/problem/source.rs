//! A text and its lines: from the number of a character to the place that people and editors use.

use super::Place;

const BYTE_ORDER_MARK: char = '\u{feff}';

pub struct Source<'a> {
    text: &'a str,
    /// The first character of each line and the one after its last, by number.
    lines: Vec<(usize, usize)>,
    /// The byte where each character begins; empty when every character is one byte.
    bytes: Vec<u32>,
}

impl<'a> Source<'a> {
    /// A line ends with `\n`, `\r\n` or `\r`, as in YAML.
    pub fn new(text: &'a str) -> Source<'a> {
        let mut lines = Vec::new();
        let mut letters = text.chars().enumerate().peekable();
        let mut start = usize::from(text.starts_with(BYTE_ORDER_MARK));
        let mut count = 0;
        while let Some((at, letter)) = letters.next() {
            count = at + 1;
            if letter == '\r' && letters.next_if(|(_, next)| *next == '\n').is_some() {
                count += 1;
            } else if letter != '\n' && letter != '\r' {
                continue;
            }
            lines.push((start, at));
            start = count;
        }
        lines.push((start, count.max(start)));
        let wide = !text.is_ascii();
        let bytes = if wide { text.char_indices().map(|(at, _)| at as u32).collect() } else { Vec::new() };
        Source { text, lines, bytes }
    }

    /// The place of the characters from `start` to before `end`, as far as they are on the first line.
    pub fn place(&self, start: usize, end: usize) -> Place {
        let above = self.lines.partition_point(|(first, _)| *first <= start);
        let line = above.saturating_sub(1);
        let (first, after) = self.lines[line];
        // Behind the last letter of a line stands what ends it.
        let start = start.clamp(first, after);
        let length = end.min(after).saturating_sub(start);
        Place { line: line + 1, column: start - first + 1, length, offset: self.byte(start) }
    }

    /// A line by its number, without what ends it.
    pub fn line(&self, number: usize) -> &'a str {
        match self.lines.get(number.wrapping_sub(1)) {
            Some((first, after)) => &self.text[self.byte(*first)..self.byte(*after)],
            None => "",
        }
    }

    /// The characters from `start` to before `end`.
    pub fn slice(&self, start: usize, end: usize) -> &'a str {
        &self.text[self.byte(start)..self.byte(end.max(start))]
    }

    fn byte(&self, letter: usize) -> usize {
        if self.bytes.is_empty() {
            return letter.min(self.text.len());
        }
        self.bytes.get(letter).map_or(self.text.len(), |byte| *byte as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: usize, column: usize, length: usize, offset: usize) -> Place {
        Place { line, column, length, offset }
    }

    #[test]
    fn columns_count_characters_and_offsets_count_bytes() {
        let source = Source::new("ab\nüñ: x\r\nlast");
        assert_eq!(source.place(0, 2), place(1, 1, 2, 0));
        assert_eq!(source.place(3, 5), place(2, 1, 2, 3));
        assert_eq!(source.place(7, 8), place(2, 5, 1, 9));
        assert_eq!(source.place(10, 99), place(3, 1, 4, 12));
        assert_eq!((source.line(2), source.line(3), source.line(4)), ("üñ: x", "last", ""));
    }

    #[test]
    fn a_place_never_leaves_its_line() {
        let source = Source::new("ab\ncd\n");
        assert_eq!(source.place(1, 5), place(1, 2, 1, 1));
        assert_eq!(source.place(2, 3), place(1, 3, 0, 2));
        assert_eq!(source.place(6, 6), place(3, 1, 0, 6));
        assert_eq!(source.place(60, 70), place(3, 1, 0, 6));
        assert_eq!(Source::new("").place(0, 1), Place::START);
    }

    #[test]
    fn a_byte_order_mark_takes_no_column() {
        let source = Source::new("\u{feff}a: b\n");
        assert_eq!(source.place(1, 2), place(1, 1, 1, 3));
        assert_eq!(source.line(1), "a: b");
        assert_eq!(Source::new("\u{feff}").line(1), "");
    }
}
