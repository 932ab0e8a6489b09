//! `deltaci artifact pull`: a version, some of it, or one blob, into a folder.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use serde_json::json;
use wire::Digest;

use super::download::{Wanted, download};
use super::named::{Named, VersionName};
use crate::api::{Connection, Server};
use crate::database::block_on;
use crate::output::{self, Exit, Problem, usage};
use crate::view::bars::Bars;
use crate::view::screen::one_line;
use crate::view::time::size;

const FILES_AT_A_TIME: usize = 4;

#[derive(clap::Args)]
pub struct Args {
    /// A version such as app@1.2.0, or a blob by its digest
    #[arg(value_name = "PACKAGE@VERSION|sha256:…")]
    named: Named,
    /// Only this file of the version, or what is in this folder of it
    path: Option<String>,
    /// Where to put it
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    output: PathBuf,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Serialize)]
struct Pulled {
    path: String,
    digest: Digest,
    length: u64,
    file: PathBuf,
    /// Bytes that an earlier try had brought.
    resumed_from: u64,
}

pub fn run(args: &Args, json: bool) -> Result<ExitCode> {
    block_on(async {
        let server = args.connection.open_to_read().await?;
        let wanted = wanted(&server, args).await?;
        let bars = Bars::new(wanted.iter().map(|(path, _)| path.as_str()), json);
        let pulling =
            wanted.into_iter().map(|(path, wanted)| pull(&server, path, wanted, &args.output, &bars));
        let pulled = stream::iter(pulling).buffer_unordered(FILES_AT_A_TIME);
        let mut files: Vec<Pulled> = pulled.try_collect().await?;
        files.sort_by(|one, other| one.path.cmp(&other.path));
        if json {
            output::json(&json!({ "files": files }))?;
        } else {
            for file in &files {
                output::line(one_line(&file.file.display().to_string()))?;
            }
        }
        Ok(Exit::Success.into())
    })
}

async fn pull(server: &Server, path: String, wanted: Wanted, folder: &Path, bars: &Bars) -> Result<Pulled> {
    let file = folder.join(&path);
    let digest = wanted.digest;
    let got = download(server, &wanted, &file, &path, bars).await?;
    let note = match (got.was_there, got.resumed_from) {
        (true, _) => "was there already".to_owned(),
        (false, 0) => String::new(),
        (false, from) => format!("went on after {}", size(from)),
    };
    bars.done(&path, got.length, &note);
    Ok(Pulled { path, digest, length: got.length, file, resumed_from: got.resumed_from })
}

/// By the path they get. All of them are checked before the first is asked for.
async fn wanted(server: &Server, args: &Args) -> Result<Vec<(String, Wanted)>> {
    let name = match &args.named {
        Named::Blob(_) if args.path.is_some() => return Err(usage("a blob has no paths: leave PATH out")),
        Named::Blob(digest) => return Ok(vec![(digest.hex(), Wanted { digest: *digest, length: None })]),
        Named::Version(name) => name,
    };
    let VersionName { package, version } = name;
    let version = server.version(package, version).await?;
    let chosen = version.entries.iter().filter(|entry| is_chosen(&entry.path, args.path.as_deref()));
    let wanted: Vec<_> = chosen
        .map(|entry| (entry.path.clone(), Wanted { digest: entry.digest, length: Some(entry.length) }))
        .collect();
    if wanted.is_empty() {
        let what = args.path.as_deref().unwrap_or("any file");
        return Err(usage(format!("{name} does not hold {what}; see `deltaci artifact list {name}`")));
    }
    let mut seen = BTreeSet::new();
    for (path, _) in &wanted {
        if !is_safe(path) || !seen.insert(path) {
            let message = format!(
                "{name} holds the path `{}`, which leads out of a folder or is there twice: nothing was pulled",
                one_line(path)
            );
            return Err(Problem { exit: Exit::Failed, message }.into());
        }
    }
    Ok(wanted)
}

fn is_chosen(path: &str, asked: Option<&str>) -> bool {
    let Some(asked) = asked.map(|asked| asked.trim_end_matches('/')) else { return true };
    path == asked || path.strip_prefix(asked).is_some_and(|rest| rest.starts_with('/'))
}

/// Below the folder it is put in, on any system: what somebody else published decides nothing about our files.
fn is_safe(path: &str) -> bool {
    let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    let parts = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    plain && parts && !path.contains(['\\', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_its_folder() {
        for path in ["a", "a/b.txt", "a/..b/c", ".hidden", "a b/ä"] {
            assert!(is_safe(path), "{path}");
        }
        for path in
            ["", "/etc/passwd", "..", "../a", "a/../../b", "a/..", "a//b", "./a", "a/", "a\\..\\b", "a\0b"]
        {
            assert!(!is_safe(path), "{path}");
        }
    }

    #[test]
    fn a_folder_is_chosen_with_all_that_is_in_it() {
        for (path, asked, chosen) in [
            ("a/b", None, true),
            ("a/b", Some("a"), true),
            ("a/b", Some("a/"), true),
            ("ab", Some("a"), false),
            ("a/b", Some("a/b"), true),
        ] {
            assert_eq!(is_chosen(path, asked), chosen, "{path} of {asked:?}");
        }
    }
}
