//! A machine as data, and the three ways to show it: Mermaid, a full state × event matrix, plain text.

use std::fmt::Write;

use crate::table::Owner;

/// One machine, as its table says it.
#[derive(Debug)]
pub struct Description {
    pub name: &'static str,
    pub about: &'static str,
    /// A derived machine carries no authority: it is computed from others.
    pub derived: bool,
    pub initial: &'static str,
    pub states: &'static [StateInfo],
    /// States that rows leave, but where an entity may stay for good.
    pub rests: &'static [&'static str],
    pub events: &'static [&'static str],
    pub rows: &'static [Row],
}

#[derive(Debug)]
pub struct StateInfo {
    pub name: &'static str,
    pub about: &'static str,
}

/// A row of the table: one event, one target, one or more states it leaves.
#[derive(Debug)]
pub struct Row {
    pub from: &'static [&'static str],
    pub event: &'static str,
    pub to: &'static str,
    pub owner: Owner,
    pub source: Source,
}

/// Where a row comes from: a specification, or us, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Seed,
    Extension(&'static str),
}

impl Source {
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Seed => "seed",
            Source::Extension(_) => "extension",
        }
    }

    pub fn why(self) -> &'static str {
        match self {
            Source::Seed => "",
            Source::Extension(why) => why,
        }
    }
}

/// All machines, in the order they are shown: nine with authority, then the two derived ones.
pub static ROSTER: [&Description; 11] = [
    &crate::run::DESCRIPTION,
    &crate::attempt::DESCRIPTION,
    &crate::lease::DESCRIPTION,
    &crate::execution::DESCRIPTION,
    &crate::upload::DESCRIPTION,
    &crate::version::DESCRIPTION,
    &crate::delivery::DESCRIPTION,
    &crate::blob::DESCRIPTION,
    &crate::tenant::DESCRIPTION,
    &crate::job::DESCRIPTION,
    &crate::workflow::DESCRIPTION,
];

impl Description {
    pub fn named(name: &str) -> Option<&'static Description> {
        ROSTER.into_iter().find(|machine| machine.name == name)
    }

    /// The row for a pair, if the table lists it.
    pub fn row(&self, from: &str, event: &str) -> Option<&'static Row> {
        self.rows.iter().find(|row| row.event == event && row.from.contains(&from))
    }

    /// The table with one line per state left.
    pub fn steps(&self) -> impl Iterator<Item = (&'static str, &'static Row)> {
        self.rows.iter().flat_map(|row| row.from.iter().map(move |from| (*from, row)))
    }

    /// No row leaves the state.
    pub fn is_final(&self, state: &str) -> bool {
        self.steps().all(|(from, _)| from != state)
    }

    pub fn mermaid(&self) -> String {
        let mut text = format!("stateDiagram-v2\n    [*] --> {}\n", mermaid_id(self.initial));
        for state in self.states.iter().filter(|state| state.name.contains('-')) {
            let _ = writeln!(text, "    state \"{}\" as {}", state.name, mermaid_id(state.name));
        }
        for (from, row) in self.steps() {
            let mark = if row.source == Source::Seed { "" } else { " (ext)" };
            let _ =
                writeln!(text, "    {} --> {}: {}{mark}", mermaid_id(from), mermaid_id(row.to), row.event);
        }
        for state in self.states.iter().filter(|state| self.is_final(state.name)) {
            let _ = writeln!(text, "    {} --> [*]", mermaid_id(state.name));
        }
        text
    }

    /// Every state × every event, blanks included, so that a review sees what is not allowed.
    pub fn matrix(&self) -> String {
        let mut text = String::from("| |");
        for event in self.events {
            let _ = write!(text, " {event} |");
        }
        text.push_str("\n|---|");
        text.push_str(&"---|".repeat(self.events.len()));
        for state in self.states {
            let _ = write!(text, "\n| **{}** |", state.name);
            for event in self.events {
                match self.row(state.name, event) {
                    None => text.push_str(" · |"),
                    Some(row) if row.source == Source::Seed => {
                        let _ = write!(text, " {} |", row.to);
                    }
                    Some(row) => {
                        let _ = write!(text, " {} *ext* |", row.to);
                    }
                }
            }
        }
        text.push('\n');
        text
    }

    /// For a terminal: states with their meaning, then rows with owner and reason.
    pub fn text(&self) -> String {
        let derived = if self.derived { " (derived)" } else { "" };
        let mut text = format!("{}{derived}:{}\n", self.name, self.about);
        let width = self.states.iter().map(|state| state.name.len()).max().unwrap_or(0);
        for state in self.states {
            let end = if self.is_final(state.name) { " [final]" } else { "" };
            let _ = writeln!(text, "  {:width$} {}{end}", state.name, state.about);
        }
        let events = self.events.iter().map(|event| event.len()).max().unwrap_or(0);
        for (from, row) in self.steps() {
            let _ = write!(text, "    {from:width$} --{:-<events$}-> {:width$}", row.event, row.to);
            let _ = match row.source {
                Source::Seed => writeln!(text, "  {}", row.owner.as_str()),
                Source::Extension(why) => writeln!(text, "  {}  ext: {why}", row.owner.as_str()),
            };
        }
        text
    }
}

/// Mermaid reads a hyphen as an operator.
fn mermaid_id(state: &str) -> String {
    state.replace('-', "_")
}

/// `docs/machines.md`, whole.
pub fn document() -> String {
    let mut text = String::from(
        "# The state machines\n\n\
         Made from the tables in `crates/machines` by `cargo xtask golden`; do not edit. `·` marks a pair that is\n\
         refused; *ext* marks a row of ours, with its reason below the matrix. Where a row is not marked, a\n\
         specification lists it.\n",
    );
    for machine in ROSTER {
        let derived = if machine.derived { " (derived: carries no authority)" } else { "" };
        let _ = write!(text, "\n## `{}`{derived}\n\n{}\n\n", machine.name, machine.about.trim());
        let _ = write!(text, "```mermaid\n{}```\n\n", machine.mermaid());
        for state in machine.states {
            let _ = writeln!(text, "- `{}`:{}", state.name, state.about);
        }
        let _ = write!(text, "\n{}", machine.matrix());
        let extensions: Vec<_> = machine.steps().filter(|(_, row)| row.source != Source::Seed).collect();
        if !extensions.is_empty() {
            text.push_str("\nExtensions:\n\n");
        }
        for (from, row) in extensions {
            let _ = writeln!(text, "- `{from}` + {} → `{}`: {}", row.event, row.to, row.source.why());
        }
    }
    text
}
