//! A large workspace is discovered in one go; the time is printed, and asserted nowhere.

use std::collections::BTreeMap;
use std::time::Instant;

use super::repository::found;

const PACKAGES: usize = 2_000;

#[test]
fn two_thousand_packages_are_discovered() {
    let mut files = BTreeMap::from([
        (b"Cargo.toml".to_vec(), b"[workspace]\nmembers = ['crates/*']\n[package]\nname = 'root'\n".to_vec()),
        (b"Cargo.lock".to_vec(), Vec::new()),
    ]);
    for number in 0..PACKAGES {
        let mut text = format!("[package]\nname = 'p{number}'\n");
        for used in
            [number / 2, number / 3, number.saturating_sub(1) / 7].into_iter().filter(|used| *used < number)
        {
            text += &format!("[dependencies.'p{used}-{}']\npath = '../p{used}'\n", text.len());
        }
        files.insert(format!("crates/p{number}/Cargo.toml").into(), text.into());
        (0..20).for_each(|file| {
            drop(files.insert(format!("crates/p{number}/src/{file}.rs").into(), Vec::new()))
        });
    }
    let start = Instant::now();
    let found = found(&files);
    println!("{} files, {PACKAGES} packages: {:?}", files.len(), start.elapsed());
    assert_eq!(found.pipeline.jobs.len(), PACKAGES + 1);
    assert!(found.notes.is_empty(), "{:?}", found.notes);
    assert!(found.pipeline.jobs.iter().all(|job| job.paths.is_some()));
}

#[test]
fn a_job_that_uses_hundreds_of_projects_names_the_folders_around_them() {
    let mut files = BTreeMap::from([(b"Cargo.toml".to_vec(), b"[workspace]\nmembers = ['*/*']\n".to_vec())]);
    for number in 0..150_usize {
        let folder = if number < 140 { "crates" } else { "tools" };
        let text = format!("[package]\nname = 'p{number}'\n");
        let before = number.checked_sub(1).filter(|_| number < 140);
        let uses = before.map(|before| format!("[dependencies]\nx = {{ path = '../p{before}' }}\n"));
        files.insert(
            format!("{folder}/p{number}/Cargo.toml").into(),
            (text + &uses.unwrap_or_default()).into(),
        );
    }
    let found = found(&files);
    let job = found.pipeline.jobs.iter().find(|job| job.name == "test-p139").expect("a job");
    let paths = job.paths.as_ref().expect("paths");
    assert_eq!(paths[..2], ["crates/**", "Cargo.{toml,lock}"]);
}
