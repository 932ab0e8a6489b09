//! Where repositories may be: addresses that git is allowed to see.

use crate::Error;

const LENGTH_MAX: usize = 2_000;
const NETWORK: [&str; 4] = ["https://", "http://", "ssh://", "git://"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Network,
    Disk,
}

pub fn check(address: &str, allow_local: bool) -> Result<Place, Error> {
    let refuse =
        |why| Err(Error::Address { address: without_secret(address).escape_debug().to_string(), why });
    if address.is_empty() || address.len() > LENGTH_MAX {
        return refuse("it is empty or too long");
    }
    if address.starts_with('-') || address.contains(char::is_control) {
        return refuse("it begins with `-` or holds a control character");
    }
    if address.starts_with("file:///") || address.starts_with('/') {
        let why =
            "files of the server's own machine are read only if it runs with --allow-local-repositories";
        return if allow_local { Ok(Place::Disk) } else { refuse(why) };
    }
    let host = match NETWORK.iter().find_map(|scheme| address.strip_prefix(scheme)) {
        Some(rest) => rest.split('/').next().unwrap_or_default(),
        None => match address.split_once(':') {
            // As ssh knows it: `git@example.org:project.git`.
            Some((host, path))
                if !path.starts_with(':') && !path.starts_with("//") && !host.contains('/') =>
            {
                host
            }
            Some(_) | None => {
                return refuse("write https://…, http://…, ssh://…, git://… or user@host:path");
            }
        },
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    match host.starts_with('-') || host.is_empty() {
        true => refuse("it names no host"),
        false => Ok(Place::Network),
    }
}

/// The address as it may be shown: who uses it, and with which password, is left out.
pub fn without_secret(address: &str) -> String {
    match address.split_once("://").and_then(|(scheme, rest)| {
        let end = rest.find('/').unwrap_or(rest.len());
        Some((scheme, rest, rest[..end].rfind('@')?))
    }) {
        Some((scheme, rest, at)) => format!("{scheme}://…{}", &rest[at..]),
        None => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_on_the_network_are_taken_and_those_on_the_disk_only_if_allowed() {
        for address in [
            "https://example.org/a.git",
            "http://u:p@example.org/a",
            "ssh://git@example.org:22/a",
            "git://example.org/a",
            "git@example.org:a/b.git",
            "example.org:a",
            "git@example.org:/srv/a.git",
        ] {
            assert_eq!(check(address, false).ok(), Some(Place::Network), "{address}");
        }
        for address in ["/srv/a.git", "file:///srv/a.git"] {
            assert_eq!(check(address, true).ok(), Some(Place::Disk), "{address}");
            assert_eq!(check(address, false).expect_err("off").code(), "address_refused");
        }
    }

    #[test]
    fn addresses_that_run_a_command_or_are_none_are_refused() {
        for address in [
            "",
            "-u",
            "--upload-pack=touch x",
            "ext::sh -c true",
            "fd::17",
            "a",
            "../a",
            "./a:b",
            "file://a",
            "ssh://-oProxyCommand=x/a",
            "ssh://u@-oProxyCommand=x/a",
            "-oProxyCommand=x:a",
            "u@-oProxyCommand=x:a",
            "https:///a",
            "ftp://example.org/a",
            "example.org://a",
            "a\nb:c",
        ] {
            assert!(check(address, true).is_err(), "{address:?}");
        }
    }

    #[test]
    fn a_password_is_not_repeated() {
        let shown = check("ftp://me:secret@example.org/a@b", true).expect_err("refused").to_string();
        assert!(shown.contains("ftp://…@example.org/a@b") && !shown.contains("secret"), "{shown}");
        assert_eq!(without_secret("git@example.org:a"), "git@example.org:a");
    }
}
