//! Files on their way: a bar each on a terminal, and everywhere a line for each that has arrived.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::screen::{Screen, Style, fitted, one_line, width};
use super::time::{size, took};

const DRAWN_PER_SECOND: u8 = 10;
/// Between two looks at how far a file is.
pub const LOOK_EVERY: Duration = Duration::from_millis(100);
const NAME_COLUMNS_MAX: usize = 32;
/// Narrower terminals have no room for the bar itself.
const BAR_COLUMNS_MIN: usize = 90;

const WIDE: &str =
    "{spinner:.green} {msg}  {bar:24.green/dim}  {there:>9} of {all:<9}  {rate:>10}  {left:>6}";
const NARROW: &str = "{spinner:.green} {msg}  {there:>9}  {percent:>3}%  {rate:>10}  {left:>6}";

pub struct Bars {
    all: MultiProgress,
    screen: Screen,
    quiet: bool,
    name_columns: usize,
}

impl Bars {
    /// For files of these names; quiet when a program reads what is said.
    pub fn new<'a>(names: impl Iterator<Item = &'a str>, quiet: bool) -> Bars {
        let screen = Screen::stderr();
        let target = match screen.is_terminal() && !quiet {
            true => ProgressDrawTarget::stderr_with_hz(DRAWN_PER_SECOND),
            false => ProgressDrawTarget::hidden(),
        };
        let widest = names.map(|name| width(&one_line(name))).max().unwrap_or(0);
        Bars {
            all: MultiProgress::with_draw_target(target),
            screen,
            quiet,
            name_columns: widest.min(NAME_COLUMNS_MAX),
        }
    }

    /// A bar that goes away when it is dropped.
    pub fn begin(&self, name: &str, length: u64) -> Bar {
        let bar = self.all.add(ProgressBar::new(length));
        let template = match self.screen.columns {
            Some(columns) if columns < BAR_COLUMNS_MIN => NARROW,
            Some(_) | None => WIDE,
        };
        let style = ProgressStyle::with_template(template).expect("the template is ours");
        let began_at = Arc::new(AtomicU64::new(0));
        bar.set_style(with_figures(style, &began_at).progress_chars("━╸─").tick_chars("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ "));
        bar.set_message(self.padded(name));
        bar.enable_steady_tick(LOOK_EVERY);
        Bar { bar, began_at }
    }

    /// A file has arrived.
    pub fn done(&self, name: &str, length: u64, note: &str) {
        let sign = self.screen.paint(Style::Green, "✓");
        let note = self.screen.paint(Style::Dim, note);
        self.say(format!("{sign} {}  {:>9}  {note}", self.padded(name), size(length)).trim_end());
    }

    /// Something a person should know.
    pub fn tell(&self, text: &str) {
        self.say(&self.screen.paint(Style::Dim, text));
    }

    /// Above the bars, or as a plain line.
    fn say(&self, line: &str) {
        if self.quiet {
            return;
        }
        // Hidden bars would swallow it.
        if self.screen.is_terminal() {
            let _ = self.all.println(line);
        } else {
            eprintln!("{line}");
        }
    }

    fn padded(&self, name: &str) -> String {
        let name = one_line(name);
        match self.screen.columns {
            None => name,
            Some(_) => {
                let name = fitted(&name, self.name_columns);
                let padding = " ".repeat(self.name_columns - width(&name));
                name + &padding
            }
        }
    }
}

pub struct Bar {
    bar: ProgressBar,
    /// What was there before counts for nothing in the rate.
    began_at: Arc<AtomicU64>,
}

impl Bar {
    pub fn at(&self, position: u64) {
        self.bar.set_position(position);
    }

    /// Moves it on from another thread.
    pub fn mover(&self) -> impl Fn(u64) + Send + 'static {
        let bar = self.bar.clone();
        move |bytes| bar.inc(bytes)
    }

    pub fn resume_at(&self, position: u64) {
        self.began_at.store(position, Ordering::Relaxed);
        self.bar.reset_elapsed();
        self.bar.set_position(position);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Sizes and times as everywhere else in the program.
fn with_figures(style: ProgressStyle, began_at: &Arc<AtomicU64>) -> ProgressStyle {
    let (for_rate, for_left) = (began_at.clone(), began_at.clone());
    style
        .with_key("there", |state: &ProgressState, text: &mut dyn Write| {
            let _ = text.write_str(&size(state.pos()));
        })
        .with_key("all", |state: &ProgressState, text: &mut dyn Write| {
            let _ = text.write_str(&state.len().filter(|length| *length > 0).map(size).unwrap_or_default());
        })
        .with_key("rate", move |state: &ProgressState, text: &mut dyn Write| {
            let rate = rate(state, for_rate.load(Ordering::Relaxed));
            let _ = text.write_str(&rate.map(|rate| format!("{}/s", size(rate as u64))).unwrap_or_default());
        })
        .with_key("left", move |state: &ProgressState, text: &mut dyn Write| {
            let missing = state.len().unwrap_or(0).saturating_sub(state.pos()) as f64;
            let rate =
                rate(state, for_left.load(Ordering::Relaxed)).filter(|rate| *rate > 0.0 && missing > 0.0);
            let left = rate.and_then(|rate| Duration::try_from_secs_f64((missing / rate).ceil()).ok());
            let _ = text.write_str(&left.map(took).unwrap_or_default());
        })
}

/// Bytes in a second, once there is something to tell it from.
fn rate(state: &ProgressState, began_at: u64) -> Option<f64> {
    const FIRST: Duration = Duration::from_millis(200);
    let elapsed = state.elapsed();
    (elapsed >= FIRST).then(|| state.pos().saturating_sub(began_at) as f64 / elapsed.as_secs_f64())
}
