//! What keeps a job from running though the job is not at fault, in words for whoever has to mend it.

use std::fmt::Display;

/// A problem is shown to people and fits a frame.
const LETTERS_MAX: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem(String);

impl Problem {
    pub fn new(text: impl Into<String>) -> Problem {
        let mut text: String = text.into();
        if let Some((end, _)) = text.char_indices().nth(LETTERS_MAX) {
            text.truncate(end);
            text.push('…');
        }
        Problem(text)
    }

    /// What we were about to do, and what came in the way.
    pub fn during(what: impl Display, error: impl Display) -> Problem {
        Problem::new(format!("{what}: {error}"))
    }

    pub fn text(self) -> String {
        self.0
    }
}

impl Display for Problem {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}
