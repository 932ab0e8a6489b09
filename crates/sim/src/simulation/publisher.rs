//! Publishers: bring bytes of which there are few, so that they meet, and publish, withdraw and restore versions of them.

use std::time::Duration;

use decisions::Answer;
use decisions::records::VersionName;
use wire::TenantId;

use super::course::{Course, Progress};
use super::words::{Client, Reply, Request};
use super::world::{Event, World, tenant};
use crate::history::{Op, OpId};

#[derive(Debug)]
pub struct Publisher {
    tenant: TenantId,
    course: Option<Course>,
    name: VersionName,
    content: u8,
    step: Step,
    tries_left: u32,
    op: Option<OpId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Rest,
    Bring,
    Quit,
    Create,
    Publish,
    Withdraw,
    Restore,
}

const TIMEOUT: Duration = Duration::from_secs(5);
const TRIES_MAX: u32 = 5;
/// There are so many different bytes.
pub const CONTENTS: u64 = 6;

impl Publisher {
    pub fn new(index: usize) -> Publisher {
        let tenant = tenant(1 + (index % 2) as u128);
        let name = VersionName { tenant, package: "app".into(), version: "0".into() };
        Publisher {
            tenant,
            course: None,
            name,
            content: 0,
            step: Step::Rest,
            tries_left: TRIES_MAX,
            op: None,
        }
    }

    pub fn rests(&self) -> bool {
        self.step == Step::Rest
    }
}

impl World {
    /// A new round, unless the storm is over.
    pub fn publisher_begins(&mut self, index: usize) {
        if self.faults.over {
            return;
        }
        let (content, version) = (self.dice.people.below(CONTENTS) as u8, self.dice.people.below(8));
        let it = &mut self.publishers[index];
        it.content = content;
        it.name.version = format!("{version}");
        it.course = Some(Course::new(it.tenant, content, None));
        it.step = Step::Bring;
        self.publisher_asks(index);
    }

    fn publisher_asks(&mut self, index: usize) {
        let it = &self.publishers[index];
        let (name, content) = (it.name.clone(), it.content);
        let request = match it.step {
            Step::Rest => return,
            Step::Bring => match &it.course {
                Some(course) => course.request(),
                None => return,
            },
            Step::Quit => match it.course.as_ref().and_then(Course::upload) {
                Some(upload) => Request::AbortUpload { tenant: it.tenant, upload },
                None => return self.publisher_rests(index),
            },
            Step::Create => Request::CreateVersion { name, content },
            Step::Publish => Request::Publish { name },
            Step::Withdraw => Request::Tombstone { name },
            Step::Restore => Request::Restore { name },
        };
        if let (Request::Publish { name }, None) = (&request, self.publishers[index].op) {
            let item = format!("{} {}", name.tenant, name.version);
            let op =
                self.history.invoke(format!("publisher {index}"), Op::Keep { set: "published".into(), item });
            self.publishers[index].op = Some(op);
        }
        self.ask(Client::Publisher(index), request, TIMEOUT);
    }

    pub fn publisher_answered(&mut self, index: usize, reply: Reply) {
        let quits = self.dice.people.chance(0.1);
        let step = self.publishers[index].step;
        if step == Step::Bring {
            return self.publisher_brought(index, &reply, quits);
        }
        let it = &mut self.publishers[index];
        if reply == Reply::Unknown && it.tries_left > 0 {
            it.tries_left -= 1;
            let pause = self.dice.people.millis(200, 3_000);
            return self.agenda.add(self.now.plus(pause), Event::PublisherAgain { publisher: index });
        }
        it.tries_left = TRIES_MAX;
        if let (Step::Publish, Some(op)) = (step, it.op.take()) {
            match &reply {
                Reply::Done(Answer::VersionIs { .. }) => self.history.ok(op),
                // Held back or refused: a second copy may still be taken.
                Reply::Done(_) | Reply::Refused(_) | Reply::Unknown => self.history.unknown(op),
            }
        }
        let taken = matches!(reply, Reply::Done(_));
        let goes_on = self.dice.people.chance(0.6);
        let next = match step {
            Step::Create if taken => Step::Publish,
            Step::Publish if taken && goes_on => Step::Withdraw,
            Step::Withdraw if taken && goes_on => Step::Restore,
            _ => return self.publisher_rests(index),
        };
        self.publishers[index].step = next;
        let pause = self.dice.people.millis(10, 20_000);
        self.agenda.add(self.now.plus(pause), Event::PublisherAgain { publisher: index });
    }

    fn publisher_brought(&mut self, index: usize, reply: &Reply, quits: bool) {
        let it = &mut self.publishers[index];
        let Some(course) = &mut it.course else { return };
        let pause = match course.handle(reply) {
            Progress::Next if quits => {
                it.step = Step::Quit;
                self.dice.people.millis(0, 2_000)
            }
            Progress::Next => self.dice.people.millis(1, 4_000),
            Progress::Done => {
                it.step = Step::Create;
                // Sometimes so long that the bytes are hardly held any more.
                let grace = self.setup.policy.blob_grace.as_millis() as u64;
                if self.dice.people.chance(0.3) {
                    self.dice.people.millis(grace / 2, grace + 1_000)
                } else {
                    self.dice.people.millis(1, 2_000)
                }
            }
            Progress::Failed => return self.publisher_rests(index),
        };
        self.agenda.add(self.now.plus(pause), Event::PublisherAgain { publisher: index });
    }

    pub fn publisher_again(&mut self, index: usize) {
        self.publisher_asks(index);
    }

    fn publisher_rests(&mut self, index: usize) {
        let it = &mut self.publishers[index];
        (it.step, it.course) = (Step::Rest, None);
        let pause = self.dice.people.millis(500, 20_000);
        self.agenda.add(self.now.plus(pause), Event::PublisherBegins { publisher: index });
    }
}
