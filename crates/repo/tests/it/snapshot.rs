//! Copies of a working tree, and of a snapshot for one job.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use repo::{copy, leftovers};

use crate::made::{Made, lines, odd_name, paths};

#[test]
fn a_snapshot_holds_what_is_listed_and_nothing_else() {
    let made = Made::with(&["a", "dir/deep/b", "run", "new\nline"]);
    made.mode("run", 0o755);
    made.link("link", "dir/deep");
    made.link("dangling", "/nowhere");
    made.write(odd_name(), "latin");
    made.write(".gitignore", "ignored\n");
    made.commit("more");
    made.write("a", "edited");
    made.write("ignored", "1");
    made.write("large", vec![7; 3_000_000]);

    let to = Made::folder();
    let listing = made.listing();
    let tree = made.open().snapshot(&listing, &to.path).expect("copied");
    assert_eq!(tree, listing.tree);
    assert_eq!(to.listing().tree, listing.tree);
    assert_eq!(fs::read_link(to.at("link")).expect("a link").to_str(), Some("dir/deep"));
    assert_eq!(fs::metadata(to.at("run")).expect("there").permissions().mode() & 0o100, 0o100);
    assert!(!to.at(".git").exists() && !to.at("ignored").exists());

    let job = Made::folder();
    copy::copy(&to.path, &tree, &job.path).expect("copied");
    assert_eq!(job.listing().tree, tree);
    // What a job does to its copy stays there.
    assert_ne!(
        fs::metadata(job.at("a")).expect("there").ino(),
        fs::metadata(to.at("a")).expect("there").ino()
    );
    job.write("large", "changed");
    assert_eq!(fs::read(to.at("large")).expect("there").len(), 3_000_000);
}

#[test]
fn a_copy_over_what_a_job_left_is_like_a_new_one() {
    let made = Made::with(&["same", "dir/kept", "longer", "shorter", "gone", "folder/inner", "was/plain"]);
    made.write("large", vec![7; 3_000_000]);
    made.write("run", "#!/bin/sh");
    made.mode("run", 0o755);
    made.link("link", "same");
    made.commit("more");
    let snapshot = Made::folder();
    let tree = made.open().snapshot(&made.listing(), &snapshot.path).expect("copied");
    let job = Made::folder();
    copy::copy(&snapshot.path, &tree, &job.path).expect("copied");

    let outside = Made::with(&["precious"]);
    job.write("longer", "x".repeat(100_000));
    job.write("shorter", "");
    job.write("large", vec![8; 4_000_000]);
    job.remove("gone");
    fs::create_dir_all(job.at("gone/is/a/folder")).expect("folders");
    fs::remove_dir_all(job.at("folder")).expect("removed");
    job.link("folder", outside.path.to_str().expect("a path"));
    job.remove("same");
    job.link("same", outside.at("precious").to_str().expect("a path"));
    job.remove("was/plain");
    fs::hard_link(outside.at("precious"), job.at("was/plain")).expect("a link");
    job.remove("link");
    job.write("link", "a file");
    job.mode("run", 0o4711);
    job.mode("dir", 0o777);
    job.write("dir/new", "1");
    job.write("target/debug/new", "1");

    leftovers::clear(&job.path, &tree).expect("cleared");
    copy::copy(&snapshot.path, &tree, &job.path).expect("copied");
    let fresh = Made::folder();
    copy::copy(&snapshot.path, &tree, &fresh.path).expect("copied");
    assert_eq!(job.listing().tree, fresh.listing().tree);
    for path in ["run", "dir", "dir/kept", "was/plain", "large"] {
        let [job, fresh] = [&job, &fresh].map(|made| fs::metadata(made.at(path)).expect("there"));
        assert_eq!((job.mode(), job.len()), (fresh.mode(), fresh.len()), "{path}");
    }
    assert!(!job.at("target").exists() && !job.at("dir/new").exists());
    assert_eq!(fs::read_to_string(outside.at("precious")).expect("there"), "precious");

    // The next time nothing was changed, and nothing is made anew.
    let before = fs::metadata(job.at("dir/kept")).expect("there").ino();
    leftovers::clear(&job.path, &tree).expect("cleared");
    copy::copy(&snapshot.path, &tree, &job.path).expect("copied");
    assert_eq!(fs::metadata(job.at("dir/kept")).expect("there").ino(), before);
}

