//! What changed since a base.

use crate::made::{Made, git};

fn some(paths: &[&str]) -> Result<Vec<String>, String> {
    Ok(paths.iter().map(|path| path.to_string()).collect())
}

#[test]
fn what_happened_on_the_base_since_does_not_count() {
    let made = Made::with(&["a", "b", "c"]);
    let start = made.head();
    made.git(&["checkout", "--quiet", "-b", "topic"]);
    made.write("a", "topic");
    made.commit("topic");
    made.git(&["checkout", "--quiet", "main"]);
    made.write("b", "main");
    made.commit("main");
    made.git(&["checkout", "--quiet", "topic"]);
    assert_eq!(made.since("main"), some(&["a"]));
    let folder = made.open();
    match folder.difference(&folder.listing().expect("listed"), "main") {
        pipeline::facts::Difference::Since { base, .. } => assert_eq!(base, start),
        other => panic!("{other:?}"),
    }
    made.git(&["merge", "--quiet", "--no-edit", "main"]);
    assert_eq!(made.since("main"), some(&["a"]));
    assert_eq!(made.since("HEAD"), some(&[]));
    assert_eq!(made.since("HEAD~1"), some(&["b"]));
    assert_eq!(made.since("HEAD^2"), some(&["a"]));
}

#[test]
fn the_working_tree_counts_with_what_is_not_tracked_but_not_with_what_is_ignored() {
    let made = Made::with(&["a", "b", "mode", "gone"]);
    made.write(".gitignore", "*.o");
    made.commit("ignore");
    made.write("b", "edited");
    made.write("new", "1");
    made.write("x.o", "1");
    made.mode("mode", 0o755);
    made.remove("gone");
    assert_eq!(made.since("HEAD"), some(&["b", "gone", "mode", "new"]));
    made.git(&["add", "b"]);
    assert_eq!(made.since("HEAD"), some(&["b", "gone", "mode", "new"]));
}

#[test]
fn a_rename_counts_under_both_names() {
    let made = Made::with(&["old", "other"]);
    made.git(&["mv", "old", "new"]);
    assert_eq!(made.since("HEAD"), some(&["new", "old"]));
    made.commit("renamed");
    assert_eq!(made.since("HEAD~1"), some(&["new", "old"]));
}

#[test]
fn what_was_changed_and_changed_back_did_not_change() {
    let made = Made::with(&["a"]);
    let base = made.head();
    made.write("a", "changed");
    made.commit("change");
    assert_eq!(made.since(&base), some(&["a"]));
    made.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(made.since(&base), some(&[]));
    made.write("a", "again");
    made.write("a", "a");
    assert_eq!(made.since(&base), some(&[]));
}

#[test]
fn odd_names_are_told_as_they_are() {
    let made = Made::with(&["a"]);
    made.write("new\nline", "1");
    made.write("größe", "1");
    made.write(crate::made::odd_name(), "1");
    made.write(" \"quoted\"\t", "1");
    let changed = made.since("HEAD").expect("known");
    assert_eq!(changed, [r#" \"quoted\"\t"#, "caf\\xe9", "gr\\xc3\\xb6\\xc3\\x9fe", "new\\nline"]);
}

#[test]
fn a_link_that_leads_elsewhere_or_becomes_a_file_changed() {
    let made = Made::with(&["a"]);
    made.link("one", "a");
    made.link("two", "a");
    made.commit("links");
    made.link("one", "b");
    made.remove("two");
    made.write("two", "a");
    assert_eq!(made.since("HEAD"), some(&["one", "two"]));
}

#[test]
fn bases_may_be_tags_ids_and_branches_of_a_remote() {
    let made = Made::with(&["a"]);
    made.git(&["tag", "-a", "-m", "tag", "v1.0"]);
    let id = made.head();
    let clone = Made::folder();
    clone.git(&["clone", "--quiet", made.path.to_str().expect("text"), "."]);
    clone.write("b", "1");
    clone.commit("more");
    for base in ["v1.0", "origin/main", "refs/remotes/origin/main", &id, &id[..10], "HEAD~"] {
        assert_eq!(clone.since(base), some(&["b"]), "{base}");
    }
}

#[test]
fn a_base_that_cannot_be_compared_says_why_in_words_that_help() {
    let why = |made: &Made, base: &str| made.since(base).expect_err("unknown");
    let made = Made::with(&["a"]);
    assert!(why(&made, "mian").contains("`mian` names no commit in this clone; fetch it"));
    for hostile in ["--output=x", "a..b", "HEAD:a", "HEAD@{1}", "x\ny", ""] {
        assert!(why(&made, hostile).contains("names no commit"), "{hostile}");
    }
    // A tree is no commit.
    let tree = made.git(&["rev-parse", "HEAD^{tree}"]);
    assert!(why(&made, &tree).contains("names no commit"));
    made.git(&["checkout", "--quiet", "--orphan", "other"]);
    made.commit("unrelated");
    assert!(why(&made, "main").contains("no history in common"));

    let empty = Made::repository();
    assert!(why(&empty, "HEAD").contains("names no commit"));
    assert!(why(&Made::folder(), "HEAD").contains("not in a git repository"));
    made.git(&["checkout", "--quiet", "--orphan", "unborn"]);
    assert!(why(&made, "main").contains("no commit yet"));
}

#[test]
fn a_shallow_clone_says_how_to_get_more_history() {
    let made = Made::with(&["a"]);
    let first = made.head();
    made.git(&["checkout", "--quiet", "-b", "topic"]);
    made.write("b", "1");
    made.commit("topic");
    made.git(&["checkout", "--quiet", "main"]);
    made.write("c", "1");
    made.commit("main");

    let clone = Made::folder();
    let address = format!("file://{}", made.path.display());
    clone.git(&["clone", "--quiet", "--depth=1", "--no-single-branch", "--branch=topic", &address, "."]);
    let deepen = "`git fetch --deepen=100`";
    assert!(clone.since("origin/main").expect_err("parted before").contains(deepen));
    assert!(clone.since(&first).expect_err("not here").contains(deepen));
    assert_eq!(clone.since("HEAD"), some(&[]));
    git(&clone.path, &["fetch", "--quiet", "--deepen=100"]);
    assert_eq!(clone.since("origin/main"), some(&["b"]));
}

#[test]
fn a_partial_clone_is_not_completed_behind_anybodys_back() {
    let made = Made::with(&["a", "b"]);
    made.git(&["config", "uploadpack.allowFilter", "true"]);
    made.write("a", "2");
    made.commit("second");
    let clone = Made::folder();
    let address = format!("file://{}", made.path.display());
    clone.git(&["clone", "--quiet", "--filter=tree:0", &address, "."]);
    let why = clone.since("HEAD~1").expect_err("its files are not here");
    assert!(why.contains("cannot read the files of the base"), "{why}");
    let blobless = Made::folder();
    blobless.git(&["clone", "--quiet", "--filter=blob:none", &address, "."]);
    assert_eq!(blobless.since("HEAD~1"), some(&["a"]));
}
