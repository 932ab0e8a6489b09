//! What the output goes to: a terminal, with its width and colours, or a file or pipe.

use std::io::IsTerminal;

use unicode_width::UnicodeWidthStr;

use crate::output::paint;

/// When the terminal does not say.
const COLUMNS_USUAL: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Plain,
    Bold,
    Dim,
    Green,
    Red,
    Yellow,
}

#[derive(Debug, Clone, Copy)]
pub struct Screen {
    terminal: bool,
    /// The most columns of a line; none off a terminal.
    pub columns: Option<usize>,
}

impl Screen {
    pub fn stdout() -> Screen {
        let terminal = std::io::stdout().is_terminal();
        Screen { terminal, columns: terminal.then(|| columns(&std::io::stdout())) }
    }

    pub fn stderr() -> Screen {
        let terminal = std::io::stderr().is_terminal();
        Screen { terminal, columns: terminal.then(|| columns(&std::io::stderr())) }
    }

    /// Without colours, for tests.
    #[cfg(test)]
    pub fn plain(columns: Option<usize>) -> Screen {
        Screen { terminal: false, columns }
    }

    /// A quiet word before what matters, and what matters below each other.
    pub fn listed(self, word: &str, lines: &[String]) -> String {
        let mut text = String::new();
        for (place, line) in lines.iter().enumerate() {
            let lead = if place == 0 { self.paint(Style::Dim, word) } else { " ".repeat(width(word)) };
            text.push_str(&format!("{lead} {line}\n"));
        }
        text
    }

    pub fn is_terminal(self) -> bool {
        self.terminal
    }

    pub fn paint(self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Plain => return text.into(),
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Green => "32",
            Style::Red => "31",
            Style::Yellow => "33",
        };
        if text.is_empty() { String::new() } else { paint(self.terminal, code, text) }
    }
}

fn columns(stream: &impl std::os::fd::AsFd) -> usize {
    let size = rustix::termios::tcgetwinsize(stream);
    size.map(|size| usize::from(size.ws_col)).ok().filter(|columns| *columns > 0).unwrap_or(COLUMNS_USUAL)
}

/// Columns that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text within so many columns; what is cut off is shown as `…`.
pub fn fitted(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.into();
    }
    let mut cut = String::new();
    for letter in text.chars() {
        let mut longer = cut.clone();
        longer.push(letter);
        if width(&longer) >= columns {
            break;
        }
        cut = longer;
    }
    if columns > 0 { cut + "…" } else { cut }
}

/// The text in lines of so many columns, broken between words; a word that is longer stays whole.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.into()),
        }
    }
    lines
}

/// Somebody else's text on one line of ours: control characters become spaces.
pub fn one_line(text: &str) -> String {
    text.trim().chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_by_columns_not_bytes() {
        for (text, columns, expected) in
            [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("äöüß", 3, "äö…"), ("日本語", 4, "日…"), ("ab", 0, "")]
        {
            assert_eq!(fitted(text, columns), expected, "{text} in {columns}");
        }
    }

    #[test]
    fn a_text_is_broken_between_words() {
        assert_eq!(wrapped("the lease was lost", 9), ["the lease", "was lost"]);
        assert_eq!(wrapped("unbreakable word", 5), ["unbreakable", "word"]);
        assert!(wrapped("", 5).is_empty());
    }

    #[test]
    fn a_name_cannot_move_the_cursor() {
        assert_eq!(one_line("a\x1b[2Jb\nc\u{9b}31m\r"), "a [2Jb c 31m");
    }
}
