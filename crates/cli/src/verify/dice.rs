//! Chance that can be repeated: the same seed throws the same dice (SplitMix64).

use std::time::Duration;

#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Each part of a run has dice of its own, so that what one throws does not depend on how fast another is.
    pub fn new(seed: u64, part: u64) -> Dice {
        let mut dice = Dice(seed ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        dice.next();
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Below `count`, which is not zero.
    pub fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }

    pub fn percent(&mut self, chance: u64) -> bool {
        self.next() % 100 < chance
    }

    pub fn pause(&mut self, least_ms: u64, most_ms: u64) -> Duration {
        Duration::from_millis(least_ms + self.next() % (most_ms - least_ms + 1))
    }

    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> Option<&'a T> {
        if among.is_empty() { None } else { among.get(self.below(among.len())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_throws_the_same_and_every_face_comes() {
        let throws = |seed| {
            let mut dice = Dice::new(seed, 3);
            (0..100).map(|_| dice.below(6)).collect::<Vec<_>>()
        };
        assert_eq!(throws(7), throws(7));
        assert_ne!(throws(7), throws(8));
        assert!((0..6).all(|face| throws(7).contains(&face)));
    }
}
