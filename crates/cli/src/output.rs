//! Exit codes, the way errors are said, and the one way to stdout.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::api::ApiError;

/// The contract's exit codes, as far as they are used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Ctrl-C ended the looking on; as a shell says it of a process that the signal ended.
    Interrupted,
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Canceled => 3,
            Exit::Infrastructure => 5,
            Exit::TimedOut => 6,
            Exit::NotAuthorised => 7,
            Exit::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
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

/// The command was not used as it can be.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    Problem { exit: Exit::Usage, message: message.into() }.into()
}

/// Says what went wrong, causes included, and returns the exit code.
pub fn failed(error: &anyhow::Error) -> ExitCode {
    if is_unread(error) {
        return Exit::Success.into();
    }
    progress("");
    eprintln!("{} {error:#}", paint(std::io::stderr().is_terminal(), "1;31", "error:"));
    let problem = error.downcast_ref::<Problem>().map(|problem| problem.exit);
    let refused = error.downcast_ref::<ApiError>().map(|error| error.exit);
    problem.or(refused).unwrap_or(Exit::Infrastructure).into()
}

/// Nobody reads stdout any more, as after `| head`: the command ends, and nothing went wrong.
#[derive(Debug)]
struct Unread;

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("nobody reads stdout")
    }
}

impl std::error::Error for Unread {}

pub fn is_unread(error: &anyhow::Error) -> bool {
    error.is::<Unread>()
}

/// To stdout, at once.
pub fn write(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Unread.into()),
        written => Ok(written?),
    }
}

/// A line of data.
pub fn line(text: impl std::fmt::Display) -> anyhow::Result<()> {
    write(format!("{text}\n").as_bytes())
}

/// Data for a program.
pub fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    line(serde_json::to_string_pretty(value)?)
}

/// Colour on a terminal, or where `CLICOLOR_FORCE` asks for it; never when `NO_COLOR` asks for none.
pub fn has_colours(terminal: bool) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !unwanted && (terminal || is_set("CLICOLOR_FORCE"))
}

pub fn paint(terminal: bool, code: &str, text: &str) -> String {
    if has_colours(terminal) { painted(code, text) } else { text.into() }
}

pub fn painted(code: &str, text: &str) -> String {
    format!("\x1b[{code}m{text}\x1b[0m")
}

pub fn paint_stdout(code: &str, text: &str) -> String {
    paint(std::io::stdout().is_terminal(), code, text)
}

/// A progress line is on the screen.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// A line that is overwritten by the next, on a terminal; nothing elsewhere. Without text it goes away, if it is there:
/// what else may stand on that line is not touched.
pub fn progress(text: &str) {
    let was_shown = SHOWN.swap(!text.is_empty(), Ordering::Relaxed);
    if std::io::stderr().is_terminal() && (was_shown || !text.is_empty()) {
        eprint!("\r\x1b[K{text}");
    }
}