#[test]
fn what_changes_between_listing_and_copy_is_told_as_it_is_in_the_copy() {
    let made =
        Made::with(&["clean", "edited", "gone", "mode", "file-to-link", "dir/a", "file-to-folder", "same"]);
    made.link("link-to-file", "clean");
    made.link("link", "clean");
    made.commit("links");
    made.write("edited", "1");
    made.write("untracked", "1");
    let listing = made.listing();

    made.write("clean", "changed after the listing");
    made.write("edited", "2");
    made.write("untracked", "3");
    made.remove("gone");
    made.mode("mode", 0o755);
    made.link("file-to-link", "clean");
    made.remove("link-to-file");
    made.write("link-to-file", "a file now");
    made.link("link", "edited");
    fs::remove_dir_all(made.at("dir")).expect("it was there");
    made.remove("file-to-folder");
    made.write("file-to-folder/x", "1");
    made.write("came-later", "1");

    let to = Made::folder();
    let tree = made.open().snapshot(&listing, &to.path).expect("copied");
    assert_eq!(to.listing().tree, tree);
    let expected = ["clean", "edited", "file-to-link", "link", "link-to-file", "mode", "same", "untracked"];
    assert_eq!(paths(&tree), expected);
    for line in lines(&tree) {
        let name = line.rsplit(' ').next().expect("a name");
        let unchanged = lines(&listing.tree).contains(&line);
        assert_eq!(unchanged, name == "same", "{line}");
    }
}

#[test]
fn a_change_within_the_same_moment_and_length_is_seen() {
    let made = Made::with(&["a"]);
    made.write("a", "1");
    let listing = made.listing();
    let time = fs::metadata(made.at("a")).expect("there").modified().expect("a time");
    made.write("a", "2");
    fs::File::open(made.at("a")).expect("there").set_modified(time).expect("a time");
    let to = Made::folder();
    let tree = made.open().snapshot(&listing, &to.path).expect("copied");
    assert_eq!(to.listing().tree, tree);
    assert_ne!(tree, listing.tree);
}

#[test]
fn a_folder_that_became_a_link_leads_nowhere() {
    let made = Made::with(&["dir/a", "b"]);
    let listing = made.listing();
    let elsewhere = Made::folder();
    elsewhere.write("a", "a secret");
    fs::rename(made.at("dir"), made.at("moved")).expect("it was there");
    made.link("dir", elsewhere.path.to_str().expect("text"));
    let to = Made::folder();
    let tree = made.open().snapshot(&listing, &to.path).expect("copied");
    assert_eq!(paths(&tree), ["b"]);
    assert_eq!(to.paths(), ["b"]);
}

#[test]
fn a_submodule_is_an_empty_folder_in_the_copy() {
    let inner = Made::with(&["x"]);
    let made = Made::with(&["a"]);
    made.git(&["submodule", "add", "--quiet", inner.path.to_str().expect("text"), "deep/lib"]);
    made.commit("with a submodule");
    let to = Made::folder();
    let tree = made.open().snapshot(&made.listing(), &to.path).expect("copied");
    assert_eq!(fs::read_dir(to.at("deep/lib")).expect("a folder").count(), 0);
    let job = Made::folder();
    copy::copy(&to.path, &tree, &job.path).expect("copied");
    assert!(job.at("deep/lib").is_dir());
}

#[test]
fn a_copy_that_cannot_be_written_is_an_error_and_not_a_file_less() {
    let made = Made::with(&["a", "b"]);
    let listing = made.listing();
    let to = Made::folder();
    to.write("a", "in the way");
    let error = made.open().snapshot(&listing, &to.path).expect_err("it is not empty");
    assert_eq!(error.to_string(), "cannot write the copy of a");
    let missing = to.at("missing");
    assert_eq!(made.open().snapshot(&listing, &missing).expect_err("nowhere").code(), "io_failed");
}

#[test]
fn a_folder_without_a_repository_is_copied_too() {
    let made = Made::folder();
    made.write("a", "1");
    made.write("b/c", "2");
    made.write(".deltaci/x", "3");
    let to = Made::folder();
    let tree = made.open().snapshot(&made.listing(), &to.path).expect("copied");
    assert_eq!(paths(&tree), ["a", "b/c"]);
    assert_eq!(to.paths(), ["a", "b/c"]);
}
