//! A container engine for the tests: Podman behind a socket of its own, with storage of its own and one image, made of
//! busybox, because none can be pulled. And what is special about running in containers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use runner::keeper::{Choice, ExecutorKind};
use rustix::process::{Pid, Signal, kill_process};

use crate::kept::{Token, World, within, wrapped};

/// How many containers are started at the same time.
pub const AT_ONCE_MAX: usize = 4;

const IMAGE: &str = "localhost/deltaci-test:1";

/// The default runtime fails on machines with both versions of control groups; no network can be set up in a container.
const CONFIGURATION: &str = r#"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
[containers]
netns = "none"
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
"#;

pub struct Engine {
    folder: tempfile::TempDir,
    service: Child,
    program: PathBuf,
}

impl Engine {
    pub async fn start() -> Engine {
        // Sockets and mounts have short names at most, so not below the target folder.
        let folder = tempfile::Builder::new().prefix("dci-").tempdir().unwrap();
        fs::write(folder.path().join("containers.conf"), CONFIGURATION).unwrap();
        let root = root_file_system(folder.path());
        done(podman(folder.path()).args(["import", "--quiet"]).arg(root).arg(IMAGE));
        let socket = folder.path().join("socket");
        let mut service = podman(folder.path());
        // Ends by itself should this process be killed.
        service.args(["system", "service", "--time=60"]).arg(format!("unix://{}", socket.display()));
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let service = service.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        within(async {
            while !socket.exists() {
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
        })
        .await;
        let program = wrapped(folder.path(), &format!("DOCKER_HOST=unix://{}", socket.display()));
        Engine { folder, service, program }
    }

    pub fn world(&self) -> World {
        World { choice: Choice::Docker, image: Some(IMAGE.into()), program: self.program.clone() }
    }

    /// Runs one more job, whose keeper removes what dead ones left; then no container may be there.
    pub async fn is_clean(&self) {
        self.world().job(["true"]).run().await.succeeded();
        let output = podman(self.folder.path()).args(["ps", "--all", "--noheading"]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
        if std::thread::panicking() {
            let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            eprintln!("what the engine said:\n{log}");
        }
        let _ = podman(self.folder.path()).args(["rm", "--all", "--force", "--time=0"]).output();
        // Podman leaves a helper for some minutes after each program it ran inside a container.
        kill_all_that_name(self.folder.path());
    }
}

fn kill_all_that_name(folder: &Path) {
    let folder = folder.to_str().unwrap();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| Pid::from_raw(name.parse().ok()?));
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if let Some(pid) = pid.filter(|_| String::from_utf8_lossy(&words).contains(folder)) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn podman(folder: &Path) -> Command {
    let mut command = Command::new("podman");
    command.current_dir(folder); // its monitors leave files where they start
    command.env("CONTAINERS_CONF", folder.join("containers.conf"));
    command.arg("--root").arg(folder.join("storage")).arg("--runroot").arg(folder.join("run"));
    command.args(["--storage-driver", "vfs"]).stdin(Stdio::null());
    command
}

/// A tar file with busybox and a link for each of its programs.
fn root_file_system(folder: &Path) -> PathBuf {
    let (root, tar) = (folder.join("root"), folder.join("root.tar"));
    for name in ["bin", "tmp", "etc", "proc", "dev"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    fs::write(root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n").unwrap();
    fs::copy("/usr/bin/busybox", root.join("bin/busybox")).expect("busybox-static is installed");
    let programs = Command::new("/usr/bin/busybox").arg("--list").output().unwrap().stdout;
    for program in String::from_utf8(programs).unwrap().lines().filter(|name| *name != "busybox") {
        std::os::unix::fs::symlink("busybox", root.join("bin").join(program)).unwrap();
    }
    done(Command::new("tar").arg("-C").arg(&root).arg("-cf").arg(&tar).arg("."));
    tar
}

fn done(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn what_only_containers_do() {
    let engine = Engine::start().await;
    auto_takes_the_container(&engine).await;
    a_missing_image_is_no_fault_of_the_job(&engine).await;
    a_job_without_an_image_cannot_run(&engine).await;
    the_container_has_no_network_and_only_the_workspace(&engine).await;
    a_cancel_while_the_container_starts_leaves_none(&engine).await;
    containers_of_dead_keepers_are_removed(&engine).await;
    engine.is_clean().await;
}

async fn auto_takes_the_container(engine: &Engine) {
    let world = World { choice: Choice::Auto, ..engine.world() };
    let told = world.job(["busybox | head -n 1"]).run().await;
    assert!(told.succeeded().text().starts_with("BusyBox"));
    let (kind, why) = told.chosen.unwrap();
    assert_eq!(kind, ExecutorKind::Docker);
    assert!(why.contains(IMAGE), "{why}");

    let world = World { image: None, ..world };
    assert_eq!(world.job(["true"]).run().await.chosen.unwrap().0, ExecutorKind::Sandbox);

    let world = World { choice: Choice::Auto, image: Some(IMAGE.into()), ..World::of(Choice::Auto) };
    let (kind, why) = world.job(["true"]).run().await.chosen.unwrap();
    assert_eq!(kind, ExecutorKind::Sandbox, "without an engine");
    assert!(why.contains("no container engine"), "{why}");
}

async fn a_missing_image_is_no_fault_of_the_job(engine: &Engine) {
    let world = World { image: Some("localhost/nowhere:7".into()), ..engine.world() };
    let told = world.job(["true"]).run().await;
    assert!(told.problem().contains("localhost/nowhere:7"), "{}", told.problem());
    assert!(told.problem().contains("cannot be pulled"), "{}", told.problem());
}

async fn a_job_without_an_image_cannot_run(engine: &Engine) {
    let world = World { image: None, ..engine.world() };
    assert!(world.job(["true"]).run().await.problem().contains("names no image"));
    let told = World { image: Some(IMAGE.into()), ..World::of(Choice::Docker) }.job(["true"]).run().await;
    assert!(told.problem().contains("DOCKER_HOST"), "{}", told.problem());
}

async fn the_container_has_no_network_and_only_the_workspace(engine: &Engine) {
    let scene = engine.world().job(["ip -o link | wc -l; pwd; ls -A; ls /proc | grep -c '^[0-9]'"]);
    fs::write(scene.workspace().join("here"), "").unwrap();
    let told = scene.run().await;
    let text = told.succeeded().text();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[..3], ["1", "/workspace", "here"], "only a loopback");
    assert!(lines[3].parse::<u32>().unwrap() < 8, "{text}");
}

async fn a_cancel_while_the_container_starts_leaves_none(engine: &Engine) {
    for pause in [0, 30, 100, 200, 400] {
        let token = Token::new();
        let scene = engine.world().job([&token.sign("sleep TOKEN")]);
        let mut kept = scene.start();
        tokio::time::sleep(Duration::from_millis(pause)).await;
        kept.keeper.cancel(Duration::from_millis(100)).await;
        kept.hear_finish().await;
        assert!(token.is_gone());
        kept.finish().await;
    }
}

/// The service is stopped meanwhile, so that nobody notices the keeper's death.
async fn containers_of_dead_keepers_are_removed(engine: &Engine) {
    let token = Token::new();
    let scene = engine.world().job([&token.sign("trap '' HUP TERM; sleep TOKEN")]);
    let mut kept = scene.start();
    token.wait_until_there().await;
    let service = Pid::from_child(&engine.service);
    let keeper = Pid::from_raw(kept.keeper.id().unwrap() as i32).unwrap();
    kill_process(service, Signal::STOP).unwrap();
    kill_process(keeper, Signal::KILL).unwrap();
    while kept.hear().await {}
    kill_process(service, Signal::CONT).unwrap();
    engine.world().job(["true"]).run().await.succeeded();
    token.wait_until_gone().await;
}
