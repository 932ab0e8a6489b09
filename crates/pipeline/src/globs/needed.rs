//! The texts that a path must hold for a pattern to match it. `**/app-*/{src,tests}/**` needs `app-`, and it needs one
//! of `src` and `tests`; whoever holds neither is not worth a try.

/// More braces than people write: such a pattern is tried on every path instead.
const BRACES_MAX: usize = 32;
/// More alternatives than are worth looking for.
const TEXTS_MAX: usize = 64;

/// One of these is in every path that matches.
pub type AnyOf = Vec<String>;

/// All that is needed, as far as it is easily seen. The pattern is one that can be read.
pub fn needed(pattern: &str) -> Vec<AnyOf> {
    if pattern.matches('{').count() > BRACES_MAX {
        return Vec::new();
    }
    let letters: Vec<char> = pattern.chars().collect();
    Reader { letters: &letters, at: 0 }.branch(false)
}

struct Reader<'a> {
    letters: &'a [char],
    at: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let letter = self.letters.get(self.at).copied();
        self.at += 1;
        letter
    }

    /// Reads to the end, or to the comma or brace that ends an alternative.
    fn branch(&mut self, alternative: bool) -> Vec<AnyOf> {
        let (mut found, mut run) = (Vec::new(), String::new());
        while let Some(letter) = self.next() {
            match letter {
                '}' | ',' if alternative => {
                    self.at -= 1;
                    break;
                }
                '*' | '?' => end(&mut run, &mut found),
                '[' => {
                    end(&mut run, &mut found);
                    self.class();
                }
                '{' => {
                    end(&mut run, &mut found);
                    found.extend(self.alternatives());
                }
                '/' if self.beside_star() => end(&mut run, &mut found),
                '\\' => match self.next() {
                    // It may belong to a `**` behind it.
                    Some('/') | None => end(&mut run, &mut found),
                    Some(plain) => run.push(plain),
                },
                plain => run.push(plain),
            }
        }
        end(&mut run, &mut found);
        found
    }

    /// `**` takes the slashes around it: `a/**` and `**/a` need none.
    fn beside_star(&self) -> bool {
        let before = self.at.checked_sub(2).map(|place| self.letters[place]);
        before == Some('*') || self.letters.get(self.at) == Some(&'*')
    }

    /// Past the end of `[…]`, whose first letter may be a bracket.
    fn class(&mut self) {
        if matches!(self.letters.get(self.at), Some('!' | '^')) {
            self.at += 1;
        }
        self.at += 1;
        while self.next().is_some_and(|letter| letter != ']') {}
    }

    /// Past the end of `{…}`. Each alternative must need something, or nothing is needed.
    fn alternatives(&mut self) -> Option<AnyOf> {
        let mut all = Some(AnyOf::new());
        loop {
            let best = self.branch(true).into_iter().max_by_key(shortest);
            all = all.zip(best).map(|(all, best)| [all, best].concat());
            if self.next() != Some(',') {
                return all.filter(|texts| texts.len() <= TEXTS_MAX);
            }
        }
    }
}

fn end(run: &mut String, found: &mut Vec<AnyOf>) {
    if !run.is_empty() {
        found.push(vec![std::mem::take(run)]);
    }
}

/// A text that is long is rarely found where it is not meant.
pub fn shortest(texts: &AnyOf) -> usize {
    texts.iter().map(String::len).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_match_holds_is_needed_and_nothing_else() {
        for (pattern, expected) in [
            ("**/name-7/**", "name-7"),
            ("**", ""),
            ("*/?", ""),
            ("a/b", "a/b"),
            ("a/**/b", "a b"),
            ("**/a/b/*.rs", "a/b .rs"),
            ("*[ab]c[]x]d[!]]e", "c d e"),
            ("**/{src,tests}/**/*.{rs,c}", "src|tests . rs|c"),
            ("{a,}b", "b"),
            ("{a,*}b", "b"),
            ("{a,{bb,c*dd}}", "a|bb|dd"),
            ("a,b\\{c\\/d", "a,b{c d"),
            ("\\*/x*", "* x"),
        ] {
            let seen: Vec<String> = needed(pattern).iter().map(|texts| texts.join("|")).collect();
            assert_eq!(seen.join(" "), expected, "{pattern}");
        }
    }

    #[test]
    fn what_is_too_much_is_not_looked_for() {
        assert!(needed(&format!("{}a{}", "{".repeat(2_000), "}".repeat(2_000))).is_empty());
        let names: Vec<String> = (0..1_000).map(|name| format!("n{name}")).collect();
        assert!(needed(&format!("{{{}}}", names.join(","))).is_empty());
    }
}
