//! Failure classes: why an attempt failed, and whether trying again can help (seed 000, "Retry Eligibility").
//!
//! Rules, not guesses: the first that matches names the class, and its sentence is what a person reads. The runner
//! reports only an exit code and a summary; what the orchestrator saw itself (a lost lease, a timeout) needs no rule.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// Network, disk, registry or cache trouble around the job.
    Infra,
    /// The runner could not start the job.
    RunnerStartup,
    /// The runner vanished.
    RunnerLost,
    Timeout,
    /// The job itself reports an unstable test.
    Flaky,
    Compilation,
    Test,
    Lint,
    /// It failed, and no rule says why: deterministic until shown otherwise.
    Failure,
    /// An effect that may happen once may have happened; only a person can tell.
    Ambiguous,
}

impl FailureClass {
    pub const ALL: [FailureClass; 10] = [
        FailureClass::Infra,
        FailureClass::RunnerStartup,
        FailureClass::RunnerLost,
        FailureClass::Timeout,
        FailureClass::Flaky,
        FailureClass::Compilation,
        FailureClass::Test,
        FailureClass::Lint,
        FailureClass::Failure,
        FailureClass::Ambiguous,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            FailureClass::Infra => "infra",
            FailureClass::RunnerStartup => "runner_startup",
            FailureClass::RunnerLost => "runner_lost",
            FailureClass::Timeout => "timeout",
            FailureClass::Flaky => "flaky",
            FailureClass::Compilation => "compilation",
            FailureClass::Test => "test",
            FailureClass::Lint => "lint",
            FailureClass::Failure => "failure",
            FailureClass::Ambiguous => "ambiguous",
        }
    }

    pub fn parse(text: &str) -> Option<FailureClass> {
        FailureClass::ALL.into_iter().find(|class| class.as_str() == text)
    }

    /// Classes that a new attempt can help. The others repeat themselves, or must not be repeated.
    pub fn may_retry(self) -> bool {
        match self {
            FailureClass::Infra
            | FailureClass::RunnerStartup
            | FailureClass::RunnerLost
            | FailureClass::Timeout
            | FailureClass::Flaky => true,
            FailureClass::Compilation
            | FailureClass::Test
            | FailureClass::Lint
            | FailureClass::Failure
            | FailureClass::Ambiguous => false,
        }
    }
}

/// The classes a job wants retried. Those that cannot be retried have no effect here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassSet(u16);

impl ClassSet {
    /// Everything transient; a timeout only when asked for.
    pub fn usual() -> ClassSet {
        ClassSet::of(&[
            FailureClass::Infra,
            FailureClass::RunnerStartup,
            FailureClass::RunnerLost,
            FailureClass::Flaky,
        ])
    }

    pub fn of(classes: &[FailureClass]) -> ClassSet {
        ClassSet(classes.iter().fold(0, |bits, class| bits | 1 << *class as u16))
    }

    /// What somebody means who names these: trouble around the job is also a runner that could not start it or was lost.
    pub fn asked_for(classes: &[FailureClass]) -> ClassSet {
        let around = [FailureClass::RunnerStartup, FailureClass::RunnerLost];
        let meant = classes.contains(&FailureClass::Infra).then_some(around).into_iter().flatten();
        ClassSet::of(&classes.iter().copied().chain(meant).collect::<Vec<_>>())
    }

    pub fn contains(self, class: FailureClass) -> bool {
        self.0 & (1 << class as u16) != 0
    }

    /// Class names joined by commas, as stored.
    pub fn to_text(self) -> String {
        let names: Vec<_> = FailureClass::ALL
            .into_iter()
            .filter(|class| self.contains(*class))
            .map(FailureClass::as_str)
            .collect();
        names.join(",")
    }

    pub fn parse(text: &str) -> Option<ClassSet> {
        let names = text.split(',').filter(|name| !name.is_empty());
        let classes: Option<Vec<_>> = names.map(FailureClass::parse).collect();
        Some(ClassSet::of(&classes?))
    }
}

impl Serialize for ClassSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(FailureClass::ALL.into_iter().filter(|class| self.contains(*class)))
    }
}

impl<'de> Deserialize<'de> for ClassSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<ClassSet, D::Error> {
        Ok(ClassSet::of(&Vec::<FailureClass>::deserialize(deserializer)?))
    }
}

/// A class and the sentence that explains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub class: FailureClass,
    pub because: String,
}

