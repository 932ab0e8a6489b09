//! The audit log as a timeline: when, how long after the step before, what, from where to where, why.

use std::time::Duration;

use wire::api::AuditEvent;

use super::screen::{Screen, Style};
use super::state::Look;
use super::table::{Cell, Table};
use super::time::took;

pub fn text(screen: Screen, events: &[AuditEvent]) -> String {
    let mut table = Table::default();
    let mut before = events.first().map(|event| event.at);
    for event in events {
        let since = before.map_or(Duration::ZERO, |before| event.at.since(before));
        before = Some(event.at);
        table.row(row(event, since));
    }
    table.text(screen)
}

fn row(event: &AuditEvent, since: Duration) -> Vec<Cell> {
    let since = if since < Duration::from_millis(1) { String::new() } else { format!("+{}", took(since)) };
    let step = match &event.from {
        Some(from) => format!("{from} -> {}", event.to),
        None => event.to.clone(),
    };
    let style = match Look::of(&event.to).style {
        Style::Yellow | Style::Dim => Style::Plain, // on its way: nothing to stop at
        style @ (Style::Plain | Style::Bold | Style::Green | Style::Red) => style,
    };
    vec![
        Cell::dim(moment(&event.at.to_string())),
        Cell::dim(since).right(),
        Cell::new(&event.machine),
        Cell::dim(&event.entity),
        Cell::styled(style, step),
        Cell::new(format!("{} by {}: {}", event.event, event.owner, event.cause)),
    ]
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
    }
}
