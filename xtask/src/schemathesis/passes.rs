//! The passes: a fresh server each, seeded, and fuzzed with one kind of token.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};

use super::environment;
use super::server::{ADMIN_TOKEN, Server};
use crate::workspace::{cargo, root, run_to_end, target};

/// What the seed prints before each name, and the environment of the hooks has.
const PREFIX: &str = "DELTACI_FUZZ_";

/// Who calls, the name under which the seed prints their token (the admin's is ours), and which routes.
struct Pass {
    name: &'static str,
    token: Option<&'static str>,
    arguments: &'static [&'static str],
}

/// An admin may call everything. The others call what is theirs: that the rest is closed to them, the server's own
/// tests show for every route. Routes are excluded, not included, since what the caller includes would be added to them.
const PASSES: [Pass; 3] = [
    Pass { name: "admin", token: None, arguments: &[] },
    Pass {
        name: "tenant",
        token: Some("TENANT_TOKEN"),
        arguments: &["--exclude-path-regex", r"^(?!/v1/tenants/\{tenant\})"],
    },
    Pass {
        name: "runner",
        token: Some("RUNNER_TOKEN"),
        arguments: &["--exclude-path-regex", "^(?!/v1/runner/)"],
    },
];

/// How the server's program comes to be.
pub enum Build {
    /// As quickly as possible.
    Alone,
    /// As `cargo test` over everything has just built it: other features would build it again.
    WithTests,
}

/// Zero when no pass found anything. `extra` goes to schemathesis in each pass.
pub fn run(build: Build, extra: &[OsString]) -> Result<u8> {
    let words: &[&str] = match build {
        Build::Alone => &["build", "--locked", "--package", "deltaci"],
        Build::WithTests => &["build", "--locked", "--workspace", "--bins", "--tests"],
    };
    let code = run_to_end(&mut cargo(words)?)?;
    if code != 0 {
        return Ok(code);
    }
    let (root, target) = (root()?, target()?);
    let fuzzer = Fuzzer {
        deltaci: target.join("debug/deltaci"),
        settings: root.join("xtask/fuzz"),
        folder: target.join("schemathesis"),
        programs: environment::programs(
            &root.join("xtask/fuzz/requirements.txt"),
            &target.join("schemathesis"),
        )?,
    };
    let begun = Instant::now();
    let found = std::thread::scope(|scope| {
        // The first takes about as long as the others together, and a fuzzer keeps one core busy.
        let (first, others) = (&PASSES[..1], &PASSES[1..]);
        let beside = scope.spawn(|| fuzzer.run_all(others, extra));
        let mut found = fuzzer.run_all(first, extra)?;
        found.extend(beside.join().map_err(|_| anyhow!("a thread panicked"))??);
        Ok::<_, anyhow::Error>(found)
    })?;
    let failed: Vec<_> = found.into_iter().filter(|(_, code)| *code != 0).map(|(name, _)| name).collect();
    let seconds = begun.elapsed().as_secs();
    if failed.is_empty() {
        println!("schemathesis: {} passes in {seconds} s, nothing found", PASSES.len());
        return Ok(0);
    }
    println!(
        "schemathesis: something was found with these tokens: {}. The lines after `Reproduce with` above show it; \
         `cargo xtask schemathesis -- --include-name 'METHOD /path'` repeats one operation, with the same seed",
        failed.join(", ")
    );
    Ok(1)
}

struct Fuzzer {
    deltaci: PathBuf,
    /// Where seed, hooks and configuration are.
    settings: PathBuf,
    /// Where schemathesis may leave its files.
    folder: PathBuf,
    programs: PathBuf,
}

impl Fuzzer {
    /// One after the other: their names and exit codes.
    fn run_all(&self, passes: &[Pass], extra: &[OsString]) -> Result<Vec<(&'static str, u8)>> {
        passes.iter().map(|pass| Ok((pass.name, self.run(pass, extra)?))).collect()
    }

    fn run(&self, pass: &Pass, extra: &[OsString]) -> Result<u8> {
        let server = Server::start(&self.deltaci, pass.name)?;
        let seeds = self.seed(&server)?;
        let token = match pass.token {
            None => ADMIN_TOKEN.to_owned(),
            Some(name) => {
                seeds.iter().find(|(known, _)| known == name).context("no token was made")?.1.clone()
            }
        };
        let configuration = self.configure(pass, &seeds, token)?;
        let mut schemathesis = Command::new(self.programs.join("schemathesis"));
        schemathesis.arg("--config-file").arg(configuration).arg("run");
        schemathesis.arg(format!("{}/openapi.json", server.url)).args(pass.arguments).args(extra);
        schemathesis.envs(seeds.into_iter().map(|(name, value)| (format!("{PREFIX}{name}"), value)));
        schemathesis.env("PYTHONPATH", &self.settings).env("PYTHONDONTWRITEBYTECODE", "1");
        let output = schemathesis.current_dir(&self.folder).output().context("cannot start schemathesis")?;
        let mut said = format!("\nWith a token of kind {}\n", pass.name);
        said.push_str(&String::from_utf8_lossy(&output.stdout));
        said.push_str(&String::from_utf8_lossy(&output.stderr));
        // What was asked for in particular may be in the other passes.
        let empty = !extra.is_empty() && said.contains(" 0 selected /");
        let passed = output.status.success() || empty;
        if !passed {
            said.push_str(&format!("What the server said\n{}", server.log()));
        }
        print!("{said}"); // in one piece: two passes run beside each other
        Ok(u8::from(!passed))
    }

    /// What was made on the server, by name.
    fn seed(&self, server: &Server) -> Result<Vec<(String, String)>> {
        let mut seed = Command::new(self.programs.join("python3"));
        seed.arg(self.settings.join("seed.py")).stderr(Stdio::inherit());
        seed.env("DELTACI_SERVER", &server.url).env("DELTACI_ADMIN_TOKEN", ADMIN_TOKEN);
        let output = seed.output().context("cannot start the seed")?;
        if !output.status.success() {
            bail!("the server could not be seeded; the reason is above, and it said:\n{}", server.log());
        }
        let text = String::from_utf8(output.stdout).context("the seed printed something else than text")?;
        let named = |line: &str| {
            let (name, value) = line.strip_prefix(PREFIX)?.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        };
        Ok(text.lines().filter_map(named).collect())
    }

    /// The configuration with its blanks filled in. Schemathesis would do it itself, but not in dictionaries.
    fn configure(&self, pass: &Pass, seeds: &[(String, String)], token: String) -> Result<PathBuf> {
        let text = fs::read_to_string(self.settings.join("schemathesis.toml"))
            .context("cannot read schemathesis.toml")?;
        let path = self.folder.join(format!("{}.toml", pass.name));
        write_filled(&path, &text, seeds.iter().chain([&("TOKEN".to_owned(), token)]))?;
        Ok(path)
    }
}

fn write_filled<'s>(
    path: &Path,
    text: &str,
    blanks: impl Iterator<Item = &'s (String, String)>,
) -> Result<()> {
    let filled =
        blanks.fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${{{name}}}"), value));
    if let Some((_, rest)) = filled.split_once("${") {
        bail!(
            "schemathesis.toml asks for something that seed.py does not make: {}",
            &rest[..rest.find('}').unwrap_or(0)]
        );
    }
    fs::write(path, filled).with_context(|| format!("cannot write {}", path.display()))
}
