//! One number decides everything: streams that are made from a seed and a name, so that a draw more in one of them does not
//! reshuffle the others. SplitMix64, because it is ten lines and good enough to choose with.

use std::time::Duration;

#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64, name: &str) -> Dice {
        let named = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let mut dice = Dice(seed ^ named);
        dice.draw();
        dice
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// Zero to `most - 1`.
    pub fn below(&mut self, most: u64) -> u64 {
        self.draw() % most.max(1)
    }

    /// Both ends are possible.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most.saturating_sub(least) + 1)
    }

    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    pub fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn chance(&mut self, rate: f64) -> bool {
        self.unit() < rate
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { from.get(self.index(from.len())) }
    }

    pub fn millis(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_micros(self.between(least * 1_000, most * 1_000))
    }

    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.draw() as u8)
    }
}

/// Every bit of the input matters to every bit of the output.
pub fn mixed(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
