//! What this machine can do, as the orchestrator matches it: `os:…`, `arch:…`, `toolchain:…`, `executor:…`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::keeper::Choice;

/// A toolchain, and the programs that show it is here: any of them does.
const TOOLCHAINS: &[(&str, &[&str])] = &[
    ("docker", &["docker", "podman"]),
    ("dotnet", &["dotnet"]),
    ("go", &["go"]),
    ("java", &["javac"]),
    ("node", &["node"]),
    ("python", &["python3"]),
    ("rust", &["cargo"]),
];

const TAG_BYTES_MAX: usize = 128;

/// What was found here, and what the operator adds.
pub fn capabilities(path: Option<&OsStr>, choice: Choice, added: &[String]) -> Vec<String> {
    let mut tags: BTreeSet<String> = added.iter().cloned().collect();
    tags.insert(format!("os:{}", std::env::consts::OS));
    tags.insert(format!("arch:{}", std::env::consts::ARCH));
    let here = |programs: &[&str]| programs.iter().any(|program| is_on_path(path, program));
    let toolchains = TOOLCHAINS.iter().filter(|(_, programs)| here(programs));
    tags.extend(toolchains.map(|(name, _)| format!("toolchain:{name}")));
    let executors: &[&str] = match choice {
        Choice::Auto => &["process", "sandbox", "docker"],
        Choice::Process => &["process"],
        Choice::Sandbox => &["sandbox"],
        Choice::Docker => &["docker"],
    };
    for executor in executors {
        let found = match *executor {
            "sandbox" => here(&["bwrap"]),
            "docker" => here(&["docker", "podman"]),
            _ => true,
        };
        if found {
            tags.insert(format!("executor:{executor}"));
        }
    }
    tags.into_iter().collect()
}

/// A tag as an operator gives it: `key:value`.
pub fn parse_tag(text: &str) -> Result<String, String> {
    let shaped = text.split_once(':').is_some_and(|(key, value)| !key.is_empty() && !value.is_empty());
    let plain = text.len() <= TAG_BYTES_MAX && text.bytes().all(|byte| byte.is_ascii_graphic());
    if shaped && plain {
        return Ok(text.into());
    }
    Err(format!("`{text}` is no capability: write KEY:VALUE without spaces, such as toolchain:rust"))
}

fn is_on_path(path: Option<&OsStr>, program: &str) -> bool {
    let folders = path.map(std::env::split_paths).into_iter().flatten();
    folders.map(|folder: PathBuf| folder.join(program)).any(|file| {
        file.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_the_path_is_offered_and_the_operator_adds() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, mode) in [("cargo", 0o755), ("node", 0o644), ("bwrap", 0o755)] {
            let file = folder.path().join(name);
            std::fs::write(&file, "").expect("a file");
            std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).expect("a mode");
        }
        let found = capabilities(
            Some(folder.path().as_os_str()),
            Choice::Auto,
            &["gpu:none".into(), "os:linux".into()],
        );
        let arch = format!("arch:{}", std::env::consts::ARCH);
        let expected =
            [&arch, "executor:process", "executor:sandbox", "gpu:none", "os:linux", "toolchain:rust"];
        assert_eq!(found, expected);
        assert_eq!(capabilities(None, Choice::Docker, &[]), [&arch, "os:linux"]);
    }

    #[test]
    fn a_tag_has_a_key_and_a_value() {
        for good in ["a:b", "toolchain:rust:1.92"] {
            assert_eq!(parse_tag(good).as_deref(), Ok(good));
        }
        for bad in ["", "a", ":b", "a:", "a b:c"] {
            assert!(parse_tag(bad).is_err(), "{bad}");
        }
    }
}
