//! How a run under trouble went, drawn: a line for each process with what was done to it, and below it the jobs that ended.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::page::escaped;
use super::record::{Fault, Happened, Moment, Record, Word};

const WIDTH: f64 = 960.0;
const LEFT: f64 = 90.0;
const ROW: f64 = 26.0;
const BARS: usize = 96;
const BARS_HEIGHT: f64 = 70.0;
const LEGEND_HEIGHT: f64 = 34.0;
/// A drawing, and how high it is.
#[derive(Debug, Clone)]
pub struct Picture {
    pub svg: String,
    pub height: usize,
}

struct Axis {
    from: i64,
    length: f64,
}

impl Axis {
    fn x(&self, at: i64) -> f64 {
        LEFT + (at - self.from) as f64 / self.length * (WIDTH - LEFT - 16.0)
    }
}

pub fn draw(record: &Record) -> Option<Picture> {
    let moments = &record.moments;
    let (first, last) = (moments.first()?, moments.last()?);
    let axis = Axis { from: first.at, length: (last.at - first.at).max(1) as f64 };
    let names: BTreeSet<&str> = moments.iter().filter_map(whom).collect();
    // Servers above runners.
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by_key(|name| (!name.starts_with("server"), *name));
    let mut body = legend();
    for (place, name) in names.iter().enumerate() {
        let y = LEGEND_HEIGHT + ROW * (place as f64 + 0.5);
        let _ = write!(
            body,
            "<text x=\"8\" y=\"{:.0}\" class=\"ink\">{}</text>\
             <line x1=\"{LEFT}\" x2=\"{:.0}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"var(--line)\" stroke-width=\"2\"/>",
            y + 4.0,
            escaped(name),
            WIDTH - 16.0
        );
        moments
            .iter()
            .filter(|moment| whom(moment) == Some(name))
            .for_each(|moment| body += &mark(moment, &axis, y));
    }
    let top = LEGEND_HEIGHT + ROW * names.len() as f64 + 12.0;
    body += &ends(moments, &axis, top);
    let height = top + BARS_HEIGHT + 24.0;
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" aria-label=\"What was done to each process, and how many jobs ended, over time\">{body}</svg>"
    );
    Some(Picture { svg, height: height as usize })
}

fn whom(moment: &Moment) -> Option<&str> {
    match &moment.what {
        Happened::Fault { whom, .. } | Happened::Ready { whom } => Some(whom.as_str()),
        _ => None,
    }
}

/// A sign and a colour for each kind, so that neither has to be told from the other alone.
fn look(fault: Fault) -> (&'static str, &'static str) {
    match fault {
        Fault::KillServer | Fault::KillRunner => ("kill", "#d92d20"),
        Fault::FreezeServer | Fault::FreezeRunner => ("freeze", "#1c7ed6"),
        Fault::Cut => ("cut", "#e8890c"),
        Fault::StopServer => ("restart", "#868e96"),
        Fault::FillDisk => ("full disk", "#ae3ec9"),
        Fault::SetClock | Fault::SetClockBetween => ("clock", "#0c8599"),
        Fault::Delayed | Fault::Doubled | Fault::LostRequest | Fault::LostAnswer => ("bad wire", "#2b8a3e"),
    }
}

fn sign(word: &str, colour: &str, x: f64, y: f64) -> String {
    match word {
        "kill" => format!(
            "<path d=\"M{:.1} {:.1}l8 10m0 -10l-8 10\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            x - 4.0,
            y - 5.0
        ),
        "freeze" => {
            format!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"8\" height=\"8\" fill=\"{colour}\"/>",
                x - 4.0,
                y - 4.0
            )
        }
        "cut" => format!("<path d=\"M{x:.1} {:.1}l5 5l-5 5l-5 -5z\" fill=\"{colour}\"/>", y - 5.0),
        "clock" => format!("<path d=\"M{x:.1} {:.1}l5 9h-10z\" fill=\"{colour}\"/>", y - 5.0),
        "bad wire" => {
            format!("<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"1.5\" height=\"7\" fill=\"{colour}\"/>", y + 3.0)
        }
        _ => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>"),
    }
}

fn mark(moment: &Moment, axis: &Axis, y: f64) -> String {
    let Happened::Fault { what, .. } = &moment.what else { return String::new() };
    let (word, colour) = look(*what);
    sign(word, colour, axis.x(moment.at), y)
}

fn legend() -> String {
    let kinds = [
        Fault::KillServer,
        Fault::FreezeRunner,
        Fault::Cut,
        Fault::StopServer,
        Fault::FillDisk,
        Fault::SetClock,
        Fault::Doubled,
    ];
    let mut text = String::new();
    for (place, (word, colour)) in kinds.map(look).into_iter().enumerate() {
        let x = LEFT + 110.0 * place as f64;
        text += &sign(word, colour, x, 14.0);
        let _ = write!(text, "<text x=\"{:.0}\" y=\"18\">{word}</text>", x + 12.0);
    }
    text
}

/// How many jobs came to their end in each part of the time.
fn ends(moments: &[Moment], axis: &Axis, top: f64) -> String {
    let mut bars = [0usize; BARS];
    for moment in moments {
        if matches!(moment.what, Happened::Effect { word: Word::End, .. }) {
            let part = (moment.at - axis.from) as f64 / axis.length * BARS as f64;
            bars[(part as usize).min(BARS - 1)] += 1;
        }
    }
    let (most, step) = (bars.iter().copied().max().unwrap_or(0).max(1), (WIDTH - LEFT - 16.0) / BARS as f64);
    let mut text = format!("<text x=\"8\" y=\"{:.0}\" class=\"ink\">jobs done</text>", top + BARS_HEIGHT);
    for (place, count) in bars.iter().enumerate().filter(|(_, count)| **count > 0) {
        let height = *count as f64 / most as f64 * BARS_HEIGHT;
        let _ = write!(
            text,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\" rx=\"1\" fill=\"var(--bar)\"/>",
            LEFT + step * place as f64,
            top + BARS_HEIGHT - height,
            step - 1.5
        );
    }
    for part in 0..=4 {
        let x = LEFT + (WIDTH - LEFT - 16.0) * f64::from(part) / 4.0;
        let seconds = axis.length / 1e6 * f64::from(part) / 4.0;
        let anchor = if part == 4 { "end" } else { "start" };
        let y = top + BARS_HEIGHT + 18.0;
        let _ =
            write!(text, "<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"{anchor}\">{seconds:.0} s</text>");
    }
    text
}
