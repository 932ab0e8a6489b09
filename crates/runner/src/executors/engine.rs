//! The container engine: found, asked for an image, and rid of containers that nobody keeps any more.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use bollard::errors::Error;
use bollard::query_parameters::{
    CreateImageOptionsBuilder, ListContainersOptionsBuilder, RemoveContainerOptions,
};
use bollard::{ClientVersion, Docker};
use futures_util::StreamExt;

use crate::keeper::{Problem, is_alive, own_start};

pub const LABEL_JOB: &str = "deltaci.job";
const LABEL_KEEPER: &str = "deltaci.keeper";
const LABEL_STARTED: &str = "deltaci.keeper.started";
/// Whose process numbers those are. Two runners in containers of their own may share an engine.
const LABEL_MACHINE: &str = "deltaci.machine";

/// The oldest that the newest engines still speak.
const VERSION: ClientVersion = ClientVersion { major_version: 1, minor_version: 44 };

/// For an engine to answer at all; on a machine whose disk is busy Podman takes seconds.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);
/// For one request; starting a container on a busy machine takes its time.
const REQUEST_SECONDS_MAX: u64 = 120;
const REMOVE_TRIES_MAX: u32 = 100;
const LIST_TRIES_MAX: u32 = 5;
const REMOVE_PAUSE: Duration = Duration::from_millis(50);

const SOCKETS: [&str; 2] = ["/var/run/docker.sock", "/run/podman/podman.sock"];

/// The engine that the runner's environment names, or the one at a usual place. The error says where we looked.
pub async fn connect() -> Result<(Docker, String), String> {
    let socket = socket()?;
    let connecting = async {
        let engine = Docker::connect_with_unix(&socket, REQUEST_SECONDS_MAX, &VERSION)?;
        // Older engines refuse the version and are asked for theirs, which Podman takes half a second to say.
        match engine.ping().await {
            Err(Error::DockerResponseServerError { .. }) => engine.negotiate_version().await,
            Ok(_) => Ok(engine),
            Err(error) => Err(error),
        }
    };
    match tokio::time::timeout(ANSWER_TIME_MAX, connecting).await {
        Ok(Ok(engine)) => Ok((engine, socket)),
        Ok(Err(error)) => Err(format!("no container engine answers at {socket}: {}", reason(&error))),
        Err(_) => Err(format!("the container engine at {socket} does not answer")),
    }
}

fn socket() -> Result<String, String> {
    match std::env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty()) {
        Some(host) if host.starts_with("unix://") => {
            return Ok(host.trim_start_matches("unix://").to_owned());
        }
        Some(host) => {
            return Err(format!("DOCKER_HOST is {host}, and the runner speaks only to unix:// sockets"));
        }
        None => {}
    }
    let of_user = std::env::var("XDG_RUNTIME_DIR").ok().map(|folder| format!("{folder}/podman/podman.sock"));
    let mut places = SOCKETS.map(String::from).into_iter().chain(of_user);
    let found = places.find(|place| Path::new(place).exists());
    found.ok_or_else(|| format!("no container engine: neither DOCKER_HOST nor {}", SOCKETS.join(" nor ")))
}

/// What an engine said, without what our library wraps around it.
pub fn reason(error: &Error) -> String {
    match error {
        Error::DockerResponseServerError { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

fn is_missing(error: &Error) -> bool {
    matches!(error, Error::DockerResponseServerError { status_code: 404, .. })
}

/// Sees that the image is there, pulled if need be.
pub async fn provide(engine: &Docker, image: &str) -> Result<(), Problem> {
    match engine.inspect_image(image).await {
        Ok(_) => return Ok(()),
        Err(error) if is_missing(&error) => {}
        Err(error) => {
            return Err(Problem::during(format!("cannot look for the image {image}"), reason(&error)));
        }
    }
    let options = CreateImageOptionsBuilder::default().from_image(&with_tag(image)).build();
    let mut progress = engine.create_image(Some(options), None, None);
    while let Some(step) = progress.next().await {
        step.map_err(|error| {
            let next = "see that its name is right and that the runner may reach its registry";
            Problem::new(format!(
                "the image {image} is not on this machine and cannot be pulled: {}; {next}",
                reason(&error)
            ))
        })?;
    }
    Ok(())
}

/// A name without a tag would pull every tag there is.
fn with_tag(image: &str) -> String {
    let last = image.rsplit('/').next().unwrap_or(image);
    if last.contains([':', '@']) { image.to_owned() } else { format!("{image}:latest") }
}

/// Removes a container, running or not. Done when it is not there any more.
pub async fn remove(engine: &Docker, container: &str) -> Result<(), Problem> {
    let mut problem = String::new();
    for _ in 0..REMOVE_TRIES_MAX {
        let options = RemoveContainerOptions { v: true, force: true, link: false };
        match engine.remove_container(container, Some(options)).await {
            Ok(()) => return Ok(()),
            Err(error) if is_missing(&error) => return Ok(()),
            // Being removed by the engine itself, most likely.
            Err(error) => problem = reason(&error),
        }
        tokio::time::sleep(REMOVE_PAUSE).await;
    }
    Err(Problem::during(format!("cannot remove the container {container}"), problem))
}

/// The name of this keeper's container.
pub fn own_name() -> String {
    format!("deltaci-{}-{}", std::process::id(), own_start())
}

/// By these labels a later keeper knows that the container's keeper is gone.
pub fn own_labels(job: &str) -> HashMap<String, String> {
    let labels = [
        (LABEL_JOB, job.to_owned()),
        (LABEL_KEEPER, std::process::id().to_string()),
        (LABEL_STARTED, own_start().to_string()),
        (LABEL_MACHINE, machine()),
    ];
    labels.map(|(name, value)| (name.to_owned(), value)).into()
}

/// This boot of this machine, and the namespace in which our process numbers count.
fn machine() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {}", boot.trim(), namespace.display())
}

/// Removes containers whose keeper was killed. They end by themselves when their input closes; this is for what even that
/// left behind. Best effort: the job at hand does not depend on it.
pub async fn remove_abandoned(engine: &Docker) {
    let filters = HashMap::from([("label".to_owned(), vec![LABEL_KEEPER.to_owned()])]);
    let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
    // An engine that removes a container at this very moment may fail to list any.
    let mut found = Vec::new();
    for _ in 0..LIST_TRIES_MAX {
        match engine.list_containers(Some(options.clone())).await {
            Ok(containers) => {
                found = containers;
                break;
            }
            Err(_) => tokio::time::sleep(REMOVE_PAUSE).await,
        }
    }
    let machine = machine();
    for container in found {
        let (Some(id), Some(labels)) = (container.id, container.labels) else { continue };
        if labels.get(LABEL_MACHINE) == Some(&machine) && !has_keeper(&labels) {
            let _ = remove(engine, &id).await;
        }
    }
}

fn has_keeper(labels: &HashMap<String, String>) -> bool {
    let number = |label| labels.get(label).and_then(|text: &String| text.parse::<u64>().ok());
    match (number(LABEL_KEEPER).and_then(|pid| i32::try_from(pid).ok()), number(LABEL_STARTED)) {
        (Some(pid), Some(started)) => is_alive(pid, started),
        (None, _) | (_, None) => true, // not of ours
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_without_a_tag_is_the_latest() {
        for (image, expected) in [
            ("debian", "debian:latest"),
            ("debian:12", "debian:12"),
            ("registry:5000/team/app", "registry:5000/team/app:latest"),
            ("app@sha256:00", "app@sha256:00"),
        ] {
            assert_eq!(with_tag(image), expected);
        }
    }
}
