//! Several patterns, tried together on one text. Where they are many, one pass over the text finds what it holds of the
//! texts that the patterns need, and only the patterns whose texts are there are tried: a thousand patterns that begin
//! with `**` cost about as much as those that match.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::slice::from_ref;

use aho_corasick::AhoCorasick;
use globset::{Candidate, Glob, GlobSet};

use super::needed::{AnyOf, needed, shortest};
use super::pattern::{BYTES_MAX, compiled};

/// As many are tried all at once without a thought.
const FEW: usize = 16;

#[derive(Debug)]
pub struct Several {
    /// Those that are tried on every text, and their places.
    always: GlobSet,
    always_places: Vec<usize>,
    if_held: Option<IfHeld>,
}

/// Those that are tried where one of their texts is.
#[derive(Debug)]
struct IfHeld {
    texts: AhoCorasick,
    /// For every text, the places of the patterns that need it.
    needing: Vec<Vec<usize>>,
    /// By place; made when they are first tried.
    made: HashMap<usize, (Glob, OnceCell<GlobSet>)>,
}

impl Several {
    /// Patterns are known by their place in the list. Fails on what no matcher can be made of.
    pub fn new(patterns: &[&str]) -> Result<Several, String> {
        let mut several = Several { always: GlobSet::empty(), always_places: Vec::new(), if_held: None };
        let (mut always, mut held) = (Vec::new(), Vec::new());
        for ((place, pattern), texts) in patterns.iter().enumerate().zip(chosen(patterns)) {
            let glob = compiled(pattern)?;
            match texts {
                Some(texts) => held.push((place, glob, texts)),
                None => {
                    several.always_places.push(place);
                    always.push(glob);
                }
            }
        }
        several.always = together(&always)?;
        several.if_held = IfHeld::new(held)?;
        Ok(several)
    }

    /// Calls `found` with the place of each pattern that matches.
    pub fn matching(&self, text: &[u8], mut found: impl FnMut(usize)) {
        let candidate = Candidate::from_bytes(text);
        let always = self.always.matches_candidate(&candidate);
        always.into_iter().for_each(|place| found(self.always_places[place]));
        if let Some(if_held) = &self.if_held {
            if_held.matching(text, &candidate, found);
        }
    }
}

impl IfHeld {
    fn new(patterns: Vec<(usize, Glob, AnyOf)>) -> Result<Option<IfHeld>, String> {
        if patterns.is_empty() {
            return Ok(None);
        }
        let (mut texts, mut numbers) = (Vec::new(), HashMap::new());
        let mut needing: Vec<Vec<usize>> = Vec::new();
        let mut made = HashMap::with_capacity(patterns.len());
        for (place, glob, needed) in patterns {
            for text in needed {
                let number = *numbers.entry(text).or_insert_with_key(|text| {
                    texts.push(text.clone());
                    needing.push(Vec::new());
                    needing.len() - 1
                });
                needing[number].push(place);
            }
            made.insert(place, (glob, OnceCell::new()));
        }
        let texts = AhoCorasick::new(texts).map_err(|error| error.to_string())?;
        Ok(Some(IfHeld { texts, needing, made }))
    }

    fn matching(&self, text: &[u8], candidate: &Candidate, mut found: impl FnMut(usize)) {
        let held = self.texts.find_overlapping_iter(text).map(|held| held.pattern().as_usize());
        let mut places: Vec<usize> = held.flat_map(|number| &self.needing[number]).copied().collect();
        places.sort_unstable();
        places.dedup();
        for place in places {
            let (glob, matcher) = &self.made[&place];
            // Its length is bounded, so it is never too large for a matcher.
            let made = || together(from_ref(glob)).expect("a pattern that was read");
            let matcher = matcher.get_or_init(made);
            if matcher.is_match_candidate(candidate) {
                found(place);
            }
        }
    }
}

fn together(globs: &[Glob]) -> Result<GlobSet, String> {
    GlobSet::new(globs).map_err(|error| error.kind().to_string())
}

/// For each pattern the texts to look for; none for a pattern that is always tried.
fn chosen(patterns: &[&str]) -> Vec<Option<AnyOf>> {
    if patterns.len() <= FEW {
        return vec![None; patterns.len()];
    }
    let short = |pattern: &&str| if pattern.len() <= BYTES_MAX { needed(pattern) } else { Vec::new() };
    let all: Vec<Vec<AnyOf>> = patterns.iter().map(short).collect();
    let mut shared: HashMap<&str, usize> = HashMap::new();
    all.iter().flatten().flatten().for_each(|text| *shared.entry(text).or_default() += 1);
    let worth = |texts: &AnyOf| {
        let patterns = texts.iter().map(|text| shared[text.as_str()]).max().unwrap_or(0);
        (std::cmp::Reverse(patterns), shortest(texts))
    };
    // What fewest others need tells patterns apart best.
    all.iter().map(|needed| needed.iter().max_by_key(|texts| worth(texts)).cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_patterns_have_a_matcher() {
        let long = ["?a", "[!ä-ö]a"].map(|part| part.repeat(BYTES_MAX / part.len()));
        let names: Vec<String> = (0..FEW).map(|name| format!("*{name}")).collect();
        for pattern in long {
            let patterns: Vec<&str> = names.iter().chain([&pattern]).map(String::as_str).collect();
            let several = Several::new(&patterns).expect("matchers");
            several.matching(pattern.as_bytes(), |_| {});
        }
    }
}
