//! bubblewrap: processes, mounts, network and names of the job's own, a read-only system, no capabilities.
//!
//! The job sees the system's folders, its workspace, and nothing else of the machine: no home folders, no data folder of
//! the runner, no other workspace, no process but its own. When the keeper dies the kernel kills all that is inside.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use super::limits::Cage;
use super::talk::Talk;
use super::{Executor, Job, Output, inside, local};
use crate::keeper::{Places, Problem, Reaper, environment};

const PROGRAM: &str = "bwrap";

/// Who a job is, where it stands and what it may do. With a network of its own when none is allowed: only a loopback.
const WALLS: [&str; 5] = ["--unshare-all", "--new-session", "--die-with-parent", "--cap-drop", "ALL"];

/// What every job may read. Home folders, `/var`, `/srv` and the like are not here: they hold what belongs to somebody.
const SYSTEM: [&str; 10] =
    ["/usr", "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix"];

/// Secrets of the machine within what every job may read. Without capabilities root still owns root's files.
const HIDDEN: [&str; 9] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/deltaci",
    "/etc/docker",
];

/// Where names are resolved when the job may use the network: `/etc/resolv.conf` is often a link to there.
const RESOLVERS: [&str; 2] = ["/run/systemd/resolve", "/run/resolvconf"];

const HOME: &str = "/home/job";
const TEMPORARY: &str = "/tmp";

/// Opens the file of arguments for bubblewrap. The job's environment is in there: on bubblewrap's command line other users
/// could read it, and in bubblewrap's own environment a job could use it (`LD_PRELOAD`) to run outside the walls.
const WITH_ARGUMENTS: &str = r#"exec 9<"$1"; shift; exec "$@""#;

/// Whether a sandbox can be made here, tried out; if not, why.
pub async fn probe(reaper: &Reaper) -> Result<(), String> {
    let Some(program) = environment::find_program(PROGRAM) else {
        return Err(format!("the program `{PROGRAM}` is not on the runner's PATH"));
    };
    let mut command = Command::new(program);
    command.args(WALLS).args(system()).arg("/bin/true");
    match run(command, reaper).await {
        Ok((0, _)) => Ok(()),
        Ok((code, None)) => Err(format!("`{PROGRAM}` ended with code {code}")),
        Ok((_, Some(complaint))) => Err(complaint),
        Err(error) => Err(format!("`{PROGRAM}`: {error}")),
    }
}

async fn run(mut command: Command, reaper: &Reaper) -> io::Result<(i32, Option<String>)> {
    let (output, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer).env_clear();
    let exit = reaper.spawn(&mut command)?;
    drop(command); // and with it our copy of the far end
    let mut output = pipe::Receiver::from_owned_fd(OwnedFd::from(output))?;
    let talk = Talk::default();
    let mut buffer = [0; 1024];
    while let length @ 1.. = output.read(&mut buffer).await? {
        talk.hear(&buffer[..length]);
    }
    Ok((exit.await.unwrap_or(1), talk.last_line()))
}

pub fn open(job: Job<'_>) -> Result<(Box<dyn Executor>, Output), Problem> {
    let program = environment::find_program(PROGRAM)
        .ok_or_else(|| Problem::new(format!("the program `{PROGRAM}` is no longer on the runner's PATH")))?;
    let arguments = job
        .places
        .private_file("sandbox", &arguments(&job).join("\0").into_bytes())
        .map_err(|error| Problem::during("cannot write the sandbox's arguments", error))?;
    let fixed = [inside::SHELL, "-c", WITH_ARGUMENTS, "deltaci"].map(String::from);
    let paths = [&arguments, &program].map(|path| path.to_string_lossy().into_owned());
    let mut words: Vec<String> = fixed.into_iter().chain(paths).collect();
    words.extend(["--args", "9", "--"].map(String::from));
    words.extend(inside::command(job.word, &job.order.steps));
    let cage = Cage::make(&job.order.limits);
    let mut command = cage.command(words);
    command.env_clear().envs(environment::keeper_word());
    local::open(command, &job, Some(cage))
}

/// All that bubblewrap is told but what to run.
fn arguments(job: &Job<'_>) -> Vec<String> {
    let mut words: Vec<String> = WALLS.map(String::from).to_vec();
    words.extend(system());
    if job.order.network {
        words.push("--share-net".into());
        words.extend(RESOLVERS.iter().flat_map(|path| mount("--ro-bind-try", path, path)));
    }
    words.extend(own(job.places));
    let defaults =
        [("PATH", environment::host_path()), ("HOME", HOME.to_owned()), ("TMPDIR", TEMPORARY.to_owned())];
    let environment = environment::with_defaults(job.environment.clone(), defaults);
    words.extend(environment.into_iter().flat_map(|(name, value)| ["--setenv".to_owned(), name, value]));
    words
}

/// The mounts that all jobs share.
fn system() -> Vec<String> {
    let mut words: Vec<String> = SYSTEM.iter().flat_map(|path| mount("--ro-bind-try", path, path)).collect();
    for path in HIDDEN.iter().filter(|path| Path::new(path).exists()) {
        if Path::new(path).is_dir() {
            words.extend(["--tmpfs".to_owned(), (*path).to_owned()]);
        } else {
            words.extend(mount("--ro-bind", "/dev/null", path));
        }
    }
    words
        .extend(["--proc", "/proc", "--dev", "/dev", "--dir", "/run", "--dir", "/var/tmp"].map(String::from));
    words
}

/// The mounts of this job: on disk, not in memory, and removed with its scratch folder.
fn own(places: &Places) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(mount("--bind", &places.temporary.to_string_lossy(), TEMPORARY));
    words.extend(mount("--bind", &places.home.to_string_lossy(), HOME));
    if let Some(folder) = data_folder(&places.workspace) {
        words.extend(["--tmpfs".to_owned(), folder.to_string_lossy().into_owned()]);
    }
    let workspace = places.workspace.to_string_lossy();
    words.extend(mount("--bind", &workspace, &workspace));
    words.extend(["--chdir".to_owned(), places.workdir.to_string_lossy().into_owned()]);
    words
}

/// What to cover when the workspace lies within a folder that every job may read: the runner's data folder, two above,
/// or as near as that gets without covering the system itself.
fn data_folder(workspace: &Path) -> Option<PathBuf> {
    let system = SYSTEM.iter().map(Path::new).find(|system| workspace.starts_with(system))?;
    let above = workspace.ancestors().skip(1).take(2);
    above.filter(|folder| folder.starts_with(system) && *folder != system).last().map(Path::to_owned)
}

fn mount(how: &str, from: &str, to: &str) -> [String; 3] {
    [how.to_owned(), from.to_owned(), to.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_folder_within_the_system_is_covered() {
        for (workspace, expected) in [
            ("/var/lib/deltaci/workspaces/1", None),
            ("/opt/deltaci/workspaces/1", Some("/opt/deltaci")),
            ("/opt/workspaces/1", Some("/opt/workspaces")),
            ("/opt/1", None),
        ] {
            assert_eq!(data_folder(Path::new(workspace)), expected.map(PathBuf::from), "{workspace}");
        }
    }
}
