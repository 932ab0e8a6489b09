//! A line of somebody else's text, as a terminal will show it: nothing in it moves the cursor, hides or turns the text
//! around, and how many columns each piece takes is known.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const TAB: &str = "    ";
const JOINER: char = '\u{200d}';

/// What is shown as one.
#[derive(Debug, Clone)]
struct Cell {
    shown: String,
    columns: usize,
}

/// A stretch of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub start: usize,
    pub columns: usize,
}

/// Characters that show nothing themselves but change what is seen.
pub(crate) fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Words that go to a terminal: what is hidden is spelled out.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_hidden(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// The most of somebody else's text that goes into a sentence.
const SHORT: usize = 60;

/// A text for use in a sentence.
pub(crate) fn short(text: &str) -> String {
    match text.char_indices().nth(SHORT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The line as shown, cut to a width around the marked characters, and where the mark is in it.
pub fn show(line: &str, column: usize, length: usize, width: usize) -> (String, Span) {
    let (near, start) = near(line, column.saturating_sub(1), width);
    let (cells, first, after) = cells(near.text, start, length);
    let columns = |part: &[Cell]| part.iter().map(|cell| cell.columns).sum::<usize>();
    let mark = Span { start: columns(&cells[..first]), columns: columns(&cells[first..after]).max(1) };
    if columns(&cells) <= width && !near.more_before && !near.more_after {
        return (cells.iter().map(|cell| cell.shown.as_str()).collect(), mark);
    }
    cut(&cells, mark, width, &near)
}

/// As much of a line as could be shown.
struct Near<'a> {
    text: &'a str,
    more_before: bool,
    more_after: bool,
}

/// Lines may be as long as a file: what is far from the mark is not looked at closely. And where the mark now is.
fn near(line: &str, start: usize, width: usize) -> (Near<'_>, usize) {
    // Characters without columns of their own need some room too.
    let reach = 4 * width + 64;
    let byte = |letter: usize| line.char_indices().nth(letter).map(|(byte, _)| byte);
    let first = start.saturating_sub(reach);
    let begin = byte(first).unwrap_or(line.len());
    let end = byte(start + reach);
    let text = &line[begin..end.unwrap_or(line.len())];
    (Near { text, more_before: begin > 0, more_after: end.is_some() }, start - first)
}

/// The line's cells, and which of them hold the marked characters.
fn cells(line: &str, start: usize, length: usize) -> (Vec<Cell>, usize, usize) {
    let mut cells: Vec<Cell> = Vec::new();
    let (mut first, mut after) = (None, None);
    let mut joined = false;
    for (at, letter) in line.chars().enumerate() {
        let alone = is_hidden(letter) || letter == '\t';
        let joins = !alone && (joined || letter.width() == Some(0));
        let number = if joins { cells.len().saturating_sub(1) } else { cells.len() };
        if at == start {
            first = Some(number);
        }
        if at == start + length {
            after = Some(number);
        }
        joined = letter == JOINER;
        let shown = match letter {
            '\t' => TAB.to_owned(),
            letter if alone => letter.escape_unicode().to_string(),
            letter => letter.to_string(),
        };
        match cells.last_mut() {
            Some(cell) if joins => cell.shown.push_str(&shown),
            Some(_) | None => cells.push(Cell { shown, columns: 0 }),
        }
    }
    for cell in &mut cells {
        cell.columns = cell.shown.width();
    }
    let first = first.unwrap_or(cells.len());
    let after = after.unwrap_or(cells.len()).max(first);
    (cells, first, after)
}

/// A window of about the width, with a little of what is before the mark, and `…` where something was cut off.
fn cut(cells: &[Cell], mark: Span, width: usize, near: &Near<'_>) -> (String, Span) {
    let room = width.saturating_sub(2).max(8);
    // What is marked matters most; a third of the room for what stands before it.
    let from = if mark.start + mark.columns <= room { 0 } else { mark.start.saturating_sub(room / 3) };
    let (mut shown, mut begin, mut at, mut used) = (String::new(), None, 0, 0);
    let mut more = near.more_after;
    for cell in cells {
        if at >= from {
            if used + cell.columns > room {
                more = true;
                break;
            }
            begin.get_or_insert(at);
            shown.push_str(&cell.shown);
            used += cell.columns;
        }
        at += cell.columns;
    }
    let begin = begin.unwrap_or(at);
    let before = if begin > 0 || near.more_before { "…" } else { "" };
    let start = mark.start.saturating_sub(begin) + before.width();
    let end = used + before.width();
    let span = Span { start, columns: mark.columns.min(end.saturating_sub(start)).max(1) };
    (format!("{before}{shown}{}", if more { "…" } else { "" }), span)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str, column: usize, length: usize) -> (String, usize, usize) {
        let (shown, span) = show(line, column, length, 40);
        (shown, span.start, span.columns)
    }

    #[test]
    fn the_mark_stands_under_what_it_marks() {
        assert_eq!(shown("need: x", 1, 4), ("need: x".into(), 0, 4));
        assert_eq!(shown("\tx: y", 2, 1), ("    x: y".into(), 4, 1));
        assert_eq!(shown("日本: x", 5, 1), ("日本: x".into(), 6, 1));
        assert_eq!(shown("日本: x", 1, 2), ("日本: x".into(), 0, 4));
        assert_eq!(shown("e\u{301}\u{301}a", 4, 1), ("e\u{301}\u{301}a".into(), 1, 1));
        assert_eq!(shown("👩\u{200d}🚀 x", 5, 1), ("👩\u{200d}🚀 x".into(), 3, 1));
    }

    #[test]
    fn the_end_of_a_line_and_nothing_at_all_can_be_marked() {
        assert_eq!(shown("ab", 3, 0), ("ab".into(), 2, 1));
        assert_eq!(shown("", 1, 0), (String::new(), 0, 1));
        assert_eq!(shown("ab", 99, 7), ("ab".into(), 2, 1));
    }

    #[test]
    fn what_hides_is_spelled_out() {
        assert_eq!(shown("a\u{1b}[2Jb", 6, 1), (r"a\u{1b}[2Jb".into(), 10, 1));
        assert_eq!(visible("a\u{202e}b\n"), r"a\u{202e}b\u{a}");
    }

    #[test]
    fn a_long_line_is_cut_around_the_mark() {
        let line = format!("{}needle{}", "a".repeat(500), "b".repeat(500));
        let (text, span) = show(&line, 501, 6, 40);
        assert_eq!(text.chars().count(), 40, "{text}");
        assert_eq!(text.chars().skip(span.start).take(span.columns).collect::<String>(), "needle");
        assert!(text.starts_with("…a") && text.ends_with("b…"), "{text}");
        let (text, span) = show(&line, 1, 900, 40);
        assert!(text.starts_with("aaa") || text.starts_with('…'), "{text}");
        assert!(span.start + span.columns <= 40, "{span:?}");
    }
}
