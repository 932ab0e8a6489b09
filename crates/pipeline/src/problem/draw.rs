//! A problem for a person: file, line and column, the line itself with a mark under what is meant, and what to do.

use std::fmt::Write;

use super::line::{show, visible};
use super::{Problem, Source};

/// How it shall look.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// The file's name, as the person knows it.
    pub file: &'a str,
    /// Columns of the terminal; longer lines are cut around what is meant.
    pub width: usize,
    pub style: Style,
}

/// What is printed before each part, and after it; nothing for plain text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Style {
    pub error: &'static str,
    pub message: &'static str,
    /// Line numbers and the lines around the text.
    pub frame: &'static str,
    pub mark: &'static str,
    pub help: &'static str,
    pub reset: &'static str,
}

impl Style {
    pub const PLAIN: Style = Style { error: "", message: "", frame: "", mark: "", help: "", reset: "" };

    pub const COLOURS: Style = Style {
        error: "\x1b[1;31m",
        message: "\x1b[1m",
        frame: "\x1b[1;34m",
        mark: "\x1b[1;31m",
        help: "\x1b[1;36m",
        reset: "\x1b[0m",
    };
}

/// All of them, with an empty line after each.
pub fn draw_all(problems: &[Problem], file: &[u8], look: Look<'_>) -> String {
    let text = String::from_utf8_lossy(file);
    let source = Source::new(&text);
    problems.iter().map(|problem| draw(problem, &source, look) + "\n").collect()
}

pub fn draw(problem: &Problem, source: &Source<'_>, look: Look<'_>) -> String {
    let Style { error, message, frame, mark, help, reset } = look.style;
    let place = problem.place;
    let number = place.line.to_string();
    let gap = " ".repeat(number.len());
    let room = look.width.saturating_sub(number.len() + 3);
    let (line, span) = show(source.line(place.line), place.column, place.length, room);
    let (indent, marks) = (" ".repeat(span.start), "^".repeat(span.columns));
    let (said, label) = (visible(&problem.message), visible(&problem.label));
    let (file, column) = (visible(look.file), place.column);
    let mut text = String::new();
    let mut add = |line: String| writeln!(text, "{}", line.trim_end()).expect("a string takes all");
    add(format!("{error}error[{}]{reset}: {message}{said}{reset}", problem.code.as_str()));
    add(format!("{gap}{frame}-->{reset} {file}:{number}:{column}"));
    add(format!("{gap} {frame}|{reset}"));
    add(format!("{frame}{number} |{reset} {line}"));
    add(format!("{gap} {frame}|{reset} {indent}{mark}{marks} {label}{reset}"));
    if let Some(hint) = &problem.hint {
        add(format!("{gap} {frame}={reset} {help}help{reset}: {}", visible(hint)));
    }
    text
}
