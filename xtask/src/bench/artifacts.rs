//! Bytes in and out beside docker-registry, with its files on the same disk. They take turns within one run.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::apt;
use crate::postgres::is_root;
use crate::workspace::run_to_end;

const PATIENCE: Duration = Duration::from_secs(20);

/// Ended when dropped.
struct Registry {
    process: Child,
    address: String,
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.process.kill(); // it may have ended by itself
        let _ = self.process.wait();
    }
}

pub fn run(root: &Path, deltaci: &Path) -> Result<u8> {
    if Command::new("docker-registry").arg("--version").stdout(Stdio::null()).status().is_err() {
        if !apt::may_install(is_root()?) {
            bail!("docker-registry is not here; on Debian and Ubuntu: `apt-get install docker-registry`");
        }
        apt::install(&["docker-registry"])?;
    }
    let folder = root.join("target/bench-registry");
    let _ = std::fs::remove_dir_all(&folder); // of a run that was cut short
    std::fs::create_dir_all(&folder).context("a folder for the registry")?;
    let registry = start(&folder)?;
    println!("\nArtifacts, files on the disk, beside docker-registry");
    let mut bench = Command::new(deltaci);
    bench.args(["bench", "artifacts", "--registry", &registry.address]).current_dir(root);
    let code = run_to_end(&mut bench)?;
    drop(registry);
    std::fs::remove_dir_all(&folder).context("the registry's files stay behind")?;
    Ok(code)
}

fn start(folder: &Path) -> Result<Registry> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let address = format!("127.0.0.1:{port}");
    let files = folder.join("files");
    let config = format!(
        "version: 0.1\nlog:\n  level: error\n  accesslog:\n    disabled: true\nstorage:\n  filesystem:\n    rootdirectory: {}\n\
         http:\n  addr: {address}\n",
        files.display()
    );
    let path = folder.join("config.yml");
    std::fs::write(&path, config)?;
    let mut command = Command::new("docker-registry");
    command.arg("serve").arg(&path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let registry = Registry { process: command.spawn().context("docker-registry does not start")?, address };
    let began = Instant::now();
    while std::net::TcpStream::connect(&registry.address).is_err() {
        if began.elapsed() > PATIENCE {
            bail!("docker-registry does not answer");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(registry)
}
