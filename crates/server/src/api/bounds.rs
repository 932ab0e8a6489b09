//! Bounds on what callers may send, where the decisions leave it to the edge: lengths of texts and lists.

use crate::api::problem::Problem;

/// Of a capability or a requirement.
const WORD_LENGTH_MAX: usize = 128;
/// Of one list of them.
const WORDS_MAX: usize = 64;

/// Words such as `os:linux`.
pub fn check_words(field: &'static str, words: &[String]) -> Result<(), Problem> {
    if words.len() > WORDS_MAX {
        return Err(Problem::invalid(field, format!("at most {WORDS_MAX} entries")));
    }
    let fits = |word: &String| {
        (1..=WORD_LENGTH_MAX).contains(&word.chars().count()) && !word.contains(char::is_control)
    };
    if !words.iter().all(fits) {
        return Err(Problem::invalid(
            field,
            format!("each entry has 1 to {WORD_LENGTH_MAX} characters, none of them for control"),
        ));
    }
    Ok(())
}

/// A text of bounded length, if there is one.
pub fn check_text(field: &'static str, text: Option<&str>, length_max: usize) -> Result<(), Problem> {
    match text {
        Some(text) if text.chars().count() > length_max => {
            Err(Problem::invalid(field, format!("at most {length_max} characters")))
        }
        Some(_) | None => Ok(()),
    }
}
