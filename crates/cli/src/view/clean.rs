//! Job output on a terminal: text and colours pass, everything else that a terminal obeys does not.
//!
//! A sequence ends with its line at the latest, so that one that was never finished hides no more than that.

/// A colour's parameters are shorter than this.
const PARAMETERS_MAX: usize = 64;

/// Holds what a chunk left unfinished.
#[derive(Debug)]
pub struct Cleaner {
    colours: bool,
    place: Place,
    /// The beginning of a character whose end has not come.
    rest: Vec<u8>,
    coloured: bool,
}

#[derive(Debug)]
enum Place {
    Text,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate such as `(`: one more character belongs to it.
    Designation,
    /// After ESC [, with the parameters so far.
    Control(String),
    /// In a string such as a title or a link, until BEL or ESC \.
    Words(bool),
}

impl Cleaner {
    pub fn new(colours: bool) -> Cleaner {
        Cleaner { colours, place: Place::Text, rest: Vec::new(), coloured: false }
    }

    pub fn clean(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.rest);
        all.extend_from_slice(bytes);
        let mut clean = String::with_capacity(all.len());
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.letters(chunk.valid(), &mut clean);
            if chunk.invalid().is_empty() {
                continue;
            }
            let cut = chunks.peek().is_none() && is_beginning(chunk.invalid());
            if cut {
                self.rest = chunk.invalid().to_vec();
            } else {
                self.letter(char::REPLACEMENT_CHARACTER, &mut clean);
            }
        }
        clean
    }

    /// A colour is on that the text has not ended.
    pub fn is_coloured(&self) -> bool {
        self.coloured
    }

    /// What is plain text passes as a whole: jobs print a lot of it.
    fn letters(&mut self, mut text: &str, clean: &mut String) {
        while !text.is_empty() {
            if matches!(self.place, Place::Text) {
                let plain = text.bytes().position(may_be_control).unwrap_or(text.len());
                clean.push_str(&text[..plain]);
                text = &text[plain..];
            }
            let mut letters = text.chars();
            letters.next().into_iter().for_each(|letter| self.letter(letter, clean));
            text = letters.as_str();
        }
    }

    fn letter(&mut self, letter: char, clean: &mut String) {
        if letter == '\n' {
            self.place = Place::Text;
        }
        match &mut self.place {
            Place::Text => self.text(letter, clean),
            Place::Escape => {
                self.place = match letter {
                    '[' => Place::Control(String::new()),
                    ']' | 'P' | 'X' | '^' | '_' => Place::Words(false),
                    ' '..='/' => Place::Designation,
                    '\x1b' => Place::Escape,
                    _ => Place::Text,
                }
            }
            Place::Designation => {
                if !(' '..='/').contains(&letter) {
                    self.place = Place::Text;
                }
            }
            Place::Control(parameters) => match letter {
                ' '..='?' => {
                    if parameters.len() < PARAMETERS_MAX {
                        parameters.push(letter);
                    }
                }
                '@'..='~' => {
                    let parameters = std::mem::take(parameters);
                    self.place = Place::Text;
                    if letter == 'm' {
                        self.colour(&parameters, clean);
                    }
                }
                '\x1b' => self.place = Place::Escape,
                _ => self.place = Place::Text,
            },
            Place::Words(escaped) => match (letter, *escaped) {
                ('\x07' | '\u{9c}', _) | ('\\', true) => self.place = Place::Text,
                ('\x1b', _) => *escaped = true,
                (_, _) => *escaped = false,
            },
        }
    }

    fn text(&mut self, letter: char, clean: &mut String) {
        match letter {
            '\x1b' => self.place = Place::Escape,
            '\u{9b}' => self.place = Place::Control(String::new()),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => self.place = Place::Words(false),
            '\n' | '\t' | '\r' => clean.push(letter),
            letter if letter.is_control() => {}
            letter => clean.push(letter),
        }
    }

    fn colour(&mut self, parameters: &str, clean: &mut String) {
        let is_colour = parameters.len() < PARAMETERS_MAX
            && parameters.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'));
        if self.colours && is_colour {
            clean.push_str(&format!("\x1b[{parameters}m"));
            self.coloured = !matches!(parameters, "" | "0");
        }
    }
}

/// Whether a control character may begin here: one of ASCII, or with 0xc2 one of those beyond.
fn may_be_control(byte: u8) -> bool {
    byte.is_ascii_control() || byte == 0xc2
}

/// Whether the bytes are a character that was cut off, and not wrong.
fn is_beginning(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: &[(&str, &str)] = &[
        ("plain\tté\r\n", "plain\tté\r\n"),
        ("\x1b[1;31mred\x1b[0m\x1b[38:5:1mx\x1b[m", "\x1b[1;31mred\x1b[0m\x1b[38:5:1mx\x1b[m"),
        ("a\x1b[2J\x1b[Hb\x1b[?25lc\x1b[>4;2md", "abcd"),
        ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        ("\x1bPq#0\x1b\\a\x1b(Bb\x1bcc\x1b7d", "abcd"),
        ("a\u{9b}2Jb\u{9d}t\u{9c}c\u{85}d", "abcd"),
        ("bell\x07 back\x08 nul\0 del\x7f", "bell back nul del"),
        ("\x1b]never ended\nnext", "\nnext"),
        ("\x1b[1\nnext", "\nnext"),
    ];

    #[test]
    fn only_text_and_colours_pass_however_the_bytes_are_cut() {
        for (text, expected) in SAMPLES {
            for size in 1..=text.len() {
                let mut cleaner = Cleaner::new(true);
                let clean: String = text.as_bytes().chunks(size).map(|bytes| cleaner.clean(bytes)).collect();
                assert_eq!(&clean, expected, "{text:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn without_colours_not_even_those() {
        assert_eq!(Cleaner::new(false).clean(b"\x1b[1;31mred\x1b[0m"), "red");
    }

    #[test]
    fn what_is_no_text_is_shown_as_such() {
        assert_eq!(Cleaner::new(true).clean(b"a\xff\x9bb"), "a\u{fffd}\u{fffd}b");
    }

    #[test]
    fn a_colour_that_was_left_on_is_known() {
        let mut cleaner = Cleaner::new(true);
        cleaner.clean(b"\x1b[31mred");
        assert!(cleaner.is_coloured());
        cleaner.clean(b"\x1b[0m");
        assert!(!cleaner.is_coloured());
    }
}
