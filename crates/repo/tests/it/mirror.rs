//! Mirrors of repositories, fetched from the disk as they would be from a server.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use pipeline::tree::Kind;
use repo::{Error, Found, Mirror, Mirrors};

use crate::made::{Made, git, lines, paths, told};

fn mirrors(place: &Made) -> Mirrors {
    Mirrors::new(&place.path).allow_local(true)
}

fn mirror(place: &Made, of: &Made) -> Mirror {
    mirrors(place).mirror(&of.address()).expect("an address that is allowed")
}

/// The folder of the only mirror there is.
fn only_folder(place: &Made) -> std::path::PathBuf {
    let mut folders = fs::read_dir(&place.path).expect("there").map(|entry| entry.expect("there").path());
    folders.find(|path| path.is_dir()).expect("a mirror")
}

fn on(branch: &str, commit: &str) -> Found {
    Found { commit: commit.into(), branch: Some(branch.into()) }
}

#[test]
fn a_branch_a_tag_a_ref_a_commit_or_the_head_is_fetched() {
    let (made, place) = (Made::with(&["a", "dir/b"]), Made::folder());
    let first = made.head();
    made.git(&["tag", "-a", "-m", "tag", "v1"]);
    made.git(&["update-ref", "refs/pull/7/head", &first]);
    made.git(&["checkout", "--quiet", "-b", "topic/x"]);
    made.write("c", "1");
    let second = made.commit("second");
    let mirror = mirror(&place, &made);
    let nameless = |commit: &str| Found { commit: commit.into(), branch: None };

    assert_eq!(mirror.fetch(None, None).expect("fetched"), on("topic/x", &second));
    assert_eq!(mirror.fetch(Some("main"), None).expect("fetched"), on("main", &first));
    assert_eq!(mirror.fetch(Some("refs/heads/topic/x"), None).expect("fetched"), on("topic/x", &second));
    assert_eq!(mirror.fetch(Some("v1"), None).expect("fetched"), nameless(&first));
    assert_eq!(mirror.fetch(Some("refs/pull/7/head"), None).expect("fetched"), nameless(&first));
    assert_eq!(mirror.fetch(None, Some(&first)).expect("fetched"), nameless(&first));
    assert_eq!(mirror.fetch(Some("main"), Some(&first)).expect("fetched"), on("main", &first));
    assert_eq!(lines(&mirror.tree(&second).expect("read")), made.as_git_would());
}

#[test]
fn a_second_fetch_brings_what_is_new_and_a_commit_that_is_there_needs_none() {
    let (made, place) = (Made::with(&["a"]), Made::folder());
    let mirror = mirror(&place, &made);
    mirror.fetch(Some("main"), None).expect("fetched");
    made.write("b", "1");
    let second = made.commit("second");
    assert_eq!(mirror.fetch(Some("main"), None).expect("fetched"), on("main", &second));
    made.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    made.write("c", "1");
    let rewritten = made.commit("rewritten");
    assert_eq!(mirror.fetch(Some("main"), None).expect("fetched"), on("main", &rewritten));

    fs::rename(made.at(".git"), made.at("moved")).expect("it was there");
    assert_eq!(mirror.fetch(Some("main"), Some(&second)).expect("no need to ask"), on("main", &second));
    assert_eq!(paths(&mirror.tree(&second).expect("read")), ["a", "b"]);
    assert_eq!(mirror.fetch(Some("main"), None).expect_err("nobody there").code(), "git_failed");
}

#[test]
fn a_commit_by_its_id_comes_even_if_the_server_gives_only_branches() {
    let made = Made::with(&["a"]);
    let first = made.head();
    made.write("b", "1");
    let second = made.commit("second");
    made.write("c", "1");
    made.commit("third");
    let place = Made::folder();
    let fresh = mirror(&place, &made);
    assert_eq!(fresh.fetch(None, Some(&second)).expect("fetched").commit, second);

    for reference in [Some("main"), None] {
        let place = Made::folder();
        let mirror = mirror(&place, &made);
        made.git(&["branch", "--force", "old", &first]);
        mirror.fetch(Some("old"), None).expect("fetched");
        // The older protocol, whose servers refuse what is not the tip of a branch.
        git(&only_folder(&place), &["config", "protocol.version", "0"]);
        assert_eq!(mirror.fetch(reference, Some(&second)).expect("fetched").commit, second);
    }
}

