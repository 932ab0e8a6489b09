//! The talk of a long-running command on stderr: one line per event, coloured on a terminal.

use std::io::IsTerminal;

use tracing_subscriber::filter::LevelFilter;

use crate::output::has_colours;

#[derive(clap::Args)]
pub struct Talk {
    /// Log lines as JSON
    #[arg(long, env = "DELTACI_LOG_JSON")]
    log_json: bool,
    /// How much to log: error, warn, info, debug or trace
    #[arg(long, env = "DELTACI_LOG_LEVEL", default_value = "info")]
    log_level: LevelFilter,
}

impl Talk {
    /// From now on; once per process.
    pub fn begin(&self) {
        let lines = tracing_subscriber::fmt()
            .with_max_level(self.log_level)
            .with_writer(std::io::stderr)
            .with_ansi(has_colours(std::io::stderr().is_terminal()));
        if self.log_json { lines.json().init() } else { lines.init() }
    }
}