impl Verdict {
    /// Trying again could make an effect happen twice, unless the job was never started.
    pub fn of_effect_once(self) -> Verdict {
        if !self.class.may_retry() || self.class == FailureClass::RunnerStartup {
            return self;
        }
        let because = format!("{}; its effect, which may happen once, may have happened", self.because);
        Verdict { class: FailureClass::Ambiguous, because }
    }
}

struct Rule {
    class: FailureClass,
    place: Place,
    /// Any of these in the summary, letter case aside.
    words: &'static [&'static str],
    because: &'static str,
}

/// A summary ends with what the job wrote last, so what only a runner can know is believed at the beginning alone.
#[derive(Clone, Copy)]
enum Place {
    Beginning,
    Anywhere,
}

impl Rule {
    fn found(&self, summary: &str) -> Option<&'static str> {
        self.words.iter().copied().find(|word| match self.place {
            Place::Beginning => summary.starts_with(word),
            Place::Anywhere => summary.contains(word),
        })
    }
}

const RULES: &[Rule] = &[
    Rule {
        class: FailureClass::Timeout,
        place: Place::Beginning,
        words: &["the job timed out"],
        because: "the job ran longer than it may",
    },
    Rule {
        class: FailureClass::RunnerLost,
        place: Place::Beginning,
        words: &[
            "executor unavailable: the runner was told to stop",
            "executor unavailable: the keeper of the job ended",
            "executor unavailable: the keeper heard of no renewal",
        ],
        because: "the runner stopped before the job did",
    },
    Rule {
        class: FailureClass::RunnerStartup,
        place: Place::Beginning,
        words: &["runner startup", "could not prepare workspace"],
        because: "the runner could not start the job",
    },
    // A step may have run: not a word of the rule above, which an effect that may happen once is tried again by.
    Rule {
        class: FailureClass::Infra,
        place: Place::Beginning,
        words: &["executor unavailable"],
        because: "what runs the job failed under it",
    },
    Rule {
        class: FailureClass::Infra,
        place: Place::Beginning,
        words: &["artifact upload failed"],
        because: "what the job made could not be brought to the server",
    },
    Rule {
        class: FailureClass::Infra,
        place: Place::Anywhere,
        words: &[
            "failed to pull",
            "toomanyrequests",
            "too many requests",
            "registry",
            "cache fetch",
            "cache restore",
        ],
        because: "an image, package or cache could not be fetched",
    },
    Rule {
        class: FailureClass::Infra,
        place: Place::Anywhere,
        words: &[
            "connection reset",
            "connection refused",
            "connection timed out",
            "network is unreachable",
            "temporary failure in name resolution",
            "tls handshake",
            "bad gateway",
            "service unavailable",
        ],
        because: "the network or a service beyond the job failed",
    },
    Rule {
        class: FailureClass::Infra,
        place: Place::Anywhere,
        words: &["failed to start container"],
        because: "a container could not be started",
    },
    Rule {
        class: FailureClass::Infra,
        place: Place::Anywhere,
        words: &["no space left on device", "out of memory", "oom-killed", "cannot allocate memory"],
        because: "the machine ran out of disk or memory",
    },
    Rule {
        class: FailureClass::Flaky,
        place: Place::Anywhere,
        words: &["flaky"],
        because: "the job reports an unstable test",
    },
    Rule {
        class: FailureClass::Compilation,
        place: Place::Anywhere,
        words: &[
            "could not compile",
            "compilation failed",
            "compilation error",
            "build failed",
            "syntax error",
        ],
        because: "the code does not compile; the same code will fail again",
    },
    Rule {
        class: FailureClass::Lint,
        place: Place::Anywhere,
        words: &["lint", "clippy", "formatting", "style violation"],
        because: "a style check refused the code; the same code will fail again",
    },
    Rule {
        class: FailureClass::Test,
        place: Place::Anywhere,
        words: &["test failed", "tests failed", "assertion failed", "failing tests"],
        because: "a test failed; the same code will fail again",
    },
];

/// Names the class of a failed completion.
pub fn classify(exit_code: i32, summary: &str) -> Verdict {
    let summary = summary.to_lowercase();
    for rule in RULES {
        if let Some(word) = rule.found(&summary) {
            return Verdict {
                class: rule.class,
                because: format!("{} (the summary says \"{word}\")", rule.because),
            };
        }
    }
    Verdict {
        class: FailureClass::Failure,
        because: format!("a step ended with exit code {exit_code}, and nothing points beyond the job"),
    }
}
