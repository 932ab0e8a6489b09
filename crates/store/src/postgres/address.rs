//! Where the server is. The password in it never reaches a message.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use crate::OpenError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A peer that is gone without a word is noticed after about this long, and one probe.
const SILENCE_MAX: Duration = Duration::from_secs(30);
const PROBES_EVERY: Duration = Duration::from_secs(10);

const NO_TLS: &str = "the address asks for TLS (sslmode), which deltaci does not speak to PostgreSQL: let a proxy or a tunnel on \
    this machine do so and name that one, or use a private network and leave sslmode out";

#[derive(Clone)]
pub struct Address(Config);

impl Address {
    pub fn parse(url: &str) -> Result<Address, OpenError> {
        if verifies_tls(url) {
            return Err(OpenError::Unreachable(NO_TLS.into()));
        }
        // The parser's own message may quote what it stumbled over, which may be a part of the password.
        let mut config: Config = url.parse().map_err(|_| {
            OpenError::Unreachable("the address is not of the form postgres://user@host:port/database".into())
        })?;
        match config.get_ssl_mode() {
            SslMode::Disable | SslMode::Prefer => {}
            _ => return Err(OpenError::Unreachable(NO_TLS.into())),
        }
        if config.get_application_name().is_none() {
            config.application_name("deltaci");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.keepalives_idle(SILENCE_MAX).keepalives_interval(PROBES_EVERY).tcp_user_timeout(SILENCE_MAX);
        Ok(Address(config))
    }

    /// For whoever writes: of several servers the one that can, and after a failover not the old one. An address may say
    /// otherwise.
    pub fn for_writing(mut self) -> Address {
        if self.0.get_target_session_attrs() == TargetSessionAttrs::Any {
            self.0.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        self
    }

    /// The longest that opening a connection may take: a try at each host, and as long again for what the last one says.
    pub fn opening_max(&self) -> Duration {
        let hosts = self.0.get_hosts().len().max(self.0.get_hostaddrs().len());
        let each = self.0.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
        each.saturating_mul(hosts as u32 + 1)
    }

    pub fn config(&self) -> &Config {
        &self.0
    }

    /// An error in words, with its causes and the place, without the password.
    pub fn explain(&self, error: &tokio_postgres::Error) -> String {
        let mut text = format!("{self}: {error}");
        let mut source = error.source();
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        match self.0.get_password().map(String::from_utf8_lossy) {
            Some(password) if !password.is_empty() => text.replace(password.as_ref(), "…"),
            Some(_) | None => text,
        }
    }
}

/// The modes that look at a certificate are unknown to the parser.
fn verifies_tls(url: &str) -> bool {
    url.split_once('?').is_some_and(|(_, query)| query.split('&').any(|it| it.starts_with("sslmode=verify-")))
}

/// Host, port and database: what a person needs to find the place, and nothing to enter it with.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.get_hosts().first() {
            Some(Host::Tcp(host)) => write!(f, "{host}")?,
            #[cfg(unix)]
            Some(Host::Unix(folder)) => write!(f, "{}", folder.display())?,
            None => write!(f, "PostgreSQL")?,
        }
        if let Some(port) = self.0.get_ports().first() {
            write!(f, ":{port}")?;
        }
        match self.0.get_dbname() {
            Some(database) => write!(f, "/{database}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_shows_where_but_not_who() {
        let address = Address::parse("postgres://ann:secret@db.example:6432/ci").unwrap();
        assert_eq!(address.to_string(), "db.example:6432/ci");
        assert_eq!(format!("{address:?}"), "Address(db.example:6432/ci)");
    }

    #[test]
    fn a_broken_address_is_not_quoted() {
        for url in ["postgres://ann:secret@host:secret/ci", "secret", "postgres://ann:secret@h?secret=1"] {
            let OpenError::Unreachable(message) = Address::parse(url).unwrap_err() else { panic!("{url}") };
            assert!(!message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn tls_is_refused_with_a_way_out_instead_of_left_out() {
        for mode in ["require", "verify-ca", "verify-full"] {
            let url = format!("postgres://db.example/ci?connect_timeout=3&sslmode={mode}");
            assert_eq!(Address::parse(&url).unwrap_err(), OpenError::Unreachable(NO_TLS.into()), "{mode}");
        }
        for mode in ["prefer", "disable"] {
            Address::parse(&format!("postgres://db.example/ci?sslmode={mode}")).unwrap();
        }
    }

    #[test]
    fn who_writes_goes_where_it_can_unless_told_otherwise() {
        let attrs = |query: &str| {
            let address = Address::parse(&format!("postgres://one,two/ci{query}")).unwrap();
            address.for_writing().config().get_target_session_attrs()
        };
        assert_eq!(attrs(""), TargetSessionAttrs::ReadWrite);
        assert_eq!(attrs("?target_session_attrs=read-only"), TargetSessionAttrs::ReadOnly);
    }

    #[test]
    fn opening_has_an_end() {
        let opening_max = |url| Address::parse(url).unwrap().opening_max();
        assert_eq!(opening_max("postgres://one/ci"), CONNECT_TIMEOUT * 2);
        assert_eq!(opening_max("postgres://one,two/ci?connect_timeout=3"), Duration::from_secs(9));
    }
}
