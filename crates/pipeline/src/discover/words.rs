//! Names of jobs, and somebody else's words within a shell's line.

const NAME_MAX: usize = 60;

/// A project's name as part of a job's: letters, digits, `-` and `_`.
pub fn slug(name: &str) -> String {
    let mut slug = String::new();
    for letter in name.chars().take(NAME_MAX) {
        let plain = letter.is_ascii_alphanumeric() || letter == '_';
        if plain {
            slug.push(letter);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').into()
}

/// One word for a shell, whatever it holds.
pub fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_parts_of_names() {
        for (name, expected) in [("@org/app.ui", "org-app-ui"), ("a b", "a-b"), ("日本", ""), ("x--", "x")]
        {
            assert_eq!(slug(name), expected);
        }
    }

    #[test]
    fn a_shell_sees_one_word() {
        for (word, expected) in
            [("a/b-1.0", "a/b-1.0"), ("a b", "'a b'"), ("$(x)'", "'$(x)'\\'''"), ("", "''"), ("~", "'~'")]
        {
            assert_eq!(quoted(word), expected);
        }
    }
}
