//! What the output goes to: a terminal, with its width and colours, or a file or pipe.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use unicode_width::UnicodeWidthStr;

use crate::output::{has_colours, painted};

/// When the terminal does not say.
const COLUMNS_USUAL: usize = 100;
const ROWS_USUAL: usize = 24;

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
    colours: bool,
    /// Only then may our own signs be more than ASCII.
    unicode: bool,
    /// The most columns of a line; none off a terminal.
    pub columns: Option<usize>,
}

impl Screen {
    pub fn stdout() -> Screen {
        Screen::on(&std::io::stdout())
    }

    pub fn stderr() -> Screen {
        Screen::on(&std::io::stderr())
    }

    fn on(stream: &(impl AsFd + IsTerminal)) -> Screen {
        let terminal = stream.is_terminal();
        Screen {
            terminal,
            colours: has_colours(terminal),
            unicode: is_unicode(),
            columns: terminal.then(|| columns(stream)),
        }
    }

    /// Without colours, for tests.
    #[cfg(test)]
    pub fn plain(columns: Option<usize>) -> Screen {
        Screen { terminal: false, colours: false, unicode: true, columns }
    }

    /// For tests, with colours.
    #[cfg(test)]
    pub fn coloured(columns: Option<usize>) -> Screen {
        Screen { colours: true, ..Screen::plain(columns) }
    }

    /// For tests, where the locale knows no more than ASCII.
    #[cfg(test)]
    pub fn ascii(columns: Option<usize>) -> Screen {
        Screen { unicode: false, ..Screen::plain(columns) }
    }

    /// The same at another width.
    pub fn with_columns(self, columns: usize) -> Screen {
        Screen { columns: Some(columns), ..self }
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

    pub fn has_colours(self) -> bool {
        self.colours
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
        if self.colours && !text.is_empty() { painted(code, text) } else { text.into() }
    }

    /// With signs that the locale has; each takes as many columns as the one it stands for.
    pub fn signs(self, text: String) -> String {
        if self.unicode || text.is_ascii() { text } else { text.chars().map(in_ascii).collect() }
    }
}

fn in_ascii(sign: char) -> char {
    match sign {
        '✓' => '+',
        '✗' => 'x',
        '●' => '*',
        '○' => 'o',
        '⊘' | '–' | '─' | '·' => '-',
        '│' | '├' => '|',
        '└' => '`',
        '…' => '~',
        other => other,
    }
}

/// Whether the locale can show more than ASCII, by the variables that name it, in their order.
fn is_unicode() -> bool {
    let named = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(|value| value.to_string_lossy().to_lowercase())
    });
    named.is_some_and(|name| name.contains("utf-8") || name.contains("utf8"))
}

fn columns(stream: &impl AsFd) -> usize {
    size(stream).map_or(COLUMNS_USUAL, |size| size.columns)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

impl Size {
    /// Of the terminal behind stderr, now.
    pub fn of_stderr() -> Size {
        size(&std::io::stderr()).unwrap_or(Size { columns: COLUMNS_USUAL, rows: ROWS_USUAL })
    }
}

fn size(stream: &impl AsFd) -> Option<Size> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    let (columns, rows) = (usize::from(size.ws_col), usize::from(size.ws_row));
    (columns > 0).then_some(Size { columns, rows: if rows > 0 { rows } else { ROWS_USUAL } })
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
    fn signs_take_the_same_room_in_ascii() {
        let text = "✓ ✗ ● ○ ⊘ – · │  ├─ └─ …";
        let ascii = Screen::ascii(None).signs(text.into());
        assert_eq!(ascii, "+ x * o - - - |  |- `- ~");
        assert_eq!(width(&ascii), width(text));
    }

    #[test]
    fn a_name_cannot_move_the_cursor() {
        assert_eq!(one_line("a\x1b[2Jb\nc\u{9b}31m\r"), "a [2Jb c 31m");
    }
}
