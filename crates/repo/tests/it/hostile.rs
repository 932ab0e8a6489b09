//! A repository whose settings name programs: none of them is ever run.

use std::fs;

use repo::{Folder, Mirrors};

use crate::made::Made;

/// A repository in which everything that could start a program does, and the file that would be there if one had run.
fn trapped() -> (Made, std::path::PathBuf) {
    let made = Made::with(&["a.txt", "b.txt", "dir/c.txt"]);
    let proof = made.at(".git/proof");
    let script = made.at(".git/trap");
    fs::write(&script, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", proof.display())).expect("a file");
    made.mode(".git/trap", 0o755);
    for hook in
        ["post-index-change", "post-checkout", "pre-commit", "reference-transaction", "fsmonitor-watchman"]
    {
        fs::create_dir_all(made.at(".git/hooks")).expect("a folder");
        fs::copy(&script, made.at(format!(".git/hooks/{hook}"))).expect("a hook");
    }
    made.write(".gitattributes", "*.txt filter=trap diff=trap merge=trap\n");
    made.git(&["add", ".gitattributes"]);
    made.git(&["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "-m", "attributes"]);
    fs::create_dir_all(made.at(".git/info")).expect("a folder");
    fs::write(made.at(".git/info/attributes"), "* filter=trap diff=trap\n").expect("a file");
    let trap = script.to_str().expect("text");
    for name in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.gitProxy",
        "core.askPass",
        "core.pager",
        "core.editor",
        "core.alternateRefsCommand",
        "diff.external",
        "diff.trap.command",
        "diff.trap.textconv",
        "filter.trap.clean",
        "filter.trap.smudge",
        "filter.trap.process",
        "merge.trap.driver",
        "gpg.program",
        "uploadpack.packObjectsHook",
        "credential.helper",
        "alias.ls-files",
        "alias.status",
        "trace2.eventTarget",
    ] {
        made.git(&["config", name, trap]);
    }
    made.git(&["config", "core.hooksPath", made.at(".git/hooks").to_str().expect("text")]);
    made.git(&["config", "filter.trap.required", "true"]);
    made.git(&["config", "log.showSignature", "true"]);
    made.git(&["config", "core.untrackedCache", "true"]);
    made.git(&["config", "diff.ignoreSubmodules", "none"]);
    fs::remove_file(&proof).ok();
    (made, proof)
}

#[test]
fn no_program_that_the_repository_names_is_run() {
    let (made, proof) = trapped();
    made.write("a.txt", "changed");
    made.write("b.txt", "b.txt");
    made.write("new.txt", "1");
    let folder = made.open();
    let listing = folder.listing().expect("listed");
    folder.head().expect("read");
    let changed = crate::made::told(folder.difference(&listing, "HEAD~1")).expect("known");
    assert_eq!(changed, [".gitattributes", "a.txt", "new.txt"]);
    folder.read(b"a.txt", 100).expect("read");
    let to = Made::folder();
    folder.snapshot(&listing, &to.path).expect("copied");
    let mirrors = Made::folder();
    let mirror = Mirrors::new(&mirrors.path).allow_local(true).mirror(made.path.to_str().expect("text"));
    let mirror = mirror.expect("allowed");
    let found = mirror.fetch(Some("main"), None).expect("fetched");
    mirror.tree(&found.commit).expect("read");
    mirror.read(&found.commit, b"a.txt", 100).expect("read");
    mirror.difference("main", &found.commit);
    assert!(!proof.exists(), "{}", fs::read_to_string(&proof).unwrap_or_default());

    // The traps do work: git itself steps into one.
    let status = std::process::Command::new("git").arg("status").current_dir(&made.path).output();
    status.expect("git runs");
    assert!(proof.exists());
}

#[test]
fn a_partial_clone_does_not_call_its_remote() {
    let (made, proof) = trapped();
    made.git(&["config", "extensions.partialClone", "origin"]);
    made.git(&["config", "remote.origin.promisor", "true"]);
    made.git(&["config", "remote.origin.url", "ext::sh -c '>.git/proof' "]);
    made.git(&["config", "protocol.ext.allow", "always"]);
    let head = made.head();
    // An object that is not there.
    fs::remove_file(made.at(format!(".git/objects/{}/{}", &head[..2], &head[2..]))).expect("it was loose");
    let folder = made.open();
    assert_eq!(folder.head().expect("read").commit, None);
    let listing = folder.listing().expect("listed");
    assert!(crate::made::told(folder.difference(&listing, "main")).is_err());
    assert!(!proof.exists());
}

#[test]
fn nothing_is_written_into_the_repository() {
    let made = Made::with(&["a", "b"]);
    made.write("a", "a");
    made.write("b", "changed");
    let index = || fs::read(made.at(".git/index")).expect("there");
    let before = index();
    let folder = made.open();
    let listing = folder.listing().expect("listed");
    folder.difference(&listing, "HEAD");
    assert_eq!(index(), before);
    assert!(!made.at(".git/index.lock").exists());
}

#[test]
fn settings_that_point_elsewhere_do_not_move_the_folder() {
    let made = Made::with(&["a"]);
    let other = Made::folder();
    other.write("secret", "1");
    made.git(&["config", "core.worktree", other.path.to_str().expect("text")]);
    assert_eq!(made.paths(), ["a"]);
    assert_eq!(made.since("HEAD"), Ok(vec![]));
}

#[test]
fn a_person_s_own_environment_does_not_confuse_the_repository() {
    let made = Made::with(&["a", "sub/b"]);
    let link = Made::folder();
    link.link("way", made.path.to_str().expect("text"));
    let folder = Folder::open(&link.at("way/sub")).expect("a folder");
    assert_eq!(folder.root(), made.at("sub"));
    assert_eq!(folder.listing().expect("listed").tree.files().len(), 1);
}
