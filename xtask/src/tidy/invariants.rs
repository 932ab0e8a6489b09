//! Every test that `docs/invariants.md` names is there: `crate::module::test`, the crate by its folder.

use super::inspect::Finding;

/// A source file of a crate, as its path from the root.
pub struct Source {
    pub path: String,
    pub text: String,
}

pub fn check(path: &str, document: &str, sources: &[Source]) -> Vec<Finding> {
    let lines = document.lines().enumerate();
    let missing = lines.flat_map(|(index, line)| {
        let names = names(line).filter(|name| !sources.iter().any(|source| has(source, name)));
        names.map(move |name| Finding {
            path: path.to_owned(),
            line: index + 1,
            message: format!("no test is called `{name}`"),
        })
    });
    missing.collect()
}

/// What stands between backticks and has a path.
fn names(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|word| word.contains("::"))
}

/// It is marked as a test there, or is one of a list that a macro runs on several stores.
fn has(source: &Source, name: &str) -> bool {
    let Some((module, test)) = name.rsplit_once("::") else { return false };
    if module_of(&source.path).as_deref() != Some(module) {
        return false;
    }
    let Some((before, _)) = source.text.split_once(&format!("fn {test}")) else { return false };
    let attributes = before.rsplit("\n\n").next().unwrap_or_default();
    let is_listed =
        before.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|it| it == test);
    attributes.contains("#[test]") || attributes.contains("#[tokio::test") || is_listed
}

/// `crates/cli/tests/it/e2e/mod.rs` is `cli::e2e`.
fn module_of(path: &str) -> Option<String> {
    let (folder, within) = path.strip_prefix("crates/")?.split_once('/')?;
    let file =
        within.strip_prefix("tests/it/").or_else(|| within.strip_prefix("src/"))?.strip_suffix(".rs")?;
    let module = file.strip_suffix("/mod").unwrap_or(file).replace('/', "::");
    Some(format!("{folder}::{module}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source { path: path.into(), text: text.into() }
    }

    #[test]
    fn a_name_without_its_test_is_found() {
        let sources = [
            source("crates/cli/tests/it/e2e/stops.rs", "#[test]\nfn it_stops() {}\n\nfn it_helps() {}\n"),
            source(
                "crates/store/tests/it/all/mod.rs",
                "on_stores!(memory => [it_keeps]);\n\nasync fn it_keeps() {}\n",
            ),
        ];
        let document = "| `cli::e2e::stops::it_stops`; `store::all::it_keeps` | `a word` |\n\
                        | `cli::e2e::stops::it_helps` | `cli::stops::it_stops` | planted `store::all::gone` |\n";
        let found = check("docs/invariants.md", document, &sources);
        let messages: Vec<_> = found.iter().map(ToString::to_string).collect();
        let missing = ["cli::e2e::stops::it_helps", "cli::stops::it_stops", "store::all::gone"];
        assert_eq!(messages, missing.map(|name| format!("docs/invariants.md:2: no test is called `{name}`")));
    }
}
