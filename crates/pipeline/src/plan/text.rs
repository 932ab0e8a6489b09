//! Paths as text. A path may hold any bytes but NUL; whoever reads a reason must be able to tell which file it was.

/// What is not printed as it is becomes `\n`, `\t`, `\xff` (a byte) or `\u{202e}` (a letter); a backslash becomes two.
/// So two paths never read alike, and none can move a terminal's cursor.
pub fn path_text(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\\' => text.push_str("\\\\"),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                hidden if hidden.is_control() || turns(hidden) => {
                    text.push_str(&format!("\\u{{{:x}}}", u32::from(hidden)));
                }
                plain => text.push(plain),
            }
        }
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

/// Letters that nobody sees but that turn the order of those around them, or break the line.
fn turns(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{61c}')
}

/// A commit as people write it; what is no commit's id stays whole.
pub fn short(commit: &str) -> &str {
    const LETTERS: usize = 7;
    let id = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if id { &commit[..LETTERS] } else { commit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_can_be_told_from_every_other() {
        for (path, text) in [
            (&b"src/a.rs"[..], "src/a.rs"),
            ("größe/日本".as_bytes(), "größe/日本"),
            (b"a\nb", "a\\nb"),
            (b"a\\nb", "a\\\\nb"),
            (b"\xff\xfe", "\\xff\\xfe"),
            (b"\\xff", "\\\\xff"),
            (b"\x1b[2J\x7f", "\\u{1b}[2J\\u{7f}"),
            ("a\u{202e}b".as_bytes(), "a\\u{202e}b"),
        ] {
            assert_eq!(path_text(path), text);
        }
    }
}
