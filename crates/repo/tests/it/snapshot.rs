//! Copies of a working tree, and of a snapshot for one job.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use repo::copy;

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
