//! Logs as they are now.

use std::ops::Deref;
use std::process::ExitCode;

use anyhow::Result;
use runner::client::Stream;
use serde_json::json;

use super::prefix;
use crate::api::{ApiError, Server};
use crate::output::{self, Exit};
use crate::view::log::LogText;
use crate::view::screen::Screen;

pub async fn of_job(server: &Server, id: &str, json: bool) -> Result<ExitCode> {
    if json {
        let job = server.job(id).await?;
        print_json(server, id, &job.name, &job.state).await?;
    } else {
        print(server, id, LogText::new(Screen::stdout(), None)).await?;
    }
    Ok(Exit::Success.into())
}

/// Job by job, in the order of the plan.
pub async fn of_run(server: &Server, id: &str, json: bool) -> Result<ExitCode> {
    let run = server.run(id).await?;
    let screen = Screen::stdout();
    for job in run.jobs.iter().filter(|job| job.attempts > 0) {
        let id = job.id.to_string();
        if json {
            print_json(server, &id, &job.name, &job.state).await?;
        } else {
            print(server, &id, LogText::new(screen, Some(prefix(screen, job, &run.jobs)))).await?;
        }
    }
    Ok(Exit::Success.into())
}

async fn print(server: &Server, id: &str, mut log: LogText) -> Result<()> {
    let mut stream = server.open(&server.log_path(id, false), "text/plain", None).await?;
    while let Some(bytes) = next(server, &mut stream).await? {
        output::write(&log.text(&bytes))?;
    }
    output::write(&log.end())
}

/// One line per job; what is no UTF-8 is shown as U+FFFD.
async fn print_json(server: &Server, id: &str, name: &str, state: &str) -> Result<()> {
    let mut stream = server.open(&server.log_path(id, false), "text/plain", None).await?;
    let mut log = Vec::new();
    while let Some(bytes) = next(server, &mut stream).await? {
        log.extend_from_slice(&bytes);
    }
    let log = String::from_utf8_lossy(&log);
    output::line(json!({ "id": id, "name": name, "state": state, "log": log }))
}

async fn next(
    server: &Server,
    stream: &mut Stream,
) -> Result<Option<impl Deref<Target = [u8]> + use<>>, ApiError> {
    let bytes = stream.next().await.transpose();
    bytes.map_err(|lost| server.broken(&format!("a log that broke off ({lost})")))
}
