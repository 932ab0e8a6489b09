//! What a text may be, by what it is used for.

use decisions::versions::check_name;

use super::duration::seconds;
use crate::globs::{self, BadGlob};
use crate::problem::{Code, Place, Problem, is_hidden, short};

pub const NAME_LENGTH_MAX: usize = 200;
const WORD_LENGTH_MAX: usize = 128;
const TEXT_LENGTH_MAX: usize = 1_024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The value of a variable, a need.
    Any,
    /// A shell command.
    Command,
    JobName,
    VariableName,
    MatrixKey,
    MatrixValue,
    Duration,
    Image,
    /// A folder of the repository.
    Folder,
    /// A pattern over files, perhaps with `!`.
    Pattern,
    /// A pattern over files.
    Files,
    /// A folder below the workspace or the home folder.
    CachePath,
    Capability,
    /// A type of artifacts or caches.
    Word,
    /// With placeholders; looked at when those are filled in.
    Template,
    /// A package's name.
    Package,
}

/// A word of ours that a matrix cannot use for itself.
const RESERVED: [&str; 2] = ["commit", "branch"];

impl Format {
    pub fn check(self, text: &str, place: Place) -> Result<(), Problem> {
        // What a shell gets may hold anything but the end of a text.
        let free = matches!(self, Format::Any | Format::Command);
        let problem = unusable(text, |letter| if free { letter == '\0' } else { is_hidden(letter) });
        match problem.or_else(|| self.fault(text)) {
            None => Ok(()),
            Some(Fault { code, message, label, hint }) => {
                Err(Problem::new(code, place, message, label, hint))
            }
        }
    }

    fn fault(self, text: &str) -> Option<Fault> {
        match self {
            Format::Any | Format::Template => None,
            Format::Command => text.trim().is_empty().then(|| Fault {
                code: Code::Empty,
                message: "a step is empty".into(),
                label: "no command".into(),
                hint: "write a command, or take the step out".into(),
            }),
            Format::JobName => job_name(text),
            Format::VariableName => name(text, "a variable", |letter| letter == '_'),
            Format::MatrixKey => matrix_key(text),
            Format::MatrixValue => too_long(text, NAME_LENGTH_MAX),
            Format::Duration => duration(text),
            Format::Image => image(text),
            Format::Folder => folder(text),
            Format::CachePath => folder(text.strip_prefix("~/").unwrap_or(text)),
            Format::Pattern => glob(text.strip_prefix('!').unwrap_or(text)),
            Format::Files => glob(text),
            Format::Capability => empty(text).or_else(|| too_long(text, WORD_LENGTH_MAX)),
            Format::Word => name(text, "a type", |letter| "._-".contains(letter)),
            Format::Package => package(text),
        }
    }

    /// For editors; it lets through whatever the check does.
    pub fn pattern(self) -> Option<&'static str> {
        match self {
            Format::Any | Format::MatrixValue => None,
            Format::Command | Format::Capability | Format::Template | Format::Package => Some(r"\S"),
            Format::JobName => Some(r"^\S(.*\S)?$"),
            Format::VariableName => Some("^[A-Za-z_][A-Za-z0-9_]*$"),
            Format::MatrixKey => Some("^[A-Za-z_][A-Za-z0-9_-]*$"),
            Format::Duration => Some(r"^([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+$"),
            Format::Image => Some(r"^\S+$"),
            Format::Folder | Format::Files | Format::CachePath => Some("^[^/]"),
            Format::Pattern => Some("^!?[^/]"),
            Format::Word => Some("^[A-Za-z_{][A-Za-z0-9._{}-]*$"),
        }
    }
}

/// A problem that does not yet know its place.
struct Fault {
    code: Code,
    message: String,
    label: String,
    hint: String,
}

fn unusable(text: &str, is_bad: impl Fn(char) -> bool) -> Option<Fault> {
    let letter = text.chars().find(|letter| is_bad(*letter))?;
    Some(Fault {
        code: Code::BadText,
        message: format!("the text holds the character U+{:04X}, which cannot be used here", letter as u32),
        label: "in this text".into(),
        hint: "take it out; it may be invisible".into(),
    })
}

fn empty(text: &str) -> Option<Fault> {
    text.trim().is_empty().then(|| Fault {
        code: Code::Empty,
        message: "the text is empty".into(),
        label: "nothing here".into(),
        hint: "write something, or take the entry out".into(),
    })
}

