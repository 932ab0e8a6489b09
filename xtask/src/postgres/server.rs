//! One PostgreSQL server that lives as long as the value that stands for it.
//!
//! A small shell, the keeper, owns folder and server. It waits on a pipe that only we hold, and cleans up when the pipe
//! closes: after a drop, a panic, Ctrl-C or `kill -9` alike, so there is one way out and not one per way to die.

use std::fs::{self, DirBuilder};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

use super::account::{self, Account};
use super::install;

/// Somebody else may take the free port before the server does; then another one is tried.
const PORTS_TRIED_MAX: u32 = 3;

/// Folders of this name that an earlier process with our id may have left behind.
const FOLDERS_TRIED_MAX: u32 = 100;

/// What the keeper does. It prints `initialised`, then answers each port it reads with `ready` or `refused`.
///
/// An immediate stop is enough, as nobody reads the data again. The ignored SIGPIPE turns our death while the keeper
/// speaks into an ordinary failure, which runs the trap. The socket's folder is relative to the data, since an absolute
/// path may be longer than a socket's name may be.
const KEEPER: &str = r#"
set -eu
folder=$1 programs=$2
trap '' PIPE
clean() {
    "$programs/pg_ctl" stop --silent --mode=immediate --pgdata="$folder/data" 2>/dev/null || true
    cd / && rm -rf "$folder"
}
trap clean EXIT

"$programs/initdb" --pgdata="$folder/data" --username=postgres --auth=trust --encoding=UTF8 --locale=C \
    >"$folder/initdb.log" 2>&1 || { cat "$folder/initdb.log" >&2; exit 1; }
cat >>"$folder/data/postgresql.conf" <<END
listen_addresses = '127.0.0.1'
unix_socket_directories = '..'
max_connections = 100
END
echo initialised

while read -r port; do
    if "$programs/pg_ctl" start --silent --wait --pgdata="$folder/data" --log="$folder/server.log" \
        --options="-p $port" >/dev/null
    then echo ready
    else cat "$folder/server.log" >&2; echo refused
    fi
done
"#;

pub struct Server {
    /// Superuser, no password, loopback only.
    pub url: String,
    keeper: Child,
}

impl Server {
    /// A fresh, empty server, ready for connections; PostgreSQL is installed first where that is ours to do.
    pub fn start() -> Result<Server> {
        Server::start_from(&install::programs()?, account::servant()?, &std::env::temp_dir())
    }

    fn start_from(programs: &Path, servant: Option<Account>, parent: &Path) -> Result<Server> {
        let folder = folder_below(parent, servant)?;
        let keeper = match spawn_keeper(&folder, programs, servant) {
            Ok(keeper) => keeper,
            Err(error) => {
                fs::remove_dir_all(&folder)?; // no keeper, no one else to do it
                return Err(error);
            }
        };
        // From here on the value exists, so every early return below cleans up.
        let mut server = Server { url: String::new(), keeper };
        let port = server.bring_up()?;
        server.url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        Ok(server)
    }

    /// Waits for the keeper's preparation, then offers it ports until the server has taken one.
    fn bring_up(&mut self) -> Result<u16> {
        let mut answers = BufReader::new(self.keeper.stdout.take().context("the keeper has no output")?);
        expect(&mut answers, "initialised")?;
        for _ in 0..PORTS_TRIED_MAX {
            let port = free_port()?;
            let orders = self.keeper.stdin.as_mut().context("the keeper has no input")?;
            writeln!(orders, "{port}").context("the keeper is gone")?;
            if answer(&mut answers)? == "ready" {
                return Ok(port);
            }
        }
        bail!("PostgreSQL did not start on any of {PORTS_TRIED_MAX} ports; its log is above")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Waiting closes the pipe first, which is the keeper's signal.
        if let Err(error) = self.keeper.wait() {
            eprintln!("cannot wait for the end of PostgreSQL: {error}");
        }
    }
}

fn spawn_keeper(folder: &Path, programs: &Path, servant: Option<Account>) -> Result<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", KEEPER, "keeper"]).arg(folder).arg(programs);
    command.current_dir(folder); // ours may be closed to the servant
    command.env("LC_ALL", "C"); // a locale that is named but not installed stops initdb
    command.process_group(0); // Ctrl-C is for us and the command; the keeper learns of our end by the pipe
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    if let Some(Account { uid, gid }) = servant {
        command.uid(uid).gid(gid); // supplementary groups go too, when root gives up its id
    }
    command.spawn().context("cannot start /bin/sh")
}

