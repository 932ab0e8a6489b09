//! Where a message goes, from the text of its address; and which addresses this server takes.

use std::net::{IpAddr, SocketAddr};

use hyper::Uri;

use crate::outbox::address::is_public;
use crate::outbox::resolve::{PRIVATE, Resolver};

/// What the operator allows.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// The server's own NATS, for `nats:SUBJECT`.
    pub nats: Option<String>,
    pub allow_private: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Http(Uri),
    /// A subject of the server's own NATS.
    OwnNats {
        subject: String,
    },
    Nats {
        host: String,
        port: u16,
        subject: String,
    },
    /// The server's log.
    Log,
}

/// Who named the address. A job is not trusted with what is the operator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy {
    Subscription,
    Job,
}

const URL_BYTES_MAX: usize = 2_048;
const NATS_PORT: u16 = 4_222;
const SUBJECT_BYTES_MAX: usize = 255;

impl Rules {
    pub fn resolver(&self) -> Resolver {
        Resolver { allow_private: self.allow_private }
    }

    /// Whether a subscription may have this address. Names are looked up only when something is delivered.
    pub fn check(&self, url: &str) -> Result<(), String> {
        self.target(url, NamedBy::Subscription).map(drop)
    }

    pub fn target(&self, url: &str, named_by: NamedBy) -> Result<Target, String> {
        if url.len() > URL_BYTES_MAX {
            return Err(format!("at most {URL_BYTES_MAX} bytes"));
        }
        let target = parse(url)?;
        match (&target, named_by) {
            (Target::OwnNats { .. } | Target::Log, NamedBy::Job) => {
                return Err("a job may name http://, https:// and nats:// addresses".into());
            }
            (Target::OwnNats { .. }, NamedBy::Subscription) if self.nats.is_none() => {
                return Err("this server has no NATS: it would have to run with --nats".into());
            }
            (Target::Http(uri), _) => self.check_host(uri.host().unwrap_or_default())?,
            (Target::Nats { host, .. }, _) => self.check_host(host)?,
            (Target::OwnNats { .. } | Target::Log, NamedBy::Subscription) => {}
        }
        Ok(target)
    }

    /// A literal is not looked up, so it is checked here; the resolver checks what a name turns out to be.
    fn check_host(&self, host: &str) -> Result<(), String> {
        if self.allow_private {
            return Ok(());
        }
        let is_local = host.eq_ignore_ascii_case("localhost") || host.to_lowercase().ends_with(".localhost");
        match literal(host) {
            Some(address) if !is_public(address) => Err(PRIVATE.into()),
            None if is_local => Err(PRIVATE.into()),
            Some(_) | None => Ok(()),
        }
    }

    /// Addresses of a NATS server that a subscription or a job named, each checked.
    pub async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        self.resolver().resolve(bare, port).await.map_err(|error| error.to_string())
    }
}

fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

fn parse(url: &str) -> Result<Target, String> {
    const EXPECTED: &str = "expected http://…, https://…, nats://HOST:PORT/SUBJECT, nats:SUBJECT or log:";
    let (scheme, rest) = url.split_once(':').ok_or(EXPECTED)?;
    match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" => http(url).map(Target::Http),
        "nats" => match rest.strip_prefix("//") {
            Some(rest) => nats(rest),
            None => Ok(Target::OwnNats { subject: subject(rest)? }),
        },
        "log" => Ok(Target::Log),
        _ => Err(EXPECTED.into()),
    }
}

fn http(url: &str) -> Result<Uri, String> {
    let uri: Uri = url.parse().map_err(|_| "not a URL")?;
    let authority = uri.authority().filter(|it| !it.host().is_empty()).ok_or("a URL needs a host")?;
    if authority.as_str().contains('@') {
        return Err("a URL with a user or password: use the secret, deliveries are signed with it".into());
    }
    Ok(uri)
}

fn nats(rest: &str) -> Result<Target, String> {
    let (authority, path) = rest.split_once('/').ok_or("a subject is missing: nats://HOST:PORT/SUBJECT")?;
    let uri: Uri = format!("nats://{authority}").parse().map_err(|_| "not a URL")?;
    let host = uri.host().filter(|host| !host.is_empty()).ok_or("a URL needs a host")?;
    if authority.contains('@') {
        return Err("a URL with a user or password: use the server's own NATS, nats:SUBJECT".into());
    }
    Ok(Target::Nats { host: host.into(), port: uri.port_u16().unwrap_or(NATS_PORT), subject: subject(path)? })
}

