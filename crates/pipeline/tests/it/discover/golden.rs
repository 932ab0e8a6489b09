//! Golden projects. Each file in `cases/` holds a repository, a line `---`, what is found in it, a line `---`, and the first
//! pipeline file. With `DELTACI_GOLDEN=write` the last two are written anew: read the difference before you commit it.

use pipeline::first::first_file;

use super::repository::{described, files, found};
use crate::golden::cases;

fn seen(repository: &str) -> String {
    let found = found(&files(repository));
    let first = first_file(&found);
    let read = pipeline::file::read(first.as_bytes());
    assert!(read.is_ok(), "the first file has problems: {read:?}");
    let patterns = found.pipeline.jobs.iter().flat_map(|job| job.paths.iter().flatten());
    patterns.for_each(|pattern| assert_eq!(pipeline::globs::check(pattern), Ok(()), "{pattern}"));
    format!("{}\n---\n{first}", described(&found))
}

cases! {
    "discover/cases", seen,
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