#[test]
fn what_is_not_there_is_said() {
    let (made, place) = (Made::with(&["a"]), Made::folder());
    let mirror = mirror(&place, &made);
    let said = |result: Result<Found, Error>| result.expect_err("not there").to_string();
    let missing = "0123456789".repeat(4);
    assert!(said(mirror.fetch(Some("nowhere"), None)).contains("has no such branch or tag"));
    assert!(said(mirror.fetch(Some("main"), Some(&missing))).contains("is not in the history of main"));
    assert!(said(mirror.fetch(None, Some(&missing))).contains("is not in any branch; was it pushed"));
    assert!(said(mirror.fetch(None, Some("abc123"))).contains("give the full id"));
    assert!(said(mirror.fetch(Some("--upload-pack=x"), None)).contains("must not begin with"));
    assert!(said(mirror.fetch(Some("a:b"), None)).contains("names no branch"));
    let empty = Made::repository();
    assert!(said(super::mirror::mirror(&place, &empty).fetch(None, None)).contains("has no such branch"));
    let nobody = mirrors(&place).mirror("/nowhere/at/all").expect("allowed");
    assert!(said(nobody.fetch(None, None)).contains("does not appear to be a git repository"));
}

#[test]
fn the_disk_of_the_server_is_closed_unless_it_was_opened() {
    let (made, place) = (Made::with(&["a"]), Made::folder());
    let closed = Mirrors::new(&place.path);
    for address in [made.address(), made.path.display().to_string()] {
        let refused = closed.mirror(&address).expect_err("closed");
        assert!(refused.to_string().contains("--allow-local-repositories"), "{refused}");
    }
    assert!(fs::read_dir(&place.path).expect("there").next().is_none());
}

#[test]
fn changes_are_told_since_the_commit_left_its_base() {
    let (made, place) = (Made::with(&["a", "b", "old"]), Made::folder());
    let first = made.head();
    made.git(&["checkout", "--quiet", "-b", "topic"]);
    made.git(&["mv", "old", "new\nline"]);
    made.write("b", "topic");
    let topic = made.commit("topic");
    made.git(&["checkout", "--quiet", "main"]);
    made.write("a", "main");
    let main = made.commit("main");
    let mirror = mirror(&place, &made);
    mirror.fetch(Some("topic"), None).expect("fetched");
    let changed = Ok(vec!["b".into(), "new\\nline".into(), "old".into()]);
    // Each base is fetched as it is needed.
    for base in ["main", "refs/heads/main", &first, &main] {
        assert_eq!(told(mirror.difference(base, &topic)), changed, "{base}");
    }
    assert_eq!(told(mirror.difference("topic", &topic)), Ok(vec![]));
    let why = |base: &str| told(mirror.difference(base, &topic)).expect_err("unknown");
    assert!(why("nowhere").contains("has no such branch or tag"));
    assert!(why("-x").contains("must not begin"));
    made.git(&["checkout", "--quiet", "--orphan", "other"]);
    made.commit("unrelated");
    assert!(why("other").contains("no history in common"));
}

#[test]
fn a_base_is_the_branch_as_it_is_now() {
    let (made, place) = (Made::with(&["a"]), Made::folder());
    made.write("b", "1");
    let second = made.commit("second");
    let mirror = mirror(&place, &made);
    mirror.fetch(Some("main"), None).expect("fetched");
    made.git(&["branch", "release", "HEAD~1"]);
    assert_eq!(told(mirror.difference("release", &second)), Ok(vec!["b".into()]));
    made.git(&["branch", "--force", "release", "HEAD"]);
    assert_eq!(told(mirror.difference("release", &second)), Ok(vec![]));
}

