//! What `process` and `sandbox` share: the shell inside is a child of the keeper, and so is everything it starts.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;

use super::inside::GO;
use super::limits::Cage;
use super::talk::Talk;
use super::{Executor, Job, Output, Waiting};
use crate::keeper::{Problem, Reaper, Tree};

pub struct Local {
    input: pipe::Sender,
    exit: oneshot::Receiver<i32>,
    exit_code: Option<i32>,
    /// Our own processes around the job: the shell inside and its walls. A SIGTERM is not for them.
    guards: Vec<i32>,
    talk: Talk,
    reaper: Reaper,
    cage: Option<Cage>,
}

/// Starts the command, which leads to the shell inside. Must be called on the keeper's one thread: a sandbox dies with the
/// thread that made it.
pub fn open(
    mut command: Command,
    job: &Job<'_>,
    cage: Option<Cage>,
) -> Result<(Box<dyn Executor>, Output), Problem> {
    let program = command.get_program().to_string_lossy().into_owned();
    let open = || -> io::Result<(Box<dyn Executor>, Output)> {
        let (input_reader, input) = io::pipe()?;
        let (output, output_writer) = io::pipe()?;
        let (talk, talk_writer) = io::pipe()?;
        command.stdin(input_reader).stdout(output_writer).stderr(talk_writer).process_group(0);
        let exit = job.reaper.spawn(&mut command)?;
        drop(command); // and with it our copies of the far ends
        let local = Local {
            input: pipe::Sender::from_owned_fd(OwnedFd::from(input))?,
            exit,
            exit_code: None,
            guards: Vec::new(),
            talk: Talk::of(pipe::Receiver::from_owned_fd(OwnedFd::from(talk))?),
            reaper: job.reaper.clone(),
            cage,
        };
        Ok((Box::new(local), Box::new(pipe::Receiver::from_owned_fd(OwnedFd::from(output))?)))
    };
    open().map_err(|error| Problem::during(format!("cannot start `{program}` for the job's steps"), error))
}

impl Executor for Local {
    fn settle(&mut self) {
        self.guards = Tree::own().near().iter().map(|process| process.pid).collect();
    }

    fn go(&mut self) -> Waiting<'_, io::Result<()>> {
        Box::pin(self.input.write_all(GO))
    }

    fn ended(&mut self) -> Waiting<'_, i32> {
        Box::pin(async {
            if let Some(exit_code) = self.exit_code {
                return exit_code;
            }
            // The reaper lives as long as the keeper, so the sender is never dropped unused.
            let exit_code = (&mut self.exit).await.unwrap_or(1);
            *self.exit_code.insert(exit_code)
        })
    }

    fn terminate(&mut self) -> Waiting<'_, ()> {
        Tree::own().terminate(&self.guards);
        Box::pin(std::future::ready(()))
    }

    fn is_quiet(&mut self) -> Waiting<'_, bool> {
        Box::pin(std::future::ready(Tree::own().is_quiet(&self.guards)))
    }

    fn kill(&mut self) -> Waiting<'_, Result<(), Problem>> {
        Box::pin(async {
            Tree::own().kill(&self.reaper).await?;
            if let Some(cage) = self.cage.take() {
                cage.remove();
            }
            Ok(())
        })
    }

    fn complaint(&self) -> Option<String> {
        self.talk.last_line()
    }
}
