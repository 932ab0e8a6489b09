//! Golden projects. Each file in `cases/` holds a repository, a line `---`, what is found in it, a line `---`, and the first
//! pipeline file. With `DELTACI_GOLDEN=write` the last two are written anew: read the difference before you commit it.

use std::fs;
use std::path::PathBuf;

use pipeline::first::first_file;

use super::repository::{described, files, found};

const MARK: &str = "\n---\n";

fn check(name: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/discover/cases/{name}.txt"));
    let text = fs::read_to_string(&path).expect("a case");
    let (repository, expected) = text.split_once(MARK).unwrap_or((text.trim_end(), ""));
    let found = found(&files(repository));
    let seen = format!("{}{MARK}{}", described(&found), first_file(&found));
    if std::env::var_os("DELTACI_GOLDEN").is_some_and(|mode| mode == "write") {
        fs::write(&path, format!("{repository}{MARK}{seen}")).expect("written");
        return;
    }
    assert_eq!(seen, expected, "{name}: not what is in {}", path.display());
    let read = pipeline::file::read(first_file(&found).as_bytes());
    assert!(read.is_ok(), "{name}: the first file has problems: {read:?}");
    let patterns = found.pipeline.jobs.iter().flat_map(|job| job.paths.iter().flatten());
    patterns.for_each(|pattern| assert_eq!(pipeline::globs::check(pattern), Ok(()), "{pattern}"));
}

macro_rules! cases {
    ($($name:ident)+) => {
        $(#[test] fn $name() { check(stringify!($name)); })+

        #[test]
        fn every_case_is_looked_at() {
            let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/discover/cases");
            let names = fs::read_dir(folder).expect("a folder").map(|entry| {
                entry.expect("an entry").path().file_stem().expect("a name").to_string_lossy().into_owned()
            });
            let mut names: Vec<String> = names.collect();
            names.sort();
            assert_eq!(names, [$(stringify!($name)),+]);
        }
    };
}

cases! {
    a_broken_manifest_makes_its_kind_run_everything
    a_cargo_package
    a_cargo_workspace
    a_go_workspace
    a_makefile
    a_pnpm_workspace
    a_python_project
    an_npm_workspace
    dotnet_projects
    many_kinds_side_by_side
    nothing
    odd_names_are_quoted
    packages_that_use_each_other
    python_scripts
}
