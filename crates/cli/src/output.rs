//! Exit codes and the way errors are said.

use std::io::IsTerminal;
use std::process::ExitCode;

/// The contract's exit codes, as far as they are used here.
#[derive(Debug, Clone, Copy)]
pub enum Exit {
    Success,
    /// A job or run failed, or a check found something.
    Failed,
    /// Wrong usage.
    Usage,
    /// A job was cancelled.
    Canceled,
    /// Something around us failed.
    Infrastructure,
    TimedOut,
    NotAuthorised,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Success => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Canceled => 3,
            Exit::Infrastructure => 5,
            Exit::TimedOut => 6,
            Exit::NotAuthorised => 7,
        })
    }
}

/// An error that knows its exit code; any other is an infrastructure error.
#[derive(Debug)]
pub struct Problem {
    pub exit: Exit,
    pub message: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

/// Says what went wrong, causes included, and returns the exit code.
pub fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("{} {error:#}", paint(std::io::stderr().is_terminal(), "1;31", "error:"));
    error.downcast_ref::<Problem>().map_or(Exit::Infrastructure, |problem| problem.exit).into()
}

/// Colour on a terminal, unless `NO_COLOR` asks for none.
pub fn paint(terminal: bool, code: &str, text: &str) -> String {
    let plain = !terminal || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if plain { text.into() } else { format!("\x1b[{code}m{text}\x1b[0m") }
}

pub fn paint_stdout(code: &str, text: &str) -> String {
    paint(std::io::stdout().is_terminal(), code, text)
}

/// A line that is overwritten by the next, on a terminal; nothing elsewhere.
pub fn progress(text: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{text}");
    }
}
