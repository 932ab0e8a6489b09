//! `cargo xtask`: the chores of this repository, the same on a laptop and in CI.
//!
//! Exit codes: 0 all well · 1 a check failed · 2 usage · 5 the machine lacks something or an outside program could not
//! run. `test` and `postgres` pass on the code of the command they run.
//!
//! Never: a product rule. What the product promises is tested in the crates; this room only starts things and compares
//! files. Start at `Request`.

mod apt;
mod bench;
mod chaos;
mod check;
mod golden;
mod parts;
mod postgres;
mod schemathesis;
mod soak;
mod tidy;
mod workspace;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::Result;

const USAGE: &str = "\
The chores of this repository.

Usage: cargo xtask <COMMAND>

Commands:
  check               Formatting, clippy, tidy, golden files: what must pass before a commit
  test [-- ARGS…]     All tests, with a private PostgreSQL and what the tests need, installed by apt if it is
                      missing and we are root; ARGS go to `cargo test`
                      (`-- -p store` tests one crate, `-- -- --nocapture` speaks to the test binary);
                      without ARGS, the API is fuzzed afterwards
  schemathesis [-- ARGS…]
                      Fuzz the API of a fresh server against its OpenAPI document (needs python3, and the Python
                      registry the first time); ARGS go to `schemathesis run`
  soak [COLLECTIONS]  The long form of the tests of artifacts: 1,000 collections beside eight who upload and publish
  chaos [--profile short|long] [--seed N] [--older PROGRAM]
                      `deltaci verify` on SQLite, with two servers on one PostgreSQL and, as root, with runners in
                      network namespaces and on a disk that is full again and again; long: 2,000 kills, the
                      largest models and 60,000 simulated systems (an hour, 8 GiB)
  postgres -- CMD…    Run CMD with a private PostgreSQL
  bench [PART]        The benchmarks, beside peers: `kernel` (graphile-worker, needs Node), `protocol` (Buildbot,
                      needs Python), `artifacts` (docker-registry); all without PART
  tidy                The boundaries between rooms: imports, clock, randomness, database drivers, async
  golden [--check]    Write the generated files; with --check, only say which are out of date

Environment:
  DELTACI_TEST_POSTGRES  For `test` and `postgres`: a server to use instead of a private one, as a URL.
                         The command they run finds the URL in the same variable.
  TMPDIR                 Where the private PostgreSQL keeps its folder until the end (default: /tmp)
";

const USAGE_ERROR: u8 = 2;
const INFRASTRUCTURE_ERROR: u8 = 5;

#[derive(Debug, PartialEq, Eq)]
enum Request {
    Help,
    Check,
    Test { arguments: Vec<OsString> },
    Schemathesis { arguments: Vec<OsString> },
    Postgres { program: OsString, arguments: Vec<OsString> },
    Soak { collections: u32 },
    Chaos { profile: chaos::Profile, seed: u64, older: Option<PathBuf> },
    Bench(&'static [bench::Part]),
    Tidy,
    Golden(golden::Mode),
}

impl Request {
    /// Reads the words after `cargo xtask`; the error says what was not understood.
    fn parse(words: &[OsString]) -> Result<Request, String> {
        let Some((command, rest)) = words.split_first() else {
            return Err("a command is missing".into());
        };
        // Everything after `--` belongs to somebody else, also a `--help`.
        let split = rest.iter().position(|word| word == "--").unwrap_or(rest.len());
        let (ours, theirs) = (&rest[..split], rest.get(split + 1..).unwrap_or_default());
        if is_help(command) || ours.iter().any(is_help) {
            return Ok(Request::Help);
        }
        let ours: Vec<_> = ours.iter().map(|word| word.to_string_lossy()).collect();
        let ours: Vec<_> = ours.iter().map(|word| word.as_ref()).collect();
        match (command.to_string_lossy().as_ref(), ours.as_slice(), theirs) {
            ("check", [], []) => Ok(Request::Check),
            ("bench", [], []) => Ok(Request::Bench(bench::Part::ALL)),
            ("bench", ["kernel"], []) => Ok(Request::Bench(&[bench::Part::Kernel])),
            ("bench", ["protocol"], []) => Ok(Request::Bench(&[bench::Part::Protocol])),
            ("bench", ["artifacts"], []) => Ok(Request::Bench(&[bench::Part::Artifacts])),
            ("soak", [], []) => Ok(Request::Soak { collections: soak::USUAL }),
            ("soak", [count], []) => {
                let collections =
                    count.parse().map_err(|_| format!("`{count}` is no number of collections"))?;
                Ok(Request::Soak { collections })
            }
            ("chaos", flags, []) => chaos_of(flags),
            ("tidy", [], []) => Ok(Request::Tidy),
            ("golden", [], []) => Ok(Request::Golden(golden::Mode::Write)),
            ("golden", ["--check"], []) => Ok(Request::Golden(golden::Mode::Compare)),
            ("test", [], arguments) => Ok(Request::Test { arguments: arguments.to_vec() }),
            ("schemathesis", [], arguments) => Ok(Request::Schemathesis { arguments: arguments.to_vec() }),
            ("postgres", [], [program, arguments @ ..]) => {
                Ok(Request::Postgres { program: program.clone(), arguments: arguments.to_vec() })
            }
            ("postgres", [], []) => Err("`postgres` needs a command after `--`".into()),
            (
                "check" | "bench" | "soak" | "chaos" | "tidy" | "golden" | "test" | "schemathesis"
                | "postgres",
                _,
                _,
            ) => Err(format!("`{}` does not take these arguments", command.to_string_lossy())),
            (unknown, _, _) => Err(format!("there is no command `{unknown}`")),
        }
    }

