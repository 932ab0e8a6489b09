//! Parts of the story, each on the ground that a killed server would have left before it.
//!
//! A fault then costs a part and not the whole story, and what is under test begins at its first call.

use super::medium::Medium;
use super::recording::ground;
use super::site::{Said, Site};
use super::story::{LIFECYCLE, RESTARTS, STEPS, Step, perform};
use crate::script::block_on;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub first: usize,
    pub end: usize,
    /// From the moment it is opened; else that comes before.
    pub opening: bool,
    /// Until it is closed; else the process ends after its last answer, as if it was killed.
    pub closing: bool,
}

impl Part {
    pub const WHOLE: Part = Part { first: 0, end: STEPS.len(), opening: true, closing: true };

    /// Every step, the first with the making of the data, the last with its end; and one that begins with a recovery.
    pub fn all() -> Vec<Part> {
        let last = STEPS.len() - 1;
        let step = |first| Part { first, end: first + 1, opening: first == 0, closing: first == last };
        let recovered =
            STEPS.iter().position(|step| *step == Step::StreamBegun).expect("a step of the story");
        let recovered = Part { opening: true, ..step(recovered) };
        (0..STEPS.len()).map(step).chain([recovered]).collect()
    }

    pub fn steps(&self) -> &'static [Step] {
        &STEPS[self.first..self.end]
    }

    pub fn is_of_the_lifecycle(&self) -> bool {
        LIFECYCLE.contains(&self.first) && LIFECYCLE.contains(&(self.end - 1))
    }

    pub fn parse(text: &str) -> Part {
        let words: Vec<&str> = text.split(' ').collect();
        let [first, end, opening, closing] = words[..] else { panic!("`{text}` is no part") };
        let number = |word: &str| word.parse().expect("a number");
        Part {
            first: number(first),
            end: number(end),
            opening: opening == "true",
            closing: closing == "true",
        }
    }

    pub fn text(&self) -> String {
        format!("{} {} {} {}", self.first, self.end, self.opening, self.closing)
    }
}

/// The data as it lay before each step. In memory: it is laid out again for every fault.
pub struct Grounds(Vec<Medium>);

impl Grounds {
    pub fn prepare() -> Said<Grounds> {
        let (ground, mut grounds) = (ground(), Vec::new());
        let data = ground.path();
        block_on(async {
            let mut site = None;
            for step in STEPS {
                grounds.push(Medium::holding(data)); // nobody writes there now
                if RESTARTS.contains(&step)
                    && let Some(site) = site.take()
                {
                    Site::close(site).await;
                }
                let site = match &mut site {
                    Some(site) => site,
                    None => site.insert(Site::open(data).await?),
                };
                perform(site, step).await?;
            }
            Ok(Grounds(grounds))
        })
    }

    /// What this part is played on.
    pub fn of(&self, part: &Part) -> &Medium {
        &self.0[part.first]
    }
}
