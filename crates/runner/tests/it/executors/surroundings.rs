//! Clauses 2 and 4: what a step finds around it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;

use runner::keeper::Finish;

use crate::kept::{Token, World};

/// What a shell adds by itself, and what an executor may.
const KNOWN: [&str; 17] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "CI",
    "DELTACI",
    "DELTACI_JOB",
    "DELTACI_EXECUTION",
    "DELTACI_KEEPER",
    "GREETING",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
    "HOSTNAME",
    "container",
    "TERM",
];

pub async fn the_environment_holds_what_the_job_set_and_nothing_of_ours(world: World) {
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "we have variables that must not leak");
    let scene = world.job(["env"]).with(|order| {
        order.env = BTreeMap::from([("GREETING".into(), "good day = ü".into()), ("LANG".into(), "C".into())]);
    });
    let told = scene.run().await;
    let text = told.succeeded().text();
    let found: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once('=')).collect();
    assert_eq!(found["GREETING"], "good day = ü");
    assert_eq!(found["LANG"], "C");
    assert_eq!(found["DELTACI_EXECUTION"], "exec_1");
    assert_eq!((found["CI"], found["DELTACI"], found["DELTACI_JOB"]), ("true", "true", "unit-tests"));
    for name in ["PATH", "HOME", "TMPDIR"] {
        assert!(!found[name].is_empty(), "{name}");
    }
    let unknown: Vec<_> = found.keys().filter(|name| !KNOWN.contains(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");

    // Names that a shell of ours could be tempted to use for itself.
    let names = ["word", "step", "go", "session", "held"];
    let script = "echo $word $step $go $session $held";
    let scene = world.job([script]).with(|order| {
        order.env.extend(names.map(|name| (name.to_owned(), format!("my-{name}"))));
        order.limits.memory_bytes = Some(1 << 30);
    });
    assert_eq!(scene.run().await.succeeded().text(), "my-word my-step my-go my-session my-held\n");

    let told = world.job(["true"]).with(|order| drop(order.env.insert("A=B".into(), "".into()))).run().await;
    assert!(told.problem().contains("A=B"), "{}", told.problem());
}

pub async fn steps_begin_in_the_workdir(world: World) {
    let scene =
        world.job(["pwd; cd ..; touch up", "pwd; touch here"]).with(|order| order.workdir = "a/b".into());
    fs::create_dir_all(scene.workspace().join("a/b")).unwrap();
    let told = scene.run().await;
    let text = told.succeeded().text();
    assert!(text.lines().count() == 2 && text.lines().all(|line| line.ends_with("/a/b")), "{text}");
    assert!(scene.workspace().join("a/up").exists());
    assert!(scene.workspace().join("a/b/here").exists());
}

pub async fn a_workdir_outside_the_workspace_is_refused(world: World) {
    for workdir in ["..", "a/../..", "/etc", "out", "missing", "file"] {
        let scene = world.job(["touch ran"]).with(|order| order.workdir = workdir.into());
        symlink("/etc", scene.workspace().join("out")).unwrap();
        fs::write(scene.workspace().join("file"), "").unwrap();
        let told = scene.run().await;
        assert!(told.problem().contains(workdir), "{workdir}: {}", told.problem());
        assert!(told.started.is_empty());
    }
}

pub async fn home_and_temporary_folder_are_fresh(world: World) {
    for _ in 0..2 {
        let scene = world.job([
            r#"ls -A "$HOME" "$TMPDIR" | grep -v : || true; touch "$HOME/h" "$TMPDIR/t""#,
            r#"cd "$HOME"; ls; cd "$TMPDIR"; ls"#,
        ]);
        let told = scene.run().await;
        let text = told.succeeded().text();
        // A sandbox shows the workspace where it lies; when that is under /tmp, the way to it is there too.
        let on_the_way = scene.workspace();
        let is_on_the_way = |word: &str| on_the_way.starts_with(std::path::Path::new("/tmp").join(word));
        let words: Vec<_> = text.split_whitespace().filter(|word| !is_on_the_way(word)).collect();
        assert_eq!(words, ["h", "t"]);
        let left: Vec<_> = fs::read_dir(scene.workspace().parent().unwrap()).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "only the workspace is left: {left:?}");
    }
}

pub async fn steps_share_files_and_background_processes(world: World) {
    let token = Token::new();
    let scene = world.job([
        &token.sign("echo hi > file; sleep TOKEN >/dev/null 2>&1 & echo $! > pid"),
        "cat file; kill -0 $(cat pid) && echo alive",
    ]);
    let mut kept = scene.start();
    kept.hear_finish().await;
    assert!(token.is_gone());
    assert_eq!(kept.finish().await.succeeded().text(), "hi\nalive\n");
    assert_eq!(fs::read_to_string(scene.workspace().join("file")).unwrap(), "hi\n");
}

pub async fn memory_is_limited(world: World) {
    const LIMIT: u64 = 32 * 1024 * 1024;
    // One endless line, which `sort` has to hold.
    let scene = world.job(["head -c 100000000 /dev/zero | sort | wc -c | grep 100000001"]);
    let told = scene.with(|order| order.limits.memory_bytes = Some(LIMIT)).run().await;
    assert!(matches!(told.finish, Some(Finish::StepFailed { .. })), "{told:?}");
    let told = world.job(["echo enough"]).with(|order| order.limits.memory_bytes = Some(LIMIT)).run().await;
    assert_eq!(told.succeeded().text(), "enough\n");
}

pub async fn the_number_of_processes_is_limited(world: World) {
    let token = Token::new();
    let script = token.sign("i=0; while [ $i -lt 60 ]; do sleep TOKEN & i=$((i+1)); done; echo all");
    let told = world.job([&script]).with(|order| order.limits.processes = Some(30)).run().await;
    assert!(matches!(told.finish, Some(Finish::StepFailed { .. })), "{told:?}");
    assert!(!told.text().contains("all\n"), "{}", told.text());
    assert!(token.is_gone());
    let told = world.job(["echo enough"]).with(|order| order.limits.processes = Some(30)).run().await;
    assert_eq!(told.succeeded().text(), "enough\n");
}