#[test]
fn files_are_read_within_a_bound() {
    let (made, place) = (Made::with(&["a", "dir/b"]), Made::folder());
    made.write("empty", "");
    made.write("large", vec![b'x'; 100_000]);
    made.write("new\nline", "two\nlines\n");
    made.link("link", "a");
    let commit = made.commit("more");
    let mirror = mirror(&place, &made);
    mirror.fetch(None, None).expect("fetched");
    let read = |path: &[u8]| mirror.read(&commit, path, 50_000);
    assert_eq!(read(b"dir/b").expect("read").as_deref(), Some(&b"dir/b"[..]));
    assert_eq!(read(b"empty").expect("read").as_deref(), Some(&b""[..]));
    assert_eq!(read(b"new\nline").expect("read").as_deref(), Some(&b"two\nlines\n"[..]));
    assert_eq!((read(b"nothing").expect("read"), read(b"dir").expect("read")), (None, None));
    assert_eq!(read(b"di*/b").expect("a pattern means nothing"), None);
    assert!(read(b"large").expect_err("too long").to_string().contains("100000 bytes long"));
    assert!(read(b"link").expect_err("a link").to_string().contains("it is a link"));
    assert_eq!(read(b"../a").expect_err("elsewhere").code(), "path_unsafe");

    let tree = mirror.tree(&commit).expect("read");
    let mut reader = mirror.reader().expect("a reader");
    for file in tree.files().iter().filter(|file| file.kind == Kind::Plain && &*file.path != b"large") {
        let bytes = reader.read(file, 50_000).expect("read");
        assert_eq!(
            bytes,
            fs::read(made.at(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(&file.path)))
                .expect("there")
        );
    }
    assert!(reader.read(tree.get(b"large").expect("there"), 10).is_err());
    assert_eq!(reader.read(tree.get(b"a").expect("there"), 10).expect("it goes on"), b"a");
}

#[test]
fn a_tree_that_would_write_elsewhere_is_refused() {
    let (made, place) = (Made::with(&["a"]), Made::folder());
    let blob = made.git(&["rev-parse", "HEAD:a"]);
    let inner = made.git_with(&["mktree"], format!("100644 blob {blob}\tconfig\n").as_bytes());
    let mirror = mirror(&place, &made);
    for name in ["..", ".git", ".GIT", "."] {
        let tree = made.git_with(&["mktree"], format!("040000 tree {inner}\t{name}\n").as_bytes());
        let commit = made.git(&["commit-tree", "-m", "hostile", &tree]);
        made.git(&["update-ref", "refs/heads/hostile", &commit]);
        mirror.fetch(Some("hostile"), None).expect("fetched");
        let refused = mirror.tree(&commit).expect_err("unsafe");
        assert_eq!(refused.code(), "path_unsafe");
        assert!(
            refused.to_string().contains(&format!("`{name}/config` cannot be created safely")),
            "{refused}"
        );
    }
}

#[test]
fn a_branch_that_became_a_folder_of_branches_is_no_trouble() {
    let (made, place) = (Made::with(&["a"]), Made::folder());
    let mirror = mirror(&place, &made);
    made.git(&["branch", "x"]);
    mirror.fetch(Some("x"), None).expect("fetched");
    made.git(&["branch", "-D", "x"]);
    made.git(&["branch", "x/y"]);
    assert_eq!(mirror.fetch(Some("x/y"), None).expect("fetched").branch.as_deref(), Some("x/y"));
}

#[test]
fn a_submodule_is_one_entry_and_is_not_fetched() {
    let (inner, made, place) = (Made::with(&["x"]), Made::with(&["a"]), Made::folder());
    made.git(&["submodule", "add", "--quiet", inner.path.to_str().expect("text"), "lib"]);
    let commit = made.commit("with a submodule");
    let mirror = mirror(&place, &made);
    mirror.fetch(None, None).expect("fetched");
    let tree = mirror.tree(&commit).expect("read");
    assert_eq!(tree.get(b"lib").map(|file| file.kind), Some(Kind::Submodule));
    assert_eq!(lines(&tree), made.as_git_would());
    assert!(mirror.read(&commit, b"lib", 10).expect_err("not a file").to_string().contains("a submodule"));
}

#[test]
fn a_shallow_clone_can_be_mirrored_as_far_as_it_reaches() {
    let (made, shallow, place) = (Made::with(&["a"]), Made::folder(), Made::folder());
    let first = made.head();
    made.write("b", "1");
    let second = made.commit("second");
    made.write("c", "1");
    let third = made.commit("third");
    shallow.git(&["clone", "--quiet", "--depth=2", &made.address(), "."]);
    let mirror = mirror(&place, &shallow);
    assert_eq!(mirror.fetch(Some("main"), None).expect("fetched"), on("main", &third));
    assert_eq!(told(mirror.difference(&second, &third)), Ok(vec!["c".into()]));
    assert!(told(mirror.difference(&first, &third)).is_err());
}

#[test]
fn a_repository_with_longer_names_of_objects_is_mirrored() {
    let (made, place) = (Made::folder(), Made::folder());
    made.git(&["init", "--quiet", "--initial-branch=main", "--object-format=sha256"]);
    made.write("a", "1");
    let commit = made.commit("first");
    let mirror = mirror(&place, &made);
    assert_eq!(mirror.fetch(None, None).expect("fetched"), on("main", &commit));
    assert_eq!(mirror.read(&commit, b"a", 10).expect("read").as_deref(), Some(&b"1"[..]));
}

