//! A container of the image that the job names, by the Docker API; Podman serves it too.
//!
//! One container for all steps, with the shell inside as its first process: steps share what they leave in home and
//! temporary folder and what they leave running, and a step costs a fork, not a container. The shell's input is our
//! connection. When the keeper dies the engine closes it, the shell ends, and the kernel kills the rest of the container.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;

use bollard::Docker as Engine;
use bollard::container::LogOutput;
use bollard::exec::StartExecResults;
use bollard::models::{ContainerCreateBody, ExecConfig, HostConfig, HostConfigLogConfig, Mount, MountType};
use bollard::query_parameters::{
    AttachContainerOptions, CreateContainerOptionsBuilder, WaitContainerOptions,
};
use futures_util::StreamExt;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex, oneshot, watch};

use super::inside::{self, GO};
use super::talk::Talk;
use super::{Executor, Job, Output, Waiting, engine};
use crate::keeper::{OUTPUT_BYTES_MAX, Problem, environment};

const WORKSPACE: &str = "/workspace";
const HOME: &str = "/home/job";
const TEMPORARY: &str = "/tmp";

/// The first process of the container. It starts the shell inside, and a watcher that hands on the shell's input and kills
/// everything when that closes, in the middle of a step too. The watcher must outlive what a job may send to all.
const WATCH: &str = r#"
{ trap '' HUP INT QUIT USR1 USR2 ALRM TERM; while IFS= read -r deltaci_go; do echo "$deltaci_go"; done; kill -KILL -1; } | "$@"
"#;

/// Sends SIGTERM to every process of the job and ends when all of them have; a zombie has. Our own know the word of the
/// marks.
const TERMINATE: &str = r#"
kill -TERM -1
while :; do
  alive=
  for process in /proc/[0-9]*; do
    stat=
    { IFS= read -r stat < "$process/stat"; } 2>/dev/null
    case ${stat##*)} in
      ""|" Z"*|" X"*) ;;
      *) if ! grep -qs -e "$1" "$process/cmdline"; then alive=1; fi ;;
    esac
  done
  if [ -z "$alive" ]; then exit 0; fi
  sleep 0.05
done
"#;

pub struct Docker {
    engine: Engine,
    container: String,
    input: Pin<Box<dyn AsyncWrite + Send>>,
    exit: oneshot::Receiver<i32>,
    exit_code: Option<i32>,
    word: String,
    /// Whether every process has ended, once they were asked to.
    quiet: watch::Receiver<bool>,
    quiet_sender: watch::Sender<bool>,
    talk: Talk,
}

pub async fn open(job: Job<'_>) -> Result<(Box<dyn Executor>, Output), Problem> {
    let image = job.order.image.clone().ok_or_else(|| {
        Problem::new("the job names no image, and this runner runs jobs only in containers; name one")
    })?;
    let (engine, _) = engine::connect().await.map_err(Problem::new)?;
    engine::remove_abandoned(&engine).await;
    engine::provide(&engine, &image).await?;
    let container = engine::own_name();
    let started = start_unbroken(engine.clone(), container.clone(), body(&job, &image)).await;
    let (output, input) = started.map_err(|reason| {
        Problem::during(format!("cannot start a container of the image {image}"), reason)
    })?;
    let talk = Talk::default();
    let output = carry(output, talk.clone());
    let (quiet_sender, quiet) = watch::channel(false);
    let exit = wait(engine.clone(), container.clone());
    let word = job.word.to_owned();
    let docker = Docker { engine, container, input, exit, exit_code: None, word, quiet, quiet_sender, talk };
    Ok((Box::new(docker), output))
}

/// Held while our container is made: a keeper has one, and must not remove it in the middle of that.
static STARTING: Mutex<()> = Mutex::const_new(());

/// Removes what an opening that was broken off may have left.
pub async fn forget() -> Result<(), Problem> {
    let _made = STARTING.lock().await;
    let (engine, _) = engine::connect().await.map_err(Problem::new)?;
    engine::remove(&engine, &engine::own_name()).await
}

type Stream = Pin<Box<dyn futures_util::Stream<Item = Result<LogOutput, bollard::errors::Error>> + Send>>;
type Input = Pin<Box<dyn AsyncWrite + Send>>;

/// Goes on to the end also when nobody waits for it any more: an engine that is left in the middle of making a container
/// may keep half of one. Without us its input closes, and it ends.
async fn start_unbroken(
    engine: Engine,
    container: String,
    body: ContainerCreateBody,
) -> Result<(Stream, Input), String> {
    let making = STARTING.lock().await;
    let task = tokio::spawn(async move {
        let _making = making;
        start(&engine, &container, body).await.map_err(|error| engine::reason(&error))
    });
    task.await.unwrap_or_else(|error| Err(error.to_string()))
}

/// Attached before it starts, so that not a byte is missed.
async fn start(
    engine: &Engine,
    container: &str,
    body: ContainerCreateBody,
) -> Result<(Stream, Input), bollard::errors::Error> {
    let options = CreateContainerOptionsBuilder::default().name(container).build();
    engine.create_container(Some(options), body).await?;
    let streams = AttachContainerOptions {
        stream: true,
        stdin: true,
        stdout: true,
        stderr: true,
        ..AttachContainerOptions::default()
    };
    let attached = engine.attach_container(container, Some(streams)).await?;
    engine.start_container(container, None).await?;
    Ok((attached.output, attached.input))
}

