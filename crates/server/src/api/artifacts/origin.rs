//! How the caller reaches us, for addresses in answers.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header::HOST;
use axum::http::request::Parts;

/// `http://host:port`, or `https` behind a proxy that says so. Without a host an address is relative.
pub struct Origin(pub String);

impl<S: Sync> FromRequestParts<S> for Origin {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let plain = |host: &&str| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
            !host.is_empty() && host.bytes().all(fits)
        };
        let secure = header("x-forwarded-proto").is_some_and(|given| given.eq_ignore_ascii_case("https"));
        let scheme = if secure { "https" } else { "http" };
        let host = header(HOST.as_str()).filter(plain);
        Ok(Origin(host.map(|host| format!("{scheme}://{host}")).unwrap_or_default()))
    }
}