    /// Does it; the number is the exit code.
    fn perform(self) -> Result<u8> {
        match self {
            Request::Help => {
                print!("{USAGE}");
                Ok(0)
            }
            Request::Check => check::run(),
            Request::Test { arguments } => test(&arguments),
            Request::Schemathesis { arguments } => schemathesis::run(schemathesis::Build::Alone, &arguments),
            Request::Postgres { program, arguments } => {
                let mut command = Command::new(program);
                command.args(arguments);
                postgres::run_with(command)
            }
            Request::Soak { collections } => soak::run(collections),
            Request::Chaos { profile, seed, older } => chaos::run(profile, seed, older.as_deref()),
            Request::Bench(parts) => bench::run(parts),
            Request::Tidy => tidy::run(),
            Request::Golden(mode) => golden::run(mode),
        }
    }
}

fn chaos_of(flags: &[&str]) -> Result<Request, String> {
    let (mut profile, mut seed, mut older) = (chaos::Profile::Short, 1, None);
    let (pairs, rest) = flags.as_chunks::<2>();
    for pair in pairs {
        match pair {
            ["--profile", "short"] => profile = chaos::Profile::Short,
            ["--profile", "long"] => profile = chaos::Profile::Long,
            ["--seed", number] => seed = number.parse().map_err(|_| format!("`{number}` is no seed"))?,
            ["--older", program] => older = Some(PathBuf::from(program)),
            [flag, word] => return Err(format!("`chaos` does not take `{flag} {word}`")),
        }
    }
    if rest.is_empty() {
        Ok(Request::Chaos { profile, seed, older })
    } else {
        Err("a flag has no value".into())
    }
}

/// Whoever names tests wants those and nothing else; without a name, everything is tested.
fn test(arguments: &[OsString]) -> Result<u8> {
    parts::provide(arguments.is_empty())?;
    let code = postgres::run_with(workspace::cargo_test(arguments)?)?;
    if code != 0 || !arguments.is_empty() {
        return Ok(code);
    }
    schemathesis::run(schemathesis::Build::WithTests, &[])
}

fn is_help(word: &OsString) -> bool {
    word == "--help" || word == "-h" || word == "help"
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let request = match Request::parse(&words) {
        Ok(request) => request,
        Err(problem) => {
            eprintln!("error: {problem}\n\n{USAGE}");
            return ExitCode::from(USAGE_ERROR);
        }
    };
    match request.perform() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(INFRASTRUCTURE_ERROR)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Request, String> {
        Request::parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn each_command_is_understood() {
        assert_eq!(parse("check"), Ok(Request::Check));
        assert_eq!(parse("bench"), Ok(Request::Bench(bench::Part::ALL)));
        assert_eq!(parse("bench protocol"), Ok(Request::Bench(&[bench::Part::Protocol])));
        assert_eq!(parse("soak"), Ok(Request::Soak { collections: 1_000 }));
        assert_eq!(parse("soak 20"), Ok(Request::Soak { collections: 20 }));
        let (profile, older) = (chaos::Profile::Short, None);
        assert_eq!(parse("chaos"), Ok(Request::Chaos { profile, seed: 1, older: older.clone() }));
        let profile = chaos::Profile::Long;
        assert_eq!(parse("chaos --profile long --seed 7"), Ok(Request::Chaos { profile, seed: 7, older }));
        assert_eq!(parse("tidy"), Ok(Request::Tidy));
        assert_eq!(parse("golden"), Ok(Request::Golden(golden::Mode::Write)));
        assert_eq!(parse("golden --check"), Ok(Request::Golden(golden::Mode::Compare)));
        assert_eq!(parse("test"), Ok(Request::Test { arguments: vec![] }));
        assert_eq!(parse("schemathesis"), Ok(Request::Schemathesis { arguments: vec![] }));
    }

    #[test]
    fn what_follows_two_dashes_is_passed_on_untouched() {
        assert_eq!(
            parse("test -- -p store -- --help"),
            Ok(Request::Test { arguments: ["-p", "store", "--", "--help"].map(OsString::from).to_vec() })
        );
        assert_eq!(
            parse("postgres -- psql --help"),
            Ok(Request::Postgres { program: "psql".into(), arguments: vec!["--help".into()] })
        );
    }

    #[test]
    fn help_is_help_everywhere() {
        for line in ["--help", "-h", "help", "test --help", "golden --check -h"] {
            assert_eq!(parse(line), Ok(Request::Help), "{line}");
        }
    }

    #[test]
    fn anything_else_is_a_usage_error() {
        for line in [
            "",
            "build",
            "check --fast",
            "bench all",
            "test -p store",
            "tidy -- x",
            "soak long",
            "chaos long",
            "chaos --profile",
            "schemathesis x",
            "postgres",
            "postgres psql",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
