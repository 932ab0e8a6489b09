//! What is named on the command line: a version, or bytes by their digest.

use std::str::FromStr;

use wire::Digest;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionName {
    pub package: String,
    pub version: String,
}

impl FromStr for VersionName {
    type Err = String;

    /// A package's name may begin with an `@`, so the last one counts.
    fn from_str(text: &str) -> Result<VersionName, String> {
        match text.rsplit_once('@') {
            Some((package, version)) if !package.is_empty() && !version.is_empty() => {
                Ok(VersionName { package: package.into(), version: version.into() })
            }
            Some(_) | None => Err(format!("`{text}` is no version; expected one such as app@1.2.0")),
        }
    }
}

impl std::fmt::Display for VersionName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.package, self.version)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    Version(VersionName),
    Blob(Digest),
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Named, String> {
        if text.starts_with(Digest::PREFIX) {
            return text.parse().map(Named::Blob).map_err(|error: wire::digest::BadDigest| error.to_string());
        }
        text.parse().map(Named::Version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_digests_are_told_apart() {
        let version = |package: &str, version: &str| {
            Ok(Named::Version(VersionName { package: package.into(), version: version.into() }))
        };
        assert_eq!("app@1.2".parse(), version("app", "1.2"));
        assert_eq!("@scope/app@1.2".parse(), version("@scope/app", "1.2"));
        let digest = format!("sha256:{}", "0a".repeat(32));
        assert!(matches!(digest.parse(), Ok(Named::Blob(_))));
        for bad in ["", "app", "app@", "@1", "sha256:12"] {
            assert!(bad.parse::<Named>().is_err(), "{bad}");
        }
    }
}