fn body(job: &Job<'_>, image: &str) -> ContainerCreateBody {
    let defaults = [("HOME", HOME.to_owned()), ("TMPDIR", TEMPORARY.to_owned())];
    let environment = environment::with_defaults(job.environment.clone(), defaults);
    ContainerCreateBody {
        image: Some(image.to_owned()),
        // The image's own entry point may be anything.
        entrypoint: Some(watched(inside::command(job.word, &job.order.steps))),
        cmd: Some(Vec::new()),
        env: Some(environment.into_iter().map(|(name, value)| format!("{name}={value}")).collect()),
        working_dir: Some(job.places.workdir_under(WORKSPACE)),
        labels: Some(engine::own_labels(&job.order.job)),
        // Fresh, on disk, and removed with the container.
        volumes: Some(vec![HOME.to_owned()]),
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        open_stdin: Some(true),
        stdin_once: Some(true),
        tty: Some(false),
        host_config: Some(host(job)),
        ..ContainerCreateBody::default()
    }
}

fn watched(command: Vec<String>) -> Vec<String> {
    [inside::SHELL, "-c", WATCH, "deltaci"].map(String::from).into_iter().chain(command).collect()
}

fn host(job: &Job<'_>) -> HostConfig {
    let limits = &job.order.limits;
    let number = |limit: u64| i64::try_from(limit).unwrap_or(i64::MAX);
    HostConfig {
        mounts: Some(vec![Mount {
            typ: Some(MountType::BIND),
            source: Some(job.places.workspace.to_string_lossy().into_owned()),
            target: Some(WORKSPACE.to_owned()),
            ..Mount::default()
        }]),
        network_mode: (!job.order.network).then(|| "none".to_owned()),
        memory: limits.memory_bytes.map(number),
        // Memory and swap together: no swap beyond the memory.
        memory_swap: limits.memory_bytes.map(number),
        pids_limit: limits.processes.map(number),
        auto_remove: Some(true),
        // The output is ours to keep: without this the engine writes a second copy to disk.
        log_config: Some(HostConfigLogConfig { typ: Some("none".into()), config: Some(HashMap::new()) }),
        ..HostConfig::default()
    }
}

/// What the steps write, at the pace at which it is read; what the shell inside says goes to the talk.
fn carry(mut stream: Stream, talk: Talk) -> Output {
    let (reader, mut writer) = tokio::io::simplex(OUTPUT_BYTES_MAX);
    tokio::spawn(async move {
        while let Some(Ok(piece)) = stream.next().await {
            match piece {
                LogOutput::StdErr { message } => talk.hear(&message),
                LogOutput::StdOut { message } | LogOutput::Console { message } => {
                    if writer.write_all(&message).await.is_err() {
                        return;
                    }
                }
                LogOutput::StdIn { .. } => {}
            }
        }
        // The reader sees the end.
        let _ = writer.shutdown().await;
    });
    Box::new(reader)
}

/// Tells the exit code of the shell inside.
fn wait(engine: Engine, container: String) -> oneshot::Receiver<i32> {
    let (sender, receiver) = oneshot::channel();
    tokio::spawn(async move {
        let options = WaitContainerOptions { condition: "not-running".into() };
        let ended = engine.wait_container(&container, Some(options)).next().await;
        let exit_code = match ended {
            Some(Ok(ended)) => ended.status_code,
            Some(Err(bollard::errors::Error::DockerContainerWaitError { code, .. })) => code,
            // The engine is gone or has forgotten the container: it certainly did not end well.
            Some(Err(_)) | None => 1,
        };
        let _ = sender.send(i32::try_from(exit_code).unwrap_or(1));
    });
    receiver
}

/// Returns when the program in the container has ended.
async fn run_inside(
    engine: &Engine,
    container: &str,
    command: [&str; 5],
) -> Result<(), bollard::errors::Error> {
    let config = ExecConfig {
        cmd: Some(command.map(String::from).to_vec()),
        attach_stdout: Some(true),
        ..ExecConfig::default()
    };
    let exec = engine.create_exec(container, config).await?;
    match engine.start_exec(&exec.id, None).await? {
        StartExecResults::Attached { mut output, .. } => while output.next().await.is_some() {},
        StartExecResults::Detached => {}
    }
    Ok(())
}

impl Executor for Docker {
    fn settle(&mut self) {}

    fn go(&mut self) -> Waiting<'_, io::Result<()>> {
        Box::pin(async {
            self.input.write_all(GO).await?;
            self.input.flush().await
        })
    }

    fn ended(&mut self) -> Waiting<'_, i32> {
        Box::pin(async {
            if let Some(exit_code) = self.exit_code {
                return exit_code;
            }
            let exit_code = (&mut self.exit).await.unwrap_or(1);
            *self.exit_code.insert(exit_code)
        })
    }

    fn terminate(&mut self) -> Waiting<'_, ()> {
        let (engine, container) = (self.engine.clone(), self.container.clone());
        let (word, quiet) = (self.word.clone(), self.quiet_sender.clone());
        tokio::spawn(async move {
            let command = [inside::SHELL, "-c", TERMINATE, "deltaci", &word];
            // If the engine cannot do it, the job is killed after the grace.
            if run_inside(&engine, &container, command).await.is_ok() {
                quiet.send_replace(true);
            }
        });
        Box::pin(std::future::ready(()))
    }

    fn is_quiet(&mut self) -> Waiting<'_, bool> {
        Box::pin(std::future::ready(*self.quiet.borrow()))
    }

    fn kill(&mut self) -> Waiting<'_, Result<(), Problem>> {
        Box::pin(engine::remove(&self.engine, &self.container))
    }

    fn complaint(&self) -> Option<String> {
        self.talk.last_line()
    }
}
