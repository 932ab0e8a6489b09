//! Whether a pattern over files can be read, and stays inside the repository.

use globset::GlobBuilder;

use crate::problem::Code;

/// What is wrong with it, in a few words.
pub struct BadGlob {
    pub code: Code,
    pub why: String,
}

pub fn check(text: &str) -> Result<(), BadGlob> {
    let bad = |code, why: &str| Err(BadGlob { code, why: why.into() });
    let text = text.strip_prefix("./").unwrap_or(text);
    if text.starts_with('/') {
        return bad(Code::BadPath, "patterns are relative to the repository");
    }
    // Also within braces: `{..,a}/b` would be `../b`.
    if text.split(['/', '{', '}', ',']).any(|part| part == "..") {
        return bad(Code::BadPath, "`..` leads out of the repository");
    }
    if text.is_empty() || text.ends_with('/') {
        return bad(Code::BadGlob, "for all files of a folder write `folder/**`");
    }
    let mut glob = GlobBuilder::new(text);
    glob.literal_separator(true).backslash_escape(true).empty_alternates(true);
    glob.build().map(|_| ()).map_err(|error| BadGlob { code: Code::BadGlob, why: error.kind().to_string() })
}
