//! Where the server is. The password in it never reaches a message.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::OpenError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A peer that is gone without a word is noticed after about this long.
const SILENCE_MAX: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub struct Address(Config);

impl Address {
    pub fn parse(url: &str) -> Result<Address, OpenError> {
        // The parser's own message may quote what it stumbled over, which may be a part of the password.
        let mut config: Config = url.parse().map_err(|_| {
            OpenError::Unreachable("the address is not of the form postgres://user@host:port/database".into())
        })?;
        if config.get_application_name().is_none() {
            config.application_name("deltaci");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.keepalives_idle(SILENCE_MAX).tcp_user_timeout(SILENCE_MAX);
        Ok(Address(config))
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
}