/// One that can be published to, and is none of those with which NATS itself is managed.
fn subject(text: &str) -> Result<String, String> {
    let is_letter = |letter: char| letter.is_ascii_graphic() && !matches!(letter, '*' | '>');
    let sound = (1..=SUBJECT_BYTES_MAX).contains(&text.len())
        && text.chars().all(is_letter)
        && text.split('.').all(|token| !token.is_empty());
    if !sound {
        return Err("not a subject: tokens joined by dots, without wildcards or spaces".into());
    }
    if text.starts_with(['$', '_']) {
        return Err("subjects that begin with $ or _ belong to NATS itself".into());
    }
    Ok(text.into())
}

/// An address as people may see it: without user, password and query.
pub fn shown(url: &str) -> String {
    let without_query = url.split(['?', '#']).next().unwrap_or("");
    let Some((scheme, rest)) = without_query.split_once("://") else { return without_query.into() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(allow_private: bool) -> Rules {
        Rules { nats: Some("nats://broker".into()), allow_private }
    }

    #[test]
    fn each_kind_of_address_is_understood() {
        let target = |url: &str| rules(true).target(url, NamedBy::Subscription).unwrap();
        assert!(matches!(target("https://example.org/x?y=1"), Target::Http(_)));
        assert!(matches!(target("HTTP://127.0.0.1:80/"), Target::Http(_)));
        assert_eq!(target("nats:a.b"), Target::OwnNats { subject: "a.b".into() });
        let expected = Target::Nats { host: "broker".into(), port: 4222, subject: "a".into() };
        assert_eq!(target("nats://broker/a"), expected);
        let expected = Target::Nats { host: "[::1]".into(), port: 7, subject: "a.b".into() };
        assert_eq!(target("nats://[::1]:7/a.b"), expected);
        assert_eq!(target("log:"), Target::Log);
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for url in [
            "",
            "example.org",
            "ftp://example.org",
            "file:///etc/passwd",
            "http://",
            "https:///path",
            "http:/x",
            "http://a b/",
            "https://user:pass@example.org/",
            "nats:",
            "nats:a b",
            "nats:a.*",
            "nats:a.>",
            "nats:a..b",
            "nats:$JS.API.STREAM.DELETE.x",
            "nats:_INBOX.x",
            "nats://broker",
            "nats://broker/",
            "nats://u@broker/a",
            "nats:///a",
        ] {
            assert!(rules(true).check(url).is_err(), "{url}");
        }
        assert!(rules(true).check(&format!("https://example.org/{}", "a".repeat(3_000))).is_err());
        assert!(Rules { nats: None, ..rules(true) }.check("nats:a").is_err());
    }

    #[test]
    fn private_literals_are_refused_unless_allowed() {
        for url in [
            "http://127.0.0.1/",
            "http://127.0.0.1:7171/v1",
            "https://10.1.2.3/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://169.254.169.254/latest/meta-data",
            "http://0.0.0.0/",
            "http://localhost/",
            "http://api.LOCALHOST:8080/",
            "nats://127.0.0.1:4222/a",
            "nats://[fd00::1]/a",
        ] {
            assert!(rules(false).check(url).is_err(), "{url}");
            assert!(rules(true).check(url).is_ok(), "{url}");
        }
        for url in ["https://example.org/", "http://1.1.1.1/", "https://[2606:4700:4700::1111]/x"] {
            assert!(rules(false).check(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn a_job_may_not_use_what_is_the_operators() {
        for url in ["nats:a.b", "log:"] {
            assert!(rules(true).target(url, NamedBy::Job).is_err(), "{url}");
        }
        assert!(rules(true).target("nats://broker/a", NamedBy::Job).is_ok());
    }

    #[test]
    fn what_people_see_holds_no_password() {
        assert_eq!(shown("https://u:p@example.org:1/a/b?token=1#x"), "https://example.org:1/a/b");
        assert_eq!(shown("https://example.org"), "https://example.org");
        assert_eq!(shown("nats:a.b"), "nats:a.b");
    }
}
