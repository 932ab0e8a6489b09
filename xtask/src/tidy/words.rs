//! What a room's code may name: the clock, randomness, the database drivers and async, each kept to its place.

use super::code::code_only;
use super::inspect::Finding;

/// Words that are kept to a few places.
struct Boundary {
    words: &'static [&'static str],
    forbidden: fn(path: &str) -> bool,
    reason: &'static str,
}

const BOUNDARIES: &[Boundary] = &[
    Boundary {
        words: &["Instant::now", "SystemTime::now", "Timestamp::now", "Zoned::now", "clock_gettime"],
        forbidden: |path| !CLOCKS.contains(&path) && !is_bench(path) && !is_test(path),
        reason: "the clock is read in clock.rs of server and of runner; elsewhere time is an argument",
    },
    Boundary {
        words: &["getrandom", "Uuid::new_v4", "Uuid::now_v7", "thread_rng", "rand::"],
        forbidden: |path| !MINTS.contains(&path) && !is_test(path),
        reason: "randomness is made in mint.rs of server and of runner; elsewhere it is an argument",
    },
    Boundary {
        words: &["rusqlite", "tokio_postgres"],
        forbidden: |path| !path.starts_with("crates/store/") && !is_bench(path),
        reason: "the database drivers belong to crates/store",
    },
    Boundary {
        words: &["async", ".await", "tokio"],
        forbidden: |path| PURE.iter().any(|room| path.starts_with(room)),
        reason: "this room is pure: whoever calls it does the waiting",
    },
];

/// The runner has a clock and a mint of its own: it is another program, and shares nothing but messages with the server.
const CLOCKS: [&str; 2] = ["crates/server/src/clock.rs", "crates/runner/src/clock.rs"];
const MINTS: [&str; 2] = ["crates/server/src/mint.rs", "crates/runner/src/mint.rs"];

const PURE: [&str; 3] = ["crates/machines/", "crates/wire/", "crates/decisions/"];

/// The benchmark measures, so it needs a clock; and it compares us with the bare drivers.
fn is_bench(path: &str) -> bool {
    path.starts_with("crates/cli/src/bench/")
}

fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests")
}

/// Looks for words where they may not stand. Comments and texts may name anything.
pub fn check(path: &str, source: &str) -> Vec<Finding> {
    let boundaries: Vec<_> = BOUNDARIES.iter().filter(|boundary| (boundary.forbidden)(path)).collect();
    let mut findings = Vec::new();
    for (index, line) in code_only(source).lines().enumerate() {
        for Boundary { words, reason, .. } in &boundaries {
            for word in words.iter().filter(|word| names(line, word)) {
                let message = format!("`{word}` may not be named here: {reason}");
                findings.push(Finding { path: path.into(), line: index + 1, message });
            }
        }
    }
    findings
}

/// Whether the line holds the word as a whole: `rand::` is not in `brand::`, nor `Instant::now` in `Instant::nowhere`.
fn names(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(start, _)| {
        let joined_before = joins(line[..start].chars().next_back(), word.chars().next());
        let joined_after = joins(word.chars().next_back(), line[start + word.len()..].chars().next());
        !joined_before && !joined_after
    })
}

/// Two neighbours that belong to one identifier.
fn joins(left: Option<char>, right: Option<char>) -> bool {
    let part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    part(left) && part(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of code fires in each of the forbidden files, exactly once, and in none of the allowed ones.
    fn check_line(line: &str, forbidden: &[&str], allowed: &[&str]) {
        let source = format!("//! Door sign.\n{line}\n");
        for path in forbidden {
            let findings = check(path, &source);
            assert_eq!(findings.len(), 1, "{line} in {path}: {findings:?}");
            assert_eq!((findings[0].path.as_str(), findings[0].line), (*path, 2));
        }
        for path in allowed {
            assert_eq!(check(path, &source), [], "{line}");
        }
    }

    #[test]
    fn the_clock_is_read_in_one_place() {
        let elsewhere =
            ["crates/server/src/perform.rs", "crates/store/src/lib.rs", "crates/decisions/src/lib.rs"];
        let places =
            ["crates/server/src/clock.rs", "crates/cli/src/bench/run.rs", "crates/store/tests/it/main.rs"];
        for line in [
            "let t = Instant::now();",
            "let t = std::time::SystemTime::now();",
            "let t = jiff::Timestamp::now();",
            "let t = jiff::Zoned::now();",
            "let t = given.unwrap_or_else(Instant::now);",
        ] {
            check_line(line, &elsewhere, &places);
        }
    }

    #[test]
    fn randomness_comes_from_the_mint() {
        let elsewhere =
            ["crates/server/src/api/mod.rs", "crates/cli/src/bench/run.rs", "crates/wire/src/ids.rs"];
        let places = ["crates/server/src/mint.rs", "crates/server/tests/it/main.rs"];
        for line in [
            "getrandom::fill(&mut bytes);",
            "let id = Uuid::new_v4();",
            "let id = Uuid::now_v7();",
            "let mut source = thread_rng();",
            "let n = rand::random();",
        ] {
            check_line(line, &elsewhere, &places);
        }
    }

    #[test]
    fn the_drivers_stay_in_the_store() {
        let elsewhere =
            ["crates/server/src/perform.rs", "crates/cli/src/main.rs", "crates/server/tests/it/main.rs"];
        let places = [
            "crates/store/src/sqlite/mod.rs",
            "crates/store/tests/it/main.rs",
            "crates/cli/src/bench/raw.rs",
        ];
        check_line("use rusqlite::Connection;", &elsewhere, &places);
        check_line("let client: tokio_postgres::Client;", &elsewhere, &places);
    }

    #[test]
    fn pure_rooms_do_not_wait() {
        let pure = ["crates/machines/src/lib.rs", "crates/wire/src/lib.rs", "crates/decisions/src/lib.rs"];
        let others = ["crates/store/src/lib.rs", "crates/server/src/perform.rs", "crates/cli/src/main.rs"];
        for line in ["async fn f() {}", "let x = async move { 1 };", "let x = f().await;", "tokio::spawn(f);"]
        {
            check_line(line, &pure, &others);
        }
    }

    #[test]
    fn only_whole_words_count() {
        for line in [
            "brand::new();",
            "let operand = a;",
            "Instant::nowhere();",
            "let asynchronous = 1;",
            "x.awaited();",
        ] {
            check_line(line, &[], &["crates/decisions/src/lib.rs"]);
        }
    }

    #[test]
    fn comments_and_texts_may_name_anything() {
        for line in [
            "// rusqlite does this",
            "/* Instant::now() */",
            "let s = \"tokio::spawn\";",
            "let s = r#\"async\"#;",
        ] {
            check_line(line, &[], &["crates/decisions/src/lib.rs"]);
        }
    }
}
