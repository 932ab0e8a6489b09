//! What is listed of a folder, and what git says about the same folder.

use std::fs;

use repo::{Folder, Head};

use crate::made::{Made, git, lines, odd_name, shown};

#[test]
fn a_listing_is_what_git_would_commit() {
    let made = Made::with(&["a", "dir/b", "dir/deep/c", "gone", "mode", "odd\nname", "größe", "was-file"]);
    made.link("link", "a");
    made.write(odd_name(), "latin");
    made.write(".gitignore", "*.log\nbuild/\n");
    made.commit("second");

    assert_eq!(lines(&made.listing().tree), made.as_git_would());

    made.write("a", "changed");
    made.write("new", "untracked");
    made.write("dir/new\nline", "untracked");
    made.write("noise.log", "ignored");
    made.write("build/out", "ignored");
    made.remove("gone");
    made.mode("mode", 0o755);
    made.link("link", "elsewhere");
    made.remove("was-file");
    made.write("was-file/now-folder", "inside");
    let listing = made.listing();
    assert_eq!(lines(&listing.tree), made.as_git_would());
    assert!(listing.tree.get(b"gone").is_none() && listing.tree.get(b"noise.log").is_none());
}

#[test]
fn a_file_that_was_touched_but_not_changed_has_the_same_content() {
    let made = Made::with(&["a", "b"]);
    let before = made.listing().tree;
    made.write("a", "a");
    assert_eq!(made.listing().tree, before);
}

#[test]
fn a_change_right_after_the_commit_that_keeps_length_and_time_is_seen() {
    let made = Made::with(&["a"]);
    let time = fs::metadata(made.at("a")).expect("there").modified().expect("a time");
    made.write("a", "b");
    fs::File::open(made.at("a")).expect("there").set_modified(time).expect("a time");
    assert_eq!(lines(&made.listing().tree), made.as_git_would());
}

#[test]
fn an_empty_repository_lists_what_is_not_tracked_yet() {
    let made = Made::repository();
    assert_eq!(made.paths(), Vec::<String>::new());
    assert_eq!(made.open().head().expect("read"), Head { commit: None, branch: Some("main".into()) });
    made.write("a", "1");
    assert_eq!(made.paths(), ["a"]);
    assert_eq!(lines(&made.listing().tree), made.as_git_would());
}

#[test]
fn without_a_repository_all_files_are_listed_but_for_the_data_directory() {
    let made = Made::folder();
    made.write("a", "1");
    made.write("b/c", "2");
    made.write(odd_name(), "3");
    made.write(".deltaci/deltaci.db", "4");
    made.write("b/.deltaci/deltaci.db", "4");
    made.write(".git/not-a-repository", "5");
    made.link("b/up", "..");
    made.mode("a", 0o700);
    assert_eq!(made.paths(), ["a", "b/c", "b/up", "caf\\xe9"]);
    let ours = lines(&made.listing().tree);
    fs::remove_dir_all(made.at(".git")).expect("it was there");
    made.git(&["init", "--quiet"]);
    made.write(".gitignore", ".deltaci\n.gitignore\n");
    assert_eq!(ours, made.as_git_would());
    assert_eq!(made.open().head().expect("read").commit, None);
}

#[test]
fn the_data_directory_is_never_listed() {
    let made = Made::with(&["a", ".deltaci/tracked", "sub/.deltaci/tracked"]);
    made.write(".deltaci/untracked", "1");
    assert_eq!(made.paths(), ["a"]);
    assert_eq!(made.since("HEAD"), Ok(vec![]));
}

#[test]
fn a_subfolder_is_a_root_of_its_own() {
    let made = Made::with(&["a", "sub/b", "sub/deep/c", "subway/d"]);
    made.write("sub/new", "1");
    made.write("new", "1");
    made.write("sub/b", "changed");
    let folder = Folder::open(&made.at("sub")).expect("a folder");
    assert_eq!(folder.top(), Some(made.path.as_path()));
    let listing = folder.listing().expect("listed");
    let paths: Vec<_> = listing.tree.files().iter().map(|file| shown(&file.path)).collect();
    assert_eq!(paths, ["b", "deep/c", "new"]);
    assert_eq!(crate::made::told(folder.difference(&listing, "HEAD")), Ok(vec!["b".into(), "new".into()]));
    assert_eq!(folder.read(b"b", 100).expect("read").as_deref(), Some(&b"changed"[..]));
}

