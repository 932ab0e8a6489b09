//! The words of a line: plain ones in order, and options written `name=value`.

use std::str::FromStr;
use std::time::Duration;

#[derive(Debug, Default)]
pub struct Words<'a> {
    pub plain: Vec<&'a str>,
    options: Vec<(&'a str, &'a str)>,
}

impl<'a> Words<'a> {
    pub fn of(words: impl IntoIterator<Item = &'a str>) -> Words<'a> {
        let mut split = Words::default();
        for word in words {
            // In a plan's job the options belong to the job, not to the line.
            match word.split_once('=').filter(|(name, _)| !name.contains(':')) {
                Some(option) => split.options.push(option),
                None => split.plain.push(word),
            }
        }
        split
    }

    pub fn split(text: &'a str, at: char) -> Words<'a> {
        Words::of(text.split(at).filter(|word| !word.is_empty()))
    }

    pub fn at(&self, index: usize) -> Result<&'a str, String> {
        self.plain.get(index).copied().ok_or_else(|| format!("word {} is missing", index + 1))
    }

    /// Everything from a word on, as text.
    pub fn rest(&self, from: usize) -> String {
        self.plain.get(from..).unwrap_or_default().join(" ")
    }

    pub fn has(&self, word: &str) -> bool {
        self.plain.contains(&word)
    }

    pub fn option(&self, name: &str) -> Option<&'a str> {
        self.options.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// Values joined by `+`.
    pub fn list(&self, name: &str) -> Vec<String> {
        self.option(name).map(|values| values.split('+').map(Into::into).collect()).unwrap_or_default()
    }

    pub fn number<N: FromStr>(&self, name: &str) -> Result<Option<N>, String> {
        let parse = |value: &str| value.parse().map_err(|_| format!("`{value}` is no number for {name}"));
        self.option(name).map(parse).transpose()
    }

    pub fn seconds(&self, name: &str) -> Result<Option<f64>, String> {
        self.option(name).map(|value| duration(value).map(|it| it.as_secs_f64())).transpose()
    }
}

/// `90s`, `1.5s`, `2m`, `6h`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let bad = || format!("`{text}` is no time");
    let (number, unit) = text.split_at(text.len().checked_sub(1).ok_or_else(bad)?);
    let seconds = match unit {
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(bad()),
    };
    let number: f64 = number.parse().map_err(|_| bad())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| bad())
}
