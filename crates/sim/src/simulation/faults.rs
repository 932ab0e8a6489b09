//! What goes wrong, how often, and which of it is left out when a story is made shorter.
//!
//! Every class has a stream of its own and counts its draws: "the 17th time that an answer could get lost" names the same
//! moment as long as what came before is the same.

use std::collections::BTreeSet;
use std::fmt;

use super::dice::Dice;

macro_rules! classes {
    ($($(#[doc = $about:literal])* $name:ident = $word:literal, up to $most:literal;)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Class { $($(#[doc = $about])* $name,)+ }

        impl Class {
            pub const ALL: &'static [Class] = &[$(Class::$name,)+];

            pub fn as_str(self) -> &'static str {
                match self { $(Class::$name => $word,)+ }
            }

            /// The highest rate that a seed can draw.
            fn most(self) -> f64 {
                match self { $(Class::$name => $most,)+ }
            }
        }
    };
}

classes! {
    /// It is written, and whoever wrote it is told that nobody knows.
    SaveUnknown = "save-unknown", up to 0.25;
    /// Nothing is written, and that is known.
    SaveFailed = "save-failed", up to 0.15;
    /// Somebody else was faster, or so the store says.
    SaveConflict = "save-conflict", up to 0.30;
    /// A disk that takes seconds: what was decided on moves meanwhile.
    SaveSlow = "save-slow", up to 0.10;
    RequestLost = "request-lost", up to 0.25;
    AnswerLost = "answer-lost", up to 0.25;
    /// The same request arrives twice, the second time when it pleases.
    Duplicated = "duplicated", up to 0.25;
    /// Later than what was sent after it; often at about the moment when the lease runs out.
    Delayed = "delayed", up to 0.20;
    /// Between one client and one server nothing passes for a while.
    Partition = "partition", up to 0.30;
    /// Only one way.
    PartitionOneWay = "partition-one-way", up to 0.30;
    /// The agent dies and is started again.
    RunnerCrash = "runner-crash", up to 0.20;
    /// The agent dies for good; another machine takes its place later, under another name.
    RunnerGone = "runner-gone", up to 0.06;
    /// The agent stands still, often for longer than its lease, and goes on as if nothing had been; its keeper does not.
    AgentFrozen = "agent-frozen", up to 0.20;
    /// The whole machine stands still, keeper and job too.
    MachineFrozen = "machine-frozen", up to 0.12;
    /// A runner's wall clock jumps by up to an hour.
    ClockJump = "clock-jump", up to 0.30;
    /// The process is gone with all it had in memory; the store is not.
    ServerCrash = "server-crash", up to 0.25;
    /// A subscriber says no.
    SinkRefused = "sink-refused", up to 0.40;
    /// A subscriber has the message, and its word is lost.
    SinkUnheard = "sink-unheard", up to 0.30;
    /// Bytes cannot be written.
    BlobWriteFailed = "blob-write-failed", up to 0.25;
    /// Bytes cannot be deleted.
    BlobDeleteFailed = "blob-delete-failed", up to 0.25;
}

pub const CLASSES: usize = Class::ALL.len();

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One fault, by its class and which draw of it.
pub type Strike = (Class, u64);

/// What may happen at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    pub without: BTreeSet<Class>,
    /// Nothing but these.
    pub only: Option<BTreeSet<Strike>>,
}

impl Limits {
    fn allow(&self, strike: Strike) -> bool {
        !self.without.contains(&strike.0) && self.only.as_ref().is_none_or(|only| only.contains(&strike))
    }
}

#[derive(Debug, Clone)]
pub struct Faults {
    limits: Limits,
    rates: [f64; CLASSES],
    dice: Vec<Dice>,
    draws: [u64; CLASSES],
    pub counts: [u64; CLASSES],
    /// In order.
    pub struck: Vec<Strike>,
    /// The calm has begun: nothing goes wrong any more.
    pub over: bool,
}

/// In some seeds a class is absent, so that others are seen without it.
const ABSENT: f64 = 0.25;

impl Faults {
    /// Rates are drawn for each seed; `scale` makes all of them larger or smaller.
    pub fn new(seed: u64, scale: f64, limits: Limits) -> Faults {
        let mut draw = Dice::new(seed, "rates");
        let mut rates = [0.0; CLASSES];
        for (rate, class) in rates.iter_mut().zip(Class::ALL) {
            let (absent, share) = (draw.chance(ABSENT), draw.unit());
            *rate = if absent { 0.0 } else { class.most() * share * scale };
        }
        let dice = Class::ALL.iter().map(|class| Dice::new(seed, class.as_str())).collect();
        let (draws, counts) = ([0; CLASSES], [0; CLASSES]);
        Faults { limits, rates, dice, draws, counts, struck: Vec::new(), over: false }
    }

    /// Whether it happens now. Drawn either way, so that leaving one out changes no other draw.
    pub fn strikes(&mut self, class: Class) -> bool {
        let index = class as usize;
        let strike = (class, self.draws[index]);
        self.draws[index] += 1;
        let drawn = self.dice[index].chance(self.rates[index]);
        let strikes = drawn && !self.over && self.limits.allow(strike);
        if strikes {
            self.counts[index] += 1;
            self.struck.push(strike);
        }
        strikes
    }

    /// A class's own stream, for how it happens.
    pub fn dice(&mut self, class: Class) -> &mut Dice {
        &mut self.dice[class as usize]
    }
}