#[test]
fn a_folder_that_its_repository_ignores_is_a_folder_of_its_own() {
    let made = Made::with(&["a"]);
    made.write(".gitignore", "target\n");
    made.write("target/project/x", "1");
    let folder = Folder::open(&made.at("target/project")).expect("a folder");
    assert_eq!(folder.top(), None);
    assert_eq!(folder.listing().expect("listed").tree.files().len(), 1);
}

#[test]
fn heads_are_branches_or_detached() {
    let made = Made::with(&["a"]);
    let head = made.head();
    let branch = |name: &str| Head { commit: Some(head.clone()), branch: Some(name.into()) };
    assert_eq!(made.open().head().expect("read"), branch("main"));
    made.git(&["checkout", "--quiet", "-b", "feature/ü"]);
    assert_eq!(made.open().head().expect("read"), branch("feature/ü"));
    made.git(&["checkout", "--quiet", "--detach"]);
    assert_eq!(made.open().head().expect("read"), Head { commit: Some(head.clone()), branch: None });
    assert_eq!(lines(&made.listing().tree), made.as_git_would());
}

#[test]
fn a_linked_working_tree_is_read_like_any_other() {
    let made = Made::with(&["a", "b"]);
    let other = Made::folder();
    let place = other.at("tree");
    made.git(&["worktree", "add", "--quiet", "-b", "side", place.to_str().expect("text")]);
    fs::write(place.join("a"), "changed here").expect("a file");
    let folder = Folder::open(&place).expect("a folder");
    assert_eq!(folder.head().expect("read").branch.as_deref(), Some("side"));
    let listing = folder.listing().expect("listed");
    assert_eq!(crate::made::told(folder.difference(&listing, "main")), Ok(vec!["a".into()]));
    assert_eq!(made.since("HEAD"), Ok(vec![]));
}

#[test]
fn a_submodule_is_one_entry_with_the_commit_that_is_checked_out() {
    let inner = Made::with(&["x", "y"]);
    let made = Made::with(&["a"]);
    made.git(&["submodule", "add", "--quiet", inner.path.to_str().expect("text"), "lib"]);
    made.commit("with a submodule");
    assert_eq!(made.paths(), [".gitmodules", "a", "lib"]);
    assert_eq!(lines(&made.listing().tree), made.as_git_would());

    git(&made.at("lib"), &["commit", "--quiet", "--allow-empty", "-m", "further"]);
    assert_eq!(lines(&made.listing().tree), made.as_git_would());
    assert_eq!(made.since("HEAD"), Ok(vec!["lib".into()]));

    let clone = Made::folder();
    clone.git(&["clone", "--quiet", made.path.to_str().expect("text"), "."]);
    assert_eq!(clone.paths(), [".gitmodules", "a", "lib"]);
    assert_eq!(clone.since("HEAD"), Ok(vec![]));
    // Inside, the submodule is a repository like others.
    let folder = Folder::open(&made.at("lib")).expect("a folder");
    assert_eq!(folder.listing().expect("listed").tree.files().len(), 2);
}

#[test]
fn a_repository_inside_that_nobody_tracks_is_one_entry() {
    let made = Made::with(&["a"]);
    fs::create_dir(made.at("inner")).expect("a folder");
    git(&made.at("inner"), &["init", "--quiet"]);
    made.write("inner/x", "1");
    assert_eq!(made.paths(), ["a"]);
    git(&made.at("inner"), &["add", "x"]);
    git(&made.at("inner"), &["commit", "--quiet", "-m", "x"]);
    assert_eq!(made.paths(), ["a", "inner"]);
    assert_eq!(lines(&made.listing().tree), made.as_git_would());
}

#[test]
fn bare_repositories_git_folders_and_files_are_refused_with_a_hint() {
    let made = Made::with(&["a"]);
    let bare = Made::folder();
    bare.git(&["init", "--quiet", "--bare"]);
    for path in [bare.path.clone(), made.at(".git"), made.at(".git/objects")] {
        let error = Folder::open(&path).expect_err("no files");
        assert_eq!(error.code(), "folder_unusable");
        assert!(error.to_string().contains("name a folder with files"), "{error}");
    }
    assert!(
        Folder::open(&made.at("a")).expect_err("a file").to_string().contains("name the folder it is in")
    );
    assert_eq!(Folder::open(&made.at("nowhere")).expect_err("nothing").code(), "io_failed");
}

