//! The audit log as a timeline: when, how long after the step before, what, from where to where, why.
//!
//! On a terminal moments are times of one day and ids their last letters, so that the reason fits beside them; in a file
//! or pipe both are whole.

use std::time::Duration;

use wire::api::AuditEvent;

use super::screen::{Screen, Style};
use super::state::Look;
use super::table::{Cell, Table};
use super::time::took;

/// The last letters of an id are random: enough to tell two apart.
const ID_LETTERS: usize = 6;

pub fn text(screen: Screen, events: &[AuditEvent]) -> String {
    let mut text = String::new();
    let mut table = Table::default().wrapping();
    let mut before: Option<&AuditEvent> = None;
    for event in events {
        let day = |event: &AuditEvent| event.at.to_string().chars().take(10).collect::<String>();
        if screen.is_terminal() && before.map(day) != Some(day(event)) {
            text.push_str(&std::mem::take(&mut table).wrapping().text(screen));
            table = Table::default().wrapping();
            text.push_str(&format!("{}\n", screen.paint(Style::Dim, &day(event))));
        }
        let since = before.map_or(Duration::ZERO, |before| event.at.since(before.at));
        before = Some(event);
        table.row(row(event, since, screen));
    }
    text + &table.text(screen)
}

fn row(event: &AuditEvent, since: Duration, screen: Screen) -> Vec<Cell> {
    let since = if since < Duration::from_millis(1) { String::new() } else { format!("+{}", took(since)) };
    let step = match &event.from {
        Some(from) => format!("{from} -> {}", event.to),
        None => event.to.clone(),
    };
    let style = match Look::of(&event.to).style {
        Style::Yellow | Style::Dim => Style::Plain, // on its way: nothing to stop at
        style @ (Style::Plain | Style::Bold | Style::Green | Style::Red) => style,
    };
    let at = moment(&event.at.to_string());
    let (at, entity) = match screen.is_terminal() {
        true => (time_of_day(&at), shortened(&event.entity)),
        false => (at, event.entity.clone()),
    };
    vec![
        Cell::dim(at),
        Cell::dim(since).right(),
        Cell::new(&event.machine),
        Cell::dim(entity),
        Cell::styled(style, step),
        Cell::new(format!("{} by {}: {}", event.event, event.owner, event.cause)),
    ]
}

/// `job_01m7gn68dxe1zvzq4dqb64xqa5/1` is `…64xqa5/1`.
fn shortened(entity: &str) -> String {
    let (id, rest) = entity.split_at(entity.find('/').unwrap_or(entity.len()));
    let letters = id.chars().count();
    let end: String = id.chars().skip(letters.saturating_sub(ID_LETTERS)).collect();
    format!("…{end}{rest}")
}

fn time_of_day(moment: &str) -> String {
    moment.split_once('T').map_or(moment, |(_, time)| time.trim_end_matches('Z')).into()
}

/// To the millisecond: `2026-03-01T12:00:00.123Z`.
fn moment(time: &str) -> String {
    let (seconds, fraction) =
        time.trim_end_matches('Z').split_once('.').unwrap_or((time.trim_end_matches('Z'), ""));
    format!("{seconds}.{:0<3.3}Z", fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_three_digits() {
        for (time, expected) in [
            ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00.000Z"),
            ("2026-03-01T12:00:00.1Z", "2026-03-01T12:00:00.100Z"),
            ("2026-03-01T12:00:00.123456Z", "2026-03-01T12:00:00.123Z"),
        ] {
            assert_eq!(moment(time), expected);
        }
        assert_eq!(time_of_day("2026-03-01T12:00:00.123Z"), "12:00:00.123");
        assert_eq!(shortened("job_01m7gn68dxe1zvzq4dqb64xqa5/1"), "…64xqa5/1");
    }
}
