//! What a room may depend on, read from its manifest. Dev-dependencies are free: tests may reach for anything.

use super::inspect::Finding;

/// One room's boundary.
struct Room {
    folder: &'static str,
    may: May,
    reason: &'static str,
}

enum May {
    Only(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

/// The drivers belong to the store. What others know of a database is the store's verbs and finders.
const DRIVERS: &[&str] = &["rusqlite", "tokio-postgres"];

const ROOMS: &[Room] = &[
    Room {
        folder: "machines",
        may: May::Only(&[]),
        reason: "the tables are the ground everything else stands on",
    },
    Room {
        folder: "malloc",
        may: May::Only(&["libc"]),
        reason: "one call that the compiler cannot check, and nothing that could grow around it",
    },
    Room {
        folder: "wire",
        may: May::Only(&[
            "serde",
            "serde_json",
            "serde_path_to_error",
            "jiff",
            "sha2",
            "subtle",
            "uuid",
            "utoipa",
            "thiserror",
        ]),
        reason: "what crosses a process is plain data: no runtime, no randomness, no machine",
    },
    Room {
        folder: "decisions",
        may: May::Only(&["machines", "wire", "serde", "serde_json", "thiserror", "sha2"]),
        reason: "a decision is a pure function; time and ids are its arguments",
    },
    Room {
        folder: "store",
        may: May::Only(&[
            "machines",
            "wire",
            "decisions",
            "rusqlite",
            "refinery",
            "tokio",
            "tokio-postgres",
            "postgres-types",
            "foldhash",
            "futures-util",
            "thiserror",
            "serde_json",
            "jiff",
            // Bytes of artifacts: files, hashes, and a client for buckets.
            "bytes",
            "http",
            "http-body-util",
            "hyper",
            "hyper-rustls",
            "hyper-util",
            "object_store",
            "rustix",
            "rustls",
            "sha2",
        ]),
        reason: "the store keeps records and bytes; it knows neither who asks nor why",
    },
    Room {
        folder: "pipeline",
        may: May::Only(&[
            "decisions",
            "wire",
            "aho-corasick",
            "globset",
            "saphyr-parser",
            "serde",
            "serde_json",
            "sha2",
            "strsim",
            "thiserror",
            "toml",
            "unicode-width",
        ]),
        reason: "a plan is a pure function of text and lists of files",
    },
    Room {
        folder: "repo",
        may: May::Only(&["pipeline", "rustix", "sha1", "sha2", "thiserror"]),
        reason: "a repository is read here; what its files mean is the pipeline's business",
    },
    Room { folder: "server", may: May::AllBut(DRIVERS), reason: "SQL lives in the store" },
    Room {
        folder: "runner",
        may: May::AllBut(&["store", "decisions", "server", "rusqlite", "tokio-postgres"]),
        reason: "a runner is untrusted: it knows the protocol, never the records",
    },
    Room {
        folder: "sim",
        may: May::Only(&[
            "machines",
            "wire",
            "decisions",
            "serde_json",
            "stateright",
            // The simulation runs `perform`, the store in memory and the runner's session, none of which waits.
            "server",
            "store",
            "runner",
        ]),
        reason: "what is tried is the real code without its I/O: no runtime, no socket, no disk",
    },
    Room { folder: "cli", may: May::AllBut(DRIVERS), reason: "SQL lives in the store" },
];

/// Compares a crate's manifest with its row.
pub fn check(path: &str, manifest: &str) -> Vec<Finding> {
    let folder = path.split('/').nth_back(1).unwrap_or_default();
    let Some(room) = ROOMS.iter().find(|room| room.folder == folder) else {
        let message =
            format!("the crate {folder} has no row in xtask/src/tidy/imports.rs: say what it may depend on");
        return vec![Finding { path: path.into(), line: 1, message }];
    };
    let crossings =
        dependencies(manifest).into_iter().filter(|dependency| !room.may.depend_on(&dependency.name));
    crossings
        .map(|Dependency { line, name }| Finding {
            path: path.into(),
            line,
            message: format!("{folder} must not depend on {name}: {}", room.reason),
        })
        .collect()
}

impl May {
    fn depend_on(&self, name: &str) -> bool {
        match self {
            May::Only(names) => names.contains(&name),
            May::AllBut(names) => !names.contains(&name),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Dependency {
    line: usize,
    name: String,
}

/// Where in a manifest a line stands.
enum Section {
    /// `[dependencies]`, also of one target: each key is a dependency.
    List,
    /// `[dependencies.NAME]`: the keys describe one dependency.
    One,
    Other,
}

/// The dependencies that a manifest declares for its own code. Manifests are regular enough to be read line by line;
/// a renamed dependency counts under its real name too.
fn dependencies(manifest: &str) -> Vec<Dependency> {
    let mut section = Section::Other;
    let mut found = Vec::new();
    for (index, text) in manifest.lines().enumerate() {
        let text = text.split('#').next().unwrap_or_default().trim();
        let mut add = |name: &str| found.push(Dependency { line: index + 1, name: unquoted(name).into() });
        if let Some(header) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let (kind, name) = section_of(header);
            section = kind;
            name.into_iter().for_each(&mut add);
        } else if let Some((key, value)) = text.split_once('=') {
            match section {
                Section::List => {
                    add(key.split('.').next().unwrap_or(key));
                    renamed(value).into_iter().for_each(&mut add);
                }
                Section::One if key.trim() == "package" => add(value),
                Section::One | Section::Other => {}
            }
        }
    }
    found
}

fn section_of(header: &str) -> (Section, Option<&str>) {
    // In `target.'cfg(unix)'.dependencies` the condition may hold dots, so only the end is looked at.
    if header == "dependencies" || header.ends_with(".dependencies") {
        return (Section::List, None);
    }
    match header.rsplit_once('.') {
        Some((list, name)) if list == "dependencies" || list.ends_with(".dependencies") => {
            (Section::One, Some(name))
        }
        Some(_) | None => (Section::Other, None),
    }
}

/// The `rusqlite` in `{ package = "rusqlite", version = "1" }`.
fn renamed(value: &str) -> Option<&str> {
    let (_, after) = value.split_once("package")?;
    after.trim_start().strip_prefix('=')?.split('"').nth(1)
}

fn unquoted(name: &str) -> &str {
    name.trim().trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(manifest: &str) -> Vec<(usize, String)> {
        dependencies(manifest).into_iter().map(|found| (found.line, found.name)).collect()
    }

    /// Every line of the report on one crate that has one dependency.
    fn report(folder: &str, dependency: &str) -> Vec<String> {
        let manifest =
            format!("[package]\nname = \"{folder}\"\n\n[dependencies]\n{dependency}.workspace = true\n");
        let path = format!("crates/{folder}/Cargo.toml");
        check(&path, &manifest).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn every_way_to_write_a_dependency_is_read() {
        let manifest = "\
[package]
name = \"x\"
[dependencies]
serde.workspace = true
jiff = { version = \"1\", features = [
    \"std\",
] } # not = this
\"sha2\" = \"1\"
db = { package = \"rusqlite\", version = \"1\" }
[dependencies.uuid]
version = \"1\"
package = \"uuid2\"
[target.'cfg(target_os = \"linux\")'.dependencies]
tokio = \"1\"
[dev-dependencies]
proptest = \"1\"
[build-dependencies]
cc = \"1\"
";
        let expected = [
            (4, "serde"),
            (5, "jiff"),
            (8, "sha2"),
            (9, "db"),
            (9, "rusqlite"),
            (10, "uuid"),
            (12, "uuid2"),
            (14, "tokio"),
        ];
        assert_eq!(names(manifest), expected.map(|(line, name)| (line, name.to_string())));
    }

    #[test]
    fn each_room_is_held_to_its_row() {
        for (folder, allowed, forbidden) in [
            ("machines", &[][..], &["serde", "wire"][..]),
            ("wire", &["serde", "jiff", "uuid"], &["tokio", "getrandom", "machines"]),
            ("decisions", &["machines", "wire", "sha2"], &["tokio", "getrandom", "jiff", "store"]),
            ("store", &["decisions", "rusqlite", "tokio-postgres"], &["server", "getrandom"]),
            ("server", &["store", "tokio", "getrandom"], &["rusqlite", "tokio-postgres"]),
            ("cli", &["server", "clap"], &["rusqlite", "tokio-postgres"]),
        ] {
            for name in allowed {
                assert_eq!(report(folder, name), Vec::<String>::new());
            }
            for name in forbidden {
                let expected = format!("crates/{folder}/Cargo.toml:5: {folder} must not depend on {name}: ");
                let report = report(folder, name);
                assert!(report.len() == 1 && report[0].starts_with(&expected), "{report:?}");
            }
        }
    }

    #[test]
    fn a_test_may_depend_on_anything() {
        let manifest = "[dev-dependencies]\ntokio = \"1\"\n";
        assert_eq!(check("crates/machines/Cargo.toml", manifest), []);
    }

    #[test]
    fn a_new_crate_must_say_what_it_may_import() {
        let findings = check("crates/attic/Cargo.toml", "[dependencies]\n");
        assert!(findings[0].message.contains("attic has no row"), "{findings:?}");
    }
}