/// A new folder that only the servant can look into, as PostgreSQL demands.
fn folder_below(parent: &Path, servant: Option<Account>) -> Result<PathBuf> {
    for number in 0..FOLDERS_TRIED_MAX {
        let folder = parent.join(format!("deltaci-postgres-{}-{number}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => {
                if let Some(Account { uid, gid }) = servant {
                    chown(&folder, Some(uid), Some(gid))?;
                }
                return Ok(folder);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error).with_context(|| format!("cannot create {}", folder.display())),
        }
    }
    bail!("{} is full of folders named deltaci-postgres-*", parent.display())
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on 127.0.0.1")?;
    Ok(listener.local_addr()?.port())
}

fn expect(answers: &mut BufReader<ChildStdout>, word: &str) -> Result<()> {
    let said = answer(answers)?;
    if said != word {
        bail!("the keeper of PostgreSQL said {said:?}, not {word:?}");
    }
    Ok(())
}

fn answer(answers: &mut BufReader<ChildStdout>) -> Result<String> {
    let mut line = String::new();
    if answers.read_line(&mut line)? == 0 {
        bail!("PostgreSQL could not be prepared; the reason is above");
    }
    Ok(line.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const INITDB: &str = r#"mkdir "${1#--pgdata=}""#;

    /// Programs that only pretend, in a folder of their own; what `pg_ctl` does is noted there in `calls`.
    fn pretend(name: &str, initdb: &str, start: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("deltaci-pretend-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let pg_ctl = format!(
            "if [ $1 = stop ]; then echo stopped >>{0}/calls; exit; fi\n\
             data=${{4#--pgdata=}}; echo \"${{data%/data}}\" >>{0}/calls; touch ${{data%/data}}/server.log\n\
             {start}",
            folder.display()
        );
        for (program, script) in [("initdb", initdb), ("pg_ctl", pg_ctl.as_str())] {
            let text = folder.join("script");
            fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
            // Another process copies: a fork of a test beside us could hold a file that we wrote open, and the system
            // refuses to run a file that is open for writing.
            let copy = Command::new("install").arg(text).arg(folder.join(program)).status().unwrap();
            assert!(copy.success());
        }
        folder
    }

    fn calls(programs: &Path) -> Vec<String> {
        let text = fs::read_to_string(programs.join("calls")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_dropped_server_is_stopped_and_its_folder_is_gone() {
        let programs = pretend("drop", INITDB, "exit 0");
        let server = Server::start_from(&programs, None, &programs).unwrap();
        assert!(server.url.starts_with("postgres://postgres@127.0.0.1:"), "{}", server.url);
        let folder = PathBuf::from(&calls(&programs)[0]);
        assert!(folder.is_dir());
        drop(server);
        assert!(!folder.exists());
        assert_eq!(calls(&programs).last().unwrap(), "stopped");
        fs::remove_dir_all(programs).unwrap();
    }

    #[test]
    fn a_port_that_was_taken_meanwhile_is_followed_by_another() {
        let programs = pretend("port", INITDB, r#"[ $(wc -l <"${0%/*}/calls") -gt 1 ]"#);
        drop(Server::start_from(&programs, None, &programs).unwrap());
        assert_eq!(calls(&programs).len(), 3, "refused, ready, stopped");
        fs::remove_dir_all(programs).unwrap();
    }

    #[test]
    fn a_server_that_never_starts_is_an_error_and_leaves_no_folder() {
        let programs = pretend("refuse", INITDB, "exit 1");
        assert!(Server::start_from(&programs, None, &programs).is_err());
        let calls = calls(&programs);
        assert_eq!(calls.len() as u32, PORTS_TRIED_MAX + 1);
        assert!(!Path::new(&calls[0]).exists());
        fs::remove_dir_all(programs).unwrap();
    }

    #[test]
    fn a_failing_initdb_is_an_error() {
        let programs = pretend("initdb", "exit 1", "exit 0");
        assert!(Server::start_from(&programs, None, &programs).is_err());
        assert_eq!(calls(&programs), ["stopped"]);
        fs::remove_dir_all(programs).unwrap();
    }
}