#[test]
fn many_may_fetch_at_once() {
    let (made, place) = (Made::with(&["a", "b"]), Made::folder());
    let head = made.head();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mirror = mirror(&place, &made);
                assert_eq!(mirror.fetch(Some("main"), None).expect("fetched"), on("main", &head));
                assert_eq!(mirror.tree(&head).expect("read").files().len(), 2);
                mirror.tidy().expect("tidied");
            });
        }
    });
}

fn much() -> Made {
    let made = Made::repository();
    for number in 0..400 {
        made.write(format!("{}/{number}", number % 7), format!("{number}\n").repeat(number));
    }
    made.commit("much");
    made
}

/// Whole, and free of what a killed git leaves.
fn check_whole(place: &Made, mirror: &Mirror, made: &Made) {
    let found = mirror.fetch(Some("main"), None).expect("repaired");
    assert_eq!(lines(&mirror.tree(&found.commit).expect("read")), made.as_git_would());
    let folder = only_folder(place);
    git(&folder, &["fsck", "--full", "--strict"]);
    let left =
        |folder: &Path| fs::read_dir(folder).expect("there").map(|entry| entry.expect("there").file_name());
    assert!(left(&folder.join("objects/pack")).all(|name| !name.to_string_lossy().starts_with("tmp_")));
}

#[test]
fn a_fetch_that_was_stopped_in_the_middle_is_made_good_by_the_next() {
    let made = much();
    for milliseconds in [1, 2, 4, 6, 8, 12, 16, 24] {
        let place = Made::folder();
        let hurried = mirrors(&place).fetch_time_max(Duration::from_millis(milliseconds));
        let hurried = hurried.mirror(&made.address()).expect("allowed");
        if let Err(error) = hurried.fetch(Some("main"), None) {
            assert_eq!(error.code(), "git_too_slow", "{error}");
        }
        check_whole(&place, &mirror(&place, &made), &made);
    }
}

#[test]
fn a_process_that_was_killed_while_it_fetched_leaves_a_mirror_that_can_be_used() {
    let made = much();
    for milliseconds in [10, 20, 30, 50] {
        let place = Made::folder();
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        command.args(["--exact", "mirror::fetches_for_another_test"]).stdout(Stdio::null());
        command.env("FETCH_INTO", &place.path).env("FETCH_FROM", made.address());
        let mut child = command.spawn().expect("this test runs");
        // How far it gets is left to chance: every point is to be survived.
        thread::sleep(Duration::from_millis(milliseconds));
        child.kill().expect("it is ours");
        child.wait().expect("it ends");
        check_whole(&place, &mirror(&place, &made), &made);
    }
}

#[test]
fn fetches_for_another_test() {
    let (Some(into), Ok(from)) = (std::env::var_os("FETCH_INTO"), std::env::var("FETCH_FROM")) else {
        return;
    };
    let mirror = Mirrors::new(into).allow_local(true).mirror(&from).expect("allowed");
    mirror.fetch(Some("main"), None).expect("fetched");
}

#[test]
fn what_a_killed_git_leaves_does_not_stand_in_the_way() {
    let (made, place) = (Made::with(&["a"]), Made::folder());
    let mirror = mirror(&place, &made);
    mirror.fetch(Some("main"), None).expect("fetched");
    let folder = only_folder(&place);
    let slot =
        fs::read_dir(folder.join("refs/seen")).expect("there").next().expect("one").expect("there").path();
    for path in [folder.join("packed-refs.lock"), folder.join("shallow.lock"), slot.with_extension("lock")] {
        fs::write(path, "").expect("a file");
    }
    fs::write(folder.join("objects/pack/tmp_pack_x"), "half").expect("a file");
    made.write("b", "1");
    made.commit("second");
    check_whole(&place, &mirror, &made);

    // The disk lost what had been written: the mirror starts again.
    for entry in fs::read_dir(folder.join("objects/pack")).expect("there") {
        let path = entry.expect("there").path();
        if path.extension().is_some_and(|end| end == "pack" || end == "idx") {
            fs::remove_file(path).expect("it was there");
        }
    }
    check_whole(&place, &mirror, &made);
    fs::remove_file(folder.join("HEAD")).expect("it was there");
    check_whole(&place, &mirror, &made);
}
