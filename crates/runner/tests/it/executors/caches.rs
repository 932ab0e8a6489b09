//! Caches: unpacked before the first step, packed when all went well.

use std::path::{Path, PathBuf};

use runner::keeper::{CacheOrder, Choice, Finish};

use crate::kept::{Scene, World};

fn cache(scene: &Scene, archive: Option<&Path>, name: &str) -> (CacheOrder, PathBuf) {
    let made = scene.folder.path().join(name);
    let order = CacheOrder {
        name: "deps".into(),
        paths: vec!["kept/deep".into(), "~/.tool".into(), "../out".into()],
        archive: archive.map(Path::to_owned),
        save_to: Some(made.clone()),
    };
    (order, made)
}

pub async fn what_a_job_leaves_the_next_one_finds(world: World) {
    let leave = "mkdir -p kept/deep ~/.tool && echo one > kept/deep/a && echo two > ~/.tool/b && echo no > kept/c \
                 && ln -s a kept/deep/link";
    let first = world.job([leave]);
    let (order, made) = cache(&first, None, "made");
    let first = first.with(|it| it.caches = vec![order]); // the archive is in its folder
    let told = first.run().await;
    told.succeeded();
    assert!(told.notes.iter().any(|note| note.starts_with("cache deps: packed ")), "{:?}", told.notes);
    let second = world.job(["cat kept/deep/link; cat ~/.tool/b || echo no home; test ! -e kept/c"]);
    let (order, _) = cache(&second, Some(&made), "again");
    let told = second.with(|it| it.caches = vec![order]).run().await;
    told.succeeded();
    let docker = world.choice == Choice::Docker;
    let (said, notes) = (told.text(), told.notes.join("\n"));
    assert!(said.starts_with(if docker { "one\n" } else { "one\ntwo\n" }), "{said}");
    assert_eq!(
        notes.contains("of a job in a container only paths in the workspace are kept"),
        docker,
        "{notes}"
    );
    assert!(notes.contains("`../out` is left out"), "{notes}");
}

pub async fn a_job_that_fails_packs_nothing(world: World) {
    let scene = world.job(["mkdir -p kept/deep && echo one > kept/deep/a", "false"]);
    let (order, made) = cache(&scene, None, "made");
    let told = scene.with(|it| it.caches = vec![order]).run().await;
    assert!(matches!(told.finish, Some(Finish::StepFailed { .. })), "{told:?}");
    assert!(!made.exists());
}

pub async fn an_archive_that_is_broken_does_not_keep_the_job_from_running(world: World) {
    let scene = world.job(["echo fine"]);
    let broken = scene.folder.path().join("broken");
    std::fs::write(&broken, "no archive").unwrap();
    let (order, _) = cache(&scene, Some(&broken), "made");
    let told = scene.with(|it| it.caches = vec![order]).run().await;
    assert_eq!(told.succeeded().text(), "fine\n");
    let notes = told.notes.join("\n");
    assert!(notes.contains("cache deps: cannot be restored whole: "), "{notes}");
    assert!(notes.contains("cache deps: nothing to save: none of its paths is there"), "{notes}");
}