#[test]
fn a_merge_with_conflicts_lists_the_files_as_they_are_on_the_disk() {
    let made = Made::with(&["a", "b"]);
    made.git(&["checkout", "--quiet", "-b", "side"]);
    made.write("a", "side");
    made.commit("side");
    made.git(&["checkout", "--quiet", "main"]);
    made.write("a", "main");
    made.commit("main");
    let merge = std::process::Command::new("git")
        .args(["-c", "user.name=x", "-c", "user.email=x@example.org", "merge", "--quiet", "side"])
        .current_dir(&made.path)
        .output()
        .expect("git runs");
    assert!(!merge.status.success(), "there is a conflict");
    assert_eq!(lines(&made.listing().tree), made.as_git_would());
}

#[test]
fn a_sparse_checkout_has_fewer_files_and_no_difference() {
    let made = Made::with(&["in/a", "out/b", "c"]);
    made.git(&["sparse-checkout", "set", "in"]);
    assert_eq!(made.paths(), ["c", "in/a"]);
    assert_eq!(made.since("HEAD"), Ok(vec![]));
}

#[test]
fn where_the_disk_knows_no_executable_bit_that_of_git_counts() {
    let made = Made::with(&["plain", "run"]);
    made.mode("run", 0o755);
    made.commit("executable");
    made.git(&["config", "core.fileMode", "false"]);
    made.mode("plain", 0o755);
    made.mode("run", 0o644);
    made.write("run", "changed");
    made.write("new", "1");
    made.mode("new", 0o755);
    let kinds: Vec<_> = lines(&made.listing().tree).iter().map(|line| line[..6].to_owned()).collect();
    assert_eq!(kinds, ["100644", "100644", "100755"]);
    assert_eq!(made.since("HEAD"), Ok(vec!["new".into(), "run".into()]));
}

#[test]
fn objects_named_by_sha_256_are_compared_as_such() {
    let made = Made::folder();
    made.git(&["init", "--quiet", "--object-format=sha256"]);
    made.write("a", "1");
    made.write("b", "2");
    made.commit("first");
    made.write("a", "changed");
    made.write("b", "2");
    assert_eq!(made.since("HEAD"), Ok(vec!["a".into()]));
}

#[test]
fn a_tracked_file_behind_a_folder_that_became_a_link_is_gone() {
    let made = Made::with(&["dir/a", "b"]);
    let elsewhere = Made::folder();
    elsewhere.write("a", "a secret");
    fs::remove_dir_all(made.at("dir")).expect("it was there");
    made.link("dir", elsewhere.path.to_str().expect("text"));
    assert_eq!(made.paths(), ["b", "dir"]);
    assert_eq!(lines(&made.listing().tree), made.as_git_would());
    assert_eq!(made.open().read(b"dir/a", 100).expect("read"), None);
}

#[test]
fn reading_is_bounded_and_follows_no_link() {
    let made = Made::with(&["a", "dir/b"]);
    made.link("link", "a");
    let folder = made.open();
    assert_eq!(folder.read(b"a", 1).expect("read").as_deref(), Some(&b"a"[..]));
    assert_eq!(folder.read(b"dir/b", 10).expect("read").as_deref(), Some(&b"dir/b"[..]));
    assert_eq!(folder.read(b"nothing", 10).expect("read"), None);
    assert_eq!(folder.read(b"a/b", 10).expect("read"), None);
    for (path, code) in [
        (&b"dir/b"[..], "file_unreadable"),
        (b"link", "file_unreadable"),
        (b"dir", "file_unreadable"),
        (b"../a", "path_unsafe"),
        (b"/etc/passwd", "path_unsafe"),
        (b".git/config", "path_unsafe"),
    ] {
        assert_eq!(folder.read(path, 4).expect_err("refused").code(), code, "{}", shown(path));
    }
}

#[test]
fn pipes_and_sockets_are_no_files() {
    let made = Made::with(&["a"]);
    let pipe = std::process::Command::new("mkfifo").arg(made.at("pipe")).status().expect("mkfifo runs");
    assert!(pipe.success());
    let _socket = std::os::unix::net::UnixListener::bind(made.at("socket")).expect("a socket");
    assert_eq!(made.paths(), ["a"]);
    made.remove("a");
    let pipe = std::process::Command::new("mkfifo").arg(made.at("a")).status().expect("mkfifo runs");
    assert!(pipe.success());
    assert_eq!(made.paths(), Vec::<String>::new());
    fs::remove_dir_all(made.at(".git")).expect("it was there");
    assert_eq!(made.paths(), Vec::<String>::new());
}
