//! Files that hold what a test expects. `DELTACI_GOLDEN=write cargo nextest run -p pipeline` brings them up to date; read
//! the difference before it is committed.

use std::fs;
use std::path::{Path, PathBuf};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The test's files below a folder that end so, by name.
pub fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/files").join(folder);
    let entries = fs::read_dir(&folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} holds none", folder.display());
    paths
}

const MARK: &str = "\n---\n";

/// A case is a file that holds what is given, a line `---`, and what shall be seen.
pub fn case(folder: &str, name: &str, seen: impl FnOnce(&str) -> String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(folder);
    let path = folder.join(format!("{name}.txt"));
    let text = fs::read_to_string(&path).expect("a case");
    let (given, _) = text.split_once(MARK).unwrap_or((text.trim_end(), ""));
    compare(&path, &format!("{given}{MARK}{}", seen(given)));
}

/// A test for each file of a folder; and one that none is left out.
macro_rules! cases {
    ($folder:literal, $seen:path, $($name:ident)+) => {
        $(#[test] fn $name() { $crate::golden::case($folder, stringify!($name), $seen); })+

        #[test]
        fn every_case_is_looked_at() {
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join($folder);
            let names = std::fs::read_dir(folder).expect("a folder").map(|entry| {
                entry.expect("an entry").path().file_stem().expect("a name").to_string_lossy().into_owned()
            });
            let mut names: Vec<String> = names.collect();
            names.sort();
            assert_eq!(names, [$(stringify!($name)),+]);
        }
    };
}

pub(crate) use cases;

pub fn compare(place: &Path, content: &str) {
    if std::env::var_os("DELTACI_GOLDEN").is_some_and(|mode| mode == "write") {
        fs::write(place, content).expect("the file can be written");
    }
    let written = fs::read_to_string(place).unwrap_or_default();
    assert!(
        written == content,
        "{} is out of date: run with DELTACI_GOLDEN=write and read the difference\n--- now:\n{content}",
        place.display()
    );
}
