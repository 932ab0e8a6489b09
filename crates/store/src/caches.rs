//! Finding a cache: what all stores agree on.

use decisions::records::{Cache, CacheName};
use wire::Time;

/// Caches that go. Of each kind the longest unused come first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CachesDue {
    /// No job has asked for them for too long.
    pub unused: Vec<CacheName>,
    /// Those that were used later fill all that their tenant may keep. With the time of their own last use.
    pub beyond: Vec<(CacheName, Time)>,
}

/// The range of keys that begin with `prefix`: from it to, and without, what is returned. An empty one would mean all of
/// them, which nobody means.
pub fn end_of(prefix: &str) -> Option<String> {
    let mut end: Vec<char> = prefix.chars().collect();
    while let Some(last) = end.pop() {
        // Texts sort by code point, as UTF-8 does by byte; the surrogates between are no characters.
        let next = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32);
        if let Some(next) = next {
            end.push(next);
            return Some(end.into_iter().collect());
        }
    }
    None
}

/// Those with the very key come first, in the order in which they were asked for; then the newest of the others.
pub fn best(exact: Vec<Cache>, others: Vec<Cache>) -> Option<Cache> {
    let newest = || others.into_iter().max_by_key(|cache| (cache.created_at, cache.id));
    exact.into_iter().next().or_else(newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_range() {
        assert_eq!(end_of("cargo:").as_deref(), Some("cargo;"));
        assert_eq!(end_of("a%").as_deref(), Some("a&"));
        assert_eq!(end_of("\u{d7ff}").as_deref(), Some("\u{e000}"));
        assert_eq!(end_of("a\u{10ffff}").as_deref(), Some("b"));
        assert_eq!(end_of("\u{10ffff}"), None);
        assert_eq!(end_of(""), None);
    }
}
