//! The runner's token: as secret as a lease id.

use std::fmt;

#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Surrounding white space, as a file has it, does not count.
    pub fn parse(text: &str) -> Option<Token> {
        let text = text.trim();
        let fits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Token(text.into()))
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}
