//! One server under test, fresh and seeded, that lives as long as the value that stands for it.
//!
//! As with PostgreSQL, a small shell owns the process and its folder and cleans up when our pipe closes, however we end.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Known, so that a command line that shows a failure can be repeated against a server started by hand.
pub const ADMIN_TOKEN: &str = "admin-token-of-the-fuzzer";

/// How often, and with what pause, the log is looked at for the server's address.
const LOOKS_MAX: u32 = 600;
const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// What follows in the log once the server listens.
const ANNOUNCED: &str = "listens on ";

/// Leases outlive the fuzzing, so that it does not depend on how quick the machine is.
const KEEPER: &str = r#"
folder=$1 deltaci=$2
trap '' PIPE
"$deltaci" server --listen 127.0.0.1:0 --data "$folder/data" --log-level warn \
    --lease-ttl 1h --ack-timeout 1h --cancel-deadline 1h 2>"$folder/log" &
trap 'kill $! 2>/dev/null; wait $!; rm -rf "$folder"' EXIT
cat >/dev/null
"#;

pub struct Server {
    pub url: String,
    folder: PathBuf,
    keeper: Child,
}

impl Server {
    pub fn start(deltaci: &Path, name: &str) -> Result<Server> {
        let folder = std::env::temp_dir().join(format!("deltaci-fuzzed-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let mut keeper = Command::new("/bin/sh");
        keeper.args(["-c", KEEPER, "keeper"]).arg(&folder).arg(deltaci);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("DELTACI_") {
                keeper.env_remove(name); // a developer's own settings would be this server's
            }
        }
        keeper.env("DELTACI_ADMIN_TOKEN", ADMIN_TOKEN).stdin(Stdio::piped()).process_group(0);
        let keeper = keeper.spawn().context("cannot start /bin/sh")?;
        let mut server = Server { url: String::new(), folder, keeper };
        server.url = server.announced()?;
        Ok(server)
    }

    fn announced(&mut self) -> Result<String> {
        for _ in 0..LOOKS_MAX {
            let log = self.log();
            if let Some((_, rest)) = log.split_once(ANNOUNCED)
                && let Some((url, _)) = rest.split_once(' ')
            {
                return Ok(url.to_owned());
            }
            sleep(LOOK_PAUSE);
        }
        bail!("the server did not start; it said:\n{}", self.log())
    }

    /// What the server has said so far: warnings, errors, panics.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Waiting closes the pipe first, which is the keeper's signal.
        if let Err(error) = self.keeper.wait() {
            eprintln!("cannot wait for the end of the server: {error}");
        }
    }
}
