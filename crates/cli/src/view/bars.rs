//! Files on their way: a bar each on a terminal, and everywhere a line for each that has arrived.

use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::screen::{Screen, Style, fitted, one_line, width};
use super::time::size;

const DRAWN_PER_SECOND: u8 = 10;
/// Between two looks at how far a file is.
pub const LOOK_EVERY: Duration = Duration::from_millis(100);
const NAME_COLUMNS_MAX: usize = 32;
/// Narrower terminals have no room for the bar itself.
const BAR_COLUMNS_MIN: usize = 90;

const WIDE: &str = "{spinner:.green} {msg}  {bar:24.green/dim}  {binary_bytes:>10} of {binary_total_bytes:<10}  {binary_bytes_per_sec:>12}  {eta:>4}";
const NARROW: &str =
    "{spinner:.green} {msg}  {binary_bytes:>10}  {percent:>3}%  {binary_bytes_per_sec:>12}  {eta:>4}";

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
        bar.set_style(style.progress_chars("━╸─").tick_chars("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ "));
        bar.set_message(self.padded(name));
        bar.enable_steady_tick(LOOK_EVERY);
        Bar(bar)
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

pub struct Bar(ProgressBar);

impl Bar {
    pub fn at(&self, position: u64) {
        self.0.set_position(position);
    }

    /// Where the work begins counts for nothing in its rate.
    pub fn resume_at(&self, position: u64) {
        self.0.set_position(position);
        self.0.reset_eta();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
