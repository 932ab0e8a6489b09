//! The keys of caches: `{hash:GLOB}` becomes a digest of the files that GLOB names.

/// The first letters of a digest are enough to tell lock files apart.
const LETTERS: usize = 16;
const NONE: &str = "none";
const OPEN: &str = "{hash:";

/// A piece of a key.
enum Piece<'a> {
    Text(&'a str),
    Glob(&'a str),
}

/// The patterns in a key, in their order.
pub fn globs(key: &str) -> Vec<&str> {
    let glob = |piece| match piece {
        Piece::Text(_) => None,
        Piece::Glob(glob) => Some(glob),
    };
    pieces(key).into_iter().filter_map(glob).collect()
}

/// The key with each pattern replaced by the digest of its files; and what stands before the first, if anything does.
pub fn resolve(key: &str, mut digest: impl FnMut(&str) -> Option<[u8; 32]>) -> (String, Option<String>) {
    let (mut resolved, mut prefix) = (String::new(), None);
    for piece in pieces(key) {
        match piece {
            Piece::Text(text) => resolved.push_str(text),
            Piece::Glob(glob) => {
                prefix.get_or_insert_with(|| resolved.clone());
                match digest(glob) {
                    Some(digest) => resolved.push_str(&wire::Digest::from_bytes(digest).hex()[..LETTERS]),
                    None => resolved.push_str(NONE),
                }
            }
        }
    }
    (resolved, prefix.filter(|prefix| !prefix.is_empty()))
}

fn pieces(key: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut rest) = (Vec::new(), key);
    while let Some((text, after)) = rest.split_once(OPEN) {
        let Some(end) = closing(after) else { break };
        pieces.extend([Piece::Text(text), Piece::Glob(&after[..end])]);
        rest = &after[end + 1..];
    }
    pieces.push(Piece::Text(rest));
    pieces
}

/// Where the brace closes that is open already; a pattern may hold braces of its own.
fn closing(text: &str) -> Option<usize> {
    let mut open = 1;
    for (place, letter) in text.char_indices() {
        match letter {
            '{' => open += 1,
            '}' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some(place);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_filled_in_and_what_stands_before_it_is_the_prefix() {
        for (key, resolved, prefix) in [
            ("cargo", "cargo", None),
            ("cargo:{hash:a}", "cargo:0707070707070707", Some("cargo:")),
            ("{hash:a}", "0707070707070707", None),
            ("x-{hash:{a,b}/*}-{hash:none}", "x-0707070707070707-none", Some("x-")),
            ("x-{hash:a", "x-{hash:a", None),
            ("x-{os}-{hash:}", "x-{os}-0707070707070707", Some("x-{os}-")),
        ] {
            let digest = |glob: &str| (glob != "none").then_some([7; 32]);
            assert_eq!(resolve(key, digest), (resolved.into(), prefix.map(String::from)), "{key}");
        }
        assert_eq!(globs("x-{hash:{a,b}/*}-{hash:none}"), ["{a,b}/*", "none"]);
    }
}
