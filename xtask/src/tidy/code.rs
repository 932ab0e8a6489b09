//! Rust source with its comments and texts blanked, so that a rule about code does not fire on prose.

/// The source, line for line, without what stands in comments, strings and characters.
pub fn code_only(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let prose = prose_length(rest, code.chars().next_back());
        if prose == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            // One blank keeps the neighbours apart; the line breaks keep the numbering.
            code.push(' ');
            code.extend(rest[..prose].chars().filter(|letter| *letter == '\n'));
            rest = &rest[prose..];
        }
    }
    code
}

/// How many bytes of prose the text begins with; zero if it begins with code.
fn prose_length(text: &str, before: Option<char>) -> usize {
    let in_word = before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    match text.as_bytes() {
        [b'/', b'/', ..] => text.find('\n').unwrap_or(text.len()),
        [b'/', b'*', ..] => block_comment_length(text),
        [b'"', ..] => quoted_length(text),
        [b'r', b'"' | b'#', ..] if !in_word => raw_length(text, 1),
        [b'b' | b'c', b'r', b'"' | b'#', ..] if !in_word => raw_length(text, 2),
        [b'\'', ..] => character_length(text),
        [..] => 0,
    }
}

/// Block comments nest.
fn block_comment_length(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            [..] => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// A string that begins with a quote and ends with the first one that no backslash takes away.
fn quoted_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// A raw string after its prefix of letters, or zero if it is a raw identifier such as `r#type`.
fn raw_length(text: &str, letters: usize) -> usize {
    let hashes = text[letters..].bytes().take_while(|byte| *byte == b'#').count();
    let begin = letters + hashes;
    if text.as_bytes().get(begin) != Some(&b'"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    text[begin + 1..].find(&end).map_or(text.len(), |at| begin + 1 + at + end.len())
}

/// A character such as `'"'`, or zero for a lifetime.
fn character_length(text: &str) -> usize {
    let mut letters = text.char_indices().skip(1);
    match letters.next() {
        Some((_, '\\')) => {
            // What follows the backslash is taken, be it a quote; the next quote ends it.
            letters.next();
            letters.find(|(_, letter)| *letter == '\'').map_or(0, |(at, _)| at + 1)
        }
        Some(_) => letters.next().filter(|(_, letter)| *letter == '\'').map_or(0, |(at, _)| at + 1),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares without regard to the blanks left behind.
    fn check(source: &str, expected: &str) {
        let squeezed = code_only(source).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed, expected, "{source}");
    }

    #[test]
    fn comments_go() {
        check("a(); // b()", "a();");
        check("a /* b /* c */ d */ e", "a e");
        check("a / b", "a / b");
    }

    #[test]
    fn texts_go() {
        check(r#"f("a // b", c)"#, "f( , c)");
        check(r#"f("a \" b", c)"#, "f( , c)");
        check(r#"f("a\\", c)"#, "f( , c)");
        check(r###"f(r"a\", b)"###, "f( , b)");
        check(r###"f(r#"a " b"#, br##"c"# d"##, e)"###, "f( , , e)");
        check(r#"f(b"a", c"b")"#, "f(b , c )");
    }

    #[test]
    fn characters_go_and_lifetimes_stay() {
        check(r#"f('"', a)"#, "f( , a)");
        check(r"f('\'', '\\', '\u{1f}', a)", "f( , , , a)");
        check("fn f<'a>(x: &'a str, y: &'static str)", "fn f<'a>(x: &'a str, y: &'static str)");
        check("r#type + for_r\"x\"", "r#type + for_r");
    }

    #[test]
    fn lines_keep_their_numbers() {
        let source = "a\n/* b\n c */\nlet d = \"e\n f\";\ng";
        let code = code_only(source);
        assert_eq!(code.lines().count(), source.lines().count());
        assert_eq!(code.lines().last(), Some("g"));
    }
}
