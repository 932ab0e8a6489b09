//! Counts as the elements of a report come and go.

use super::attributes::{Attributes, shortened};
use super::{BadReport, CASES_MAX, FAILURES_MAX, MESSAGE_LETTERS_MAX, TestFailure, TestReport};

/// What became of a test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    #[default]
    Passed,
    Skipped,
    Failed,
    Error,
}

#[derive(Debug, Default)]
struct Case {
    attributes: Attributes,
    fate: Fate,
    message: String,
    /// The text of its failure is being read.
    listening: bool,
}

#[derive(Debug, Default)]
struct Suite {
    name: String,
    /// What it says itself.
    said_ms: Option<u64>,
    /// Of what is in it.
    counted_ms: u64,
}

#[derive(Debug, Default)]
pub struct Counts {
    report: TestReport,
    suites: Vec<Suite>,
    case: Option<Case>,
}

impl Counts {
    pub fn opened(&mut self, element: &[u8], attributes: Attributes) -> Result<(), BadReport> {
        match (element, &mut self.case) {
            (b"testsuites" | b"testsuite", None) => {
                self.suites.push(Suite { name: attributes.name, said_ms: attributes.time_ms, counted_ms: 0 });
            }
            (b"testcase", None) => {
                self.report.total += 1;
                if self.report.total > CASES_MAX {
                    return Err(BadReport::TooManyCases);
                }
                let fate = match attributes.status.as_str() {
                    "skipped" | "disabled" | "ignored" | "notrun" => Fate::Skipped,
                    _ => Fate::Passed,
                };
                self.case = Some(Case { attributes, fate, ..Case::default() });
            }
            (b"failure", Some(case)) => case.ends(Fate::Failed, attributes),
            (b"error", Some(case)) => case.ends(Fate::Error, attributes),
            (b"skipped" | b"ignored", Some(case)) => case.ends(Fate::Skipped, attributes),
            // Output, properties, attempts before the last: none of ours.
            (_, _) => {}
        }
        Ok(())
    }

    pub fn closed(&mut self, element: &[u8]) {
        match element {
            b"testcase" => {
                if let Some(case) = self.case.take() {
                    self.count(case);
                }
            }
            b"testsuites" | b"testsuite" if self.case.is_none() => self.end_suite(),
            b"failure" | b"error" | b"skipped" => {
                self.case.iter_mut().for_each(|case| case.listening = false);
            }
            _ => {}
        }
    }

    /// Whether text that comes now is of use.
    pub fn listens(&self) -> bool {
        self.case.as_ref().is_some_and(|case| case.listening && case.message.len() < MESSAGE_LETTERS_MAX * 4)
    }

    pub fn heard(&mut self, text: &str) {
        if let Some(case) = &mut self.case {
            case.message.push_str(text);
        }
    }

    pub fn report(self) -> TestReport {
        self.report
    }

    fn count(&mut self, case: Case) {
        if let Some(suite) = self.suites.last_mut() {
            suite.counted_ms = suite.counted_ms.saturating_add(case.attributes.time_ms.unwrap_or(0));
        } else {
            self.report.duration_ms =
                self.report.duration_ms.saturating_add(case.attributes.time_ms.unwrap_or(0));
        }
        match case.fate {
            Fate::Passed => return,
            Fate::Skipped => {
                self.report.skipped += 1;
                return;
            }
            Fate::Failed => self.report.failed += 1,
            Fate::Error => self.report.errors += 1,
        }
        if self.report.failures.len() < FAILURES_MAX {
            let suite = match case.attributes.class.is_empty() {
                true => self.suites.last().map(|suite| suite.name.clone()).unwrap_or_default(),
                false => case.attributes.class,
            };
            let message = shortened(&case.message, MESSAGE_LETTERS_MAX);
            self.report.failures.push(TestFailure { suite, name: case.attributes.name, message });
        }
    }

    /// What a suite says of its time goes before the sum of its tests, which may have run side by side.
    fn end_suite(&mut self) {
        let Some(suite) = self.suites.pop() else { return };
        let took = suite.said_ms.unwrap_or(suite.counted_ms);
        let above = match self.suites.last_mut() {
            Some(above) => &mut above.counted_ms,
            None => &mut self.report.duration_ms,
        };
        *above = above.saturating_add(took);
    }
}

impl Case {
    /// The worst counts; its first message is kept, or its text if it has none.
    fn ends(&mut self, fate: Fate, attributes: Attributes) {
        if fate <= self.fate {
            return;
        }
        self.fate = fate;
        self.message = attributes.message;
        if self.message.is_empty() {
            self.message = attributes.kind;
            self.listening = true;
            if !self.message.is_empty() {
                self.message.push_str(": ");
            }
        }
    }
}
