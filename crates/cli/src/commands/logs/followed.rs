//! What a followed log says, on its way to stdout.

use anyhow::Result;
use serde_json::{Value, json};

use crate::api::Followed;
use crate::output;
use crate::view::log::LogText;
use crate::view::screen::{Screen, Style};
use crate::view::time::grouped;

/// The log of one job.
pub struct Printed {
    id: String,
    name: String,
    log: LogText,
    json: bool,
    /// An execution was announced; the first goes without saying.
    begun: bool,
}

impl Printed {
    pub fn new(id: String, name: String, log: LogText, json: bool) -> Printed {
        Printed { id, name, log, json, begun: false }
    }

    pub fn print(&mut self, followed: &Followed) -> Result<()> {
        if self.json { self.print_json(followed) } else { self.print_text(followed) }
    }

    fn print_text(&mut self, followed: &Followed) -> Result<()> {
        let bytes = match followed {
            Followed::Log(text) => self.log.text(text.text.as_bytes()),
            Followed::Gap(gap) => self.log.marker(&format!("{} bytes left out here", grouped(gap.bytes))),
            Followed::Lost(lost) => self.log.marker(&format!(
                "the lease of {} was lost here ({}); its end may be missing",
                lost.exec_id, lost.lease_state
            )),
            Followed::Execution(execution) if std::mem::replace(&mut self.begun, true) => self.log.marker(
                &format!("attempt {}, execution {} begins here", execution.attempt, execution.exec_id),
            ),
            Followed::Execution(_) => return Ok(()),
            Followed::Broken => {
                let said = "the connection broke; going on from where it was";
                eprintln!("{}", Screen::stderr().paint(Style::Dim, said));
                return Ok(());
            }
            Followed::End(_) => self.log.end(),
        };
        output::write(&bytes)
    }

    fn print_json(&self, followed: &Followed) -> Result<()> {
        let (event, data) = match followed {
            Followed::Execution(execution) => ("execution", json!(execution)),
            Followed::Log(text) => ("log", json!(text)),
            Followed::Gap(gap) => ("gap", json!(gap)),
            Followed::Lost(lost) => ("lost", json!(lost)),
            Followed::Broken => ("broken", Value::Null),
            Followed::End(end) => ("end", json!(end)),
        };
        output::line(json!({ "job_id": self.id, "name": self.name, "event": event, "data": data }))
    }
}