fn too_long(text: &str, most: usize) -> Option<Fault> {
    (text.len() > most).then(|| Fault {
        code: Code::BadText,
        message: format!("the text is longer than {most} bytes"),
        label: "too long".into(),
        hint: "use a shorter one".into(),
    })
}

fn job_name(text: &str) -> Option<Fault> {
    let fits = (1..=NAME_LENGTH_MAX).contains(&text.chars().count()) && text.trim() == text;
    (!fits).then(|| Fault {
        code: Code::BadName,
        message: format!("`{}` cannot be the name of a job", short(text)),
        label: "this name".into(),
        hint: format!("a name has 1 to {NAME_LENGTH_MAX} characters and no space at its ends"),
    })
}

/// Letters and digits, and what is allowed beside them; not beginning with a digit.
fn name(text: &str, what: &str, also: impl Fn(char) -> bool) -> Option<Fault> {
    let begins = text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    let fits = begins && text.chars().all(|letter| letter.is_ascii_alphanumeric() || also(letter));
    let long = text.len() > WORD_LENGTH_MAX;
    (!fits || long).then(|| Fault {
        code: Code::BadName,
        message: format!("`{}` cannot be the name of {what}", short(text)),
        label: "this name".into(),
        hint: format!("use up to {WORD_LENGTH_MAX} letters, digits and `_`, and begin with a letter"),
    })
}

fn matrix_key(text: &str) -> Option<Fault> {
    if RESERVED.contains(&text) {
        return Some(Fault {
            code: Code::BadName,
            message: format!("`{{{text}}}` has a meaning already"),
            label: "taken".into(),
            hint: "use another name for this key of the matrix".into(),
        });
    }
    name(text, "a key of a matrix", |letter| "_-".contains(letter))
}

fn duration(text: &str) -> Option<Fault> {
    let why = seconds(text).err()?;
    let unit = text.parse::<u64>().is_ok();
    Some(Fault {
        code: Code::BadDuration,
        message: format!("`{}` is no duration", short(text)),
        label: why.into(),
        hint: if unit {
            format!("say the unit: `{text}s` or `{text}m`")
        } else {
            "write it like `300ms`, `90s`, `20m` or `1h30m`".into()
        },
    })
}

fn image(text: &str) -> Option<Fault> {
    let fits = !text.is_empty() && text.len() <= TEXT_LENGTH_MAX && !text.contains(char::is_whitespace);
    (!fits).then(|| Fault {
        code: Code::BadName,
        message: format!("`{}` cannot be the name of an image", short(text)),
        label: "this name".into(),
        hint: "write it like `debian:12`".into(),
    })
}

fn folder(text: &str) -> Option<Fault> {
    let (label, hint) = if text.starts_with('/') || text.starts_with('~') {
        ("an absolute path", "write it relative to the repository, as in `backend/api`")
    } else if text.split('/').any(|part| part == "..") {
        ("`..` leads out", "stay inside the repository")
    } else if text.is_empty() || text.len() > TEXT_LENGTH_MAX {
        ("empty or too long", "`.` is the repository itself")
    } else {
        return None;
    };
    Some(Fault {
        code: Code::BadPath,
        message: format!("`{}` is no folder inside the repository", short(text)),
        label: label.into(),
        hint: hint.into(),
    })
}

fn glob(text: &str) -> Option<Fault> {
    if text.len() > TEXT_LENGTH_MAX {
        return too_long(text, TEXT_LENGTH_MAX);
    }
    let bad = globs::normal(text).err()?;
    Some(Fault {
        code: code_of(&bad),
        message: format!("the pattern `{}` cannot be used", short(text)),
        label: bad.to_string(),
        hint: "`*` stays within a name, `**` does not, `{a,b}` is either; as in `src/**/*.rs`".into(),
    })
}

pub fn code_of(bad: &BadGlob) -> Code {
    match bad {
        BadGlob::Absolute | BadGlob::LeadsOut => Code::BadPath,
        BadGlob::TooLong | BadGlob::NamesNoFile | BadGlob::Unreadable(_) => Code::BadGlob,
    }
}

fn package(text: &str) -> Option<Fault> {
    check_name("package", text).err().map(|_| Fault {
        code: Code::BadName,
        message: format!("`{}` cannot be the name of a package or version", short(text)),
        label: "this name".into(),
        hint: format!("use up to {WORD_LENGTH_MAX} letters, digits and `._+-`; begin with a letter or digit"),
    })
}
