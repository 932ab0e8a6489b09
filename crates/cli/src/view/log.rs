//! A job's log on its way to stdout: as it is in a file or pipe, cleaned on a terminal, and with the job's name before
//! each line when several jobs are shown.

use super::clean::Cleaner;
use super::screen::{Screen, Style};

/// A longer line is broken, so that memory stays flat.
const LINE_BYTES_MAX: usize = 64 * 1024;

pub struct LogText {
    screen: Screen,
    cleaner: Option<Cleaner>,
    /// Before each line.
    prefix: Option<String>,
    /// With a prefix: a line whose end has not come.
    line: Vec<u8>,
    at_line_start: bool,
}

impl LogText {
    pub fn new(screen: Screen, prefix: Option<String>) -> LogText {
        LogText {
            screen,
            cleaner: screen.is_terminal().then(|| Cleaner::new(screen.has_colours())),
            prefix,
            line: Vec::new(),
            at_line_start: true,
        }
    }

    /// More of the log.
    pub fn text(&mut self, bytes: &[u8]) -> Vec<u8> {
        let cleaned = self.cleaner.as_mut().map(|cleaner| cleaner.clean(bytes));
        let bytes = cleaned.as_ref().map_or(bytes, |text| text.as_bytes());
        if self.prefix.is_some() {
            return self.lines(bytes);
        }
        if let Some(last) = bytes.last() {
            self.at_line_start = *last == b'\n';
        }
        bytes.to_vec()
    }

    /// A line of ours within the log.
    pub fn marker(&mut self, said: &str) -> Vec<u8> {
        let mut out = self.end();
        let said = self.screen.paint(Style::Dim, &format!("[delta-ci: {said}]"));
        let prefix = self.prefix.as_deref().unwrap_or_default();
        out.extend_from_slice(format!("{prefix}{said}\n").as_bytes());
        out
    }

    /// Ends the line and its colour, if either is open.
    pub fn end(&mut self) -> Vec<u8> {
        if self.prefix.is_some() {
            return if self.line.is_empty() { Vec::new() } else { self.flush() };
        }
        let mut out = Vec::new();
        if self.cleaner.as_ref().is_some_and(Cleaner::is_coloured) {
            out.extend_from_slice(b"\x1b[0m");
        }
        if !self.at_line_start {
            out.push(b'\n');
            self.at_line_start = true;
        }
        out
    }

    fn lines(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for part in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            self.line.extend_from_slice(part);
            // A carriage return would write over the name; most are half of a line's end.
            let ended = matches!(part.last(), Some(b'\n' | b'\r'));
            if ended {
                while matches!(self.line.last(), Some(b'\n' | b'\r')) {
                    self.line.pop();
                }
            }
            let is_half = part == b"\n" && self.line.is_empty() && !self.at_line_start;
            if (ended && !is_half) || self.line.len() > LINE_BYTES_MAX {
                out.extend(self.flush());
            }
            self.at_line_start = part.last() != Some(&b'\r');
        }
        out
    }

    fn flush(&mut self) -> Vec<u8> {
        let mut out = self.prefix.clone().unwrap_or_default().into_bytes();
        out.append(&mut self.line);
        if self.cleaner.is_some() && out.contains(&b'\x1b') {
            out.extend_from_slice(b"\x1b[0m");
        }
        out.push(b'\n');
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fed in pieces of every size.
    fn check(prefix: Option<&str>, text: &str, expected: &str) {
        for size in 1..=text.len() {
            let mut log = LogText::new(Screen::plain(None), prefix.map(String::from));
            let mut out: Vec<u8> = text.as_bytes().chunks(size).flat_map(|bytes| log.text(bytes)).collect();
            out.extend(log.end());
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{text:?} in pieces of {size}");
        }
    }

    #[test]
    fn alone_a_log_is_as_it_was_printed() {
        check(None, "a\r\nb\rc\x1b[1m\n", "a\r\nb\rc\x1b[1m\n");
        check(None, "no end", "no end\n");
    }

    #[test]
    fn among_others_each_line_has_its_name() {
        check(Some("x│"), "a\n\nb", "x│a\nx│\nx│b\n");
        check(Some("x│"), "a\r\nb\r\n", "x│a\nx│b\n");
        check(Some("x│"), "10%\r20%\rdone\n", "x│10%\nx│20%\nx│done\n");
    }

    #[test]
    fn a_marker_has_a_line_of_its_own() {
        let mut log = LogText::new(Screen::plain(None), None);
        let mut out = log.text(b"half");
        out.extend(log.marker("lost"));
        assert_eq!(out, b"half\n[delta-ci: lost]\n");
    }

    #[test]
    fn a_line_without_an_end_does_not_fill_the_memory() {
        let mut log = LogText::new(Screen::plain(None), Some("x│".into()));
        let out: usize = (0..100).map(|_| log.text(&[b'y'; 10_000]).len()).sum();
        assert!(out > 900_000, "{out}");
    }
}
