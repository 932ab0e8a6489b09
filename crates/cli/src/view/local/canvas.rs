//! The last lines of the terminal, written over in place. What stands above them scrolls and stays.
//!
//! Never: the alternate screen; a line that wraps by itself in the moving part; a cursor that stays hidden.

use std::io::Write;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use super::block::Row;
use crate::view::screen::Size;

/// Terminals that do not know it ignore it; the others show each drawing as a whole.
const BEGIN_DRAWING: &str = "\x1b[?2026h";
const END_DRAWING: &str = "\x1b[?2026l";
const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
/// A letter that the terminal takes to be wider than we do must not make a line two.
const CUT_LONG_LINES: &str = "\x1b[?7l";
const WRAP_LONG_LINES: &str = "\x1b[?7h";
const CLEAR_LINE: &str = "\x1b[2K";
const CLEAR_BELOW: &str = "\x1b[J";

/// Of the real terminal; a process has one.
static HIDDEN: AtomicBool = AtomicBool::new(false);

/// For whoever ends the process without dropping what shows the run.
pub fn restore_cursor() {
    if HIDDEN.swap(false, Ordering::SeqCst) {
        let mut stderr = std::io::stderr();
        let _ = stderr.write_all(SHOW_CURSOR.as_bytes()).and_then(|()| stderr.flush());
    }
}

/// The cursor comes back before a panic is told of, also where it aborts the process.
pub fn restore_cursor_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let told = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore_cursor();
            told(panic);
        }));
    });
}

pub struct Canvas<W: Write> {
    out: W,
    /// Columns of each row that is drawn.
    drawn: Vec<usize>,
    hidden: bool,
}

impl<W: Write> Canvas<W> {
    pub fn new(out: W) -> Canvas<W> {
        Canvas { out, drawn: Vec::new(), hidden: false }
    }

    /// Writes what stays, and the rows that move below it.
    pub fn draw(&mut self, stays: &str, rows: &[Row], size: Size) {
        let mut text = format!("{BEGIN_DRAWING}{HIDE_CURSOR}{}", self.back_to_first(size));
        if !stays.is_empty() {
            text.push_str(CLEAR_BELOW);
            text.push_str(stays);
        }
        text.push_str(CUT_LONG_LINES);
        for (place, row) in rows.iter().enumerate() {
            // Cleared before it is written: behind its last column there is no place to clear from.
            let is_last = place + 1 == rows.len();
            text.push_str(if is_last { CLEAR_BELOW } else { CLEAR_LINE });
            text.push_str(&row.text);
            text.push_str(if is_last { "" } else { "\n" });
        }
        text.push_str(WRAP_LONG_LINES);
        text.push_str(END_DRAWING);
        self.drawn = rows.iter().map(|row| row.width).collect();
        self.hidden = true;
        HIDDEN.store(true, Ordering::SeqCst);
        self.write(&text);
    }

    /// Takes the moving rows away and writes the end.
    pub fn finish(&mut self, stays: &str, size: Size) {
        let back = self.back_to_first(size);
        let clear = if self.drawn.is_empty() { "" } else { CLEAR_BELOW };
        self.drawn.clear();
        self.write(&format!("{back}{clear}{stays}"));
        self.show_cursor();
    }

    /// The terminal may have become narrower: then it has broken what stood there into more rows.
    fn back_to_first(&self, size: Size) -> String {
        let rows: usize = self.drawn.iter().map(|width| width.div_ceil(size.columns.max(1)).max(1)).sum();
        match rows.saturating_sub(1) {
            0 => "\r".into(),
            up => format!("\r\x1b[{up}A"),
        }
    }

    fn show_cursor(&mut self) {
        if self.hidden {
            self.hidden = false;
            HIDDEN.store(false, Ordering::SeqCst);
            self.write(SHOW_CURSOR);
        }
    }

    /// A terminal that is gone stops no run.
    fn write(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

impl<W: Write> Drop for Canvas<W> {
    fn drop(&mut self) {
        if !self.drawn.is_empty() {
            self.write("\n");
        }
        self.show_cursor();
    }
}
