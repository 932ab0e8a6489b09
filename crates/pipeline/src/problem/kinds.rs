//! One problem, and the list of them that a reader fills.

use serde::{Serialize, Serializer};

/// A stretch of one line. Lines and columns count from one, columns and length in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Place {
    pub line: usize,
    pub column: usize,
    pub length: usize,
    /// In bytes from the beginning of the file.
    pub offset: usize,
}

impl Place {
    /// Where a file begins.
    pub const START: Place = Place { line: 1, column: 1, length: 0, offset: 0 };
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Stays the same when words change.
    pub code: Code,
    pub place: Place,
    /// The whole sentence: what is wrong.
    pub message: String,
    /// A few words, to stand beside the place.
    pub label: String,
    /// What to do next.
    pub hint: Option<String>,
}

impl Problem {
    pub fn new(
        code: Code,
        place: Place,
        message: impl Into<String>,
        label: impl Into<String>,
        hint: impl Into<String>,
    ) -> Problem {
        let hint = Some(hint.into()).filter(|hint| !hint.is_empty());
        Problem { code, place, message: message.into(), label: label.into(), hint }
    }
}

macro_rules! codes {
    ($($(#[doc = $about:literal])+ $name:ident = $text:literal,)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code { $($(#[doc = $about])+ $name,)+ }

        impl Code {
            pub const ALL: &[Code] = &[$(Code::$name,)+];

            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)+ }
            }
        }
    };
}

codes! {
    /// More bytes than a file may have.
    FileTooLarge = "file_too_large",
    /// Bytes that are no UTF-8.
    NotUtf8 = "not_utf8",
    /// A character that no text file holds.
    ControlCharacter = "control_character",
    /// Nothing but comments.
    FileEmpty = "file_empty",
    /// Not YAML.
    Syntax = "syntax",
    /// A tab where spaces indent.
    Tab = "tab",
    /// Lists and tables inside each other, too many times.
    TooDeep = "too_deep",
    /// Too many values, also after aliases are filled in.
    TooManyValues = "too_many_values",
    /// `*name` without a `&name` before it, or inside of what it names.
    UnknownAnchor = "unknown_anchor",
    /// `!name` before a value.
    Tag = "tag",
    /// A second `---`.
    ManyDocuments = "many_documents",
    /// The same key twice in one table.
    DuplicateKey = "duplicate_key",
    /// A list or table as a key.
    KeyNotText = "key_not_text",

    /// A key that means nothing there.
    UnknownKey = "unknown_key",
    /// A key that must be there.
    MissingKey = "missing_key",
    /// A list for a text, and so on.
    WrongType = "wrong_type",
    /// A version of the file's format that this program does not know.
    UnknownVersion = "unknown_version",
    /// A number too small or too large.
    OutOfRange = "out_of_range",
    /// More entries than a list or table may have.
    TooMany = "too_many",
    /// Nothing where something must be.
    Empty = "empty",
    /// Not one of the words that are known.
    UnknownWord = "unknown_word",
    /// A name of a job, a variable, a package or a matrix key that cannot be used.
    BadName = "bad_name",
    /// A text that cannot be used here.
    BadText = "bad_text",
    /// A duration such as `20m` is written otherwise.
    BadDuration = "bad_duration",
    /// A pattern that cannot be read.
    BadGlob = "bad_glob",
    /// A path that leads out of the workspace.
    BadPath = "bad_path",
    /// `{word}` where that word means nothing.
    UnknownPlaceholder = "unknown_placeholder",

    /// A file without jobs.
    NoJobs = "no_jobs",
    /// `needs` names no job.
    UnknownNeed = "unknown_need",
    /// A job that needs itself.
    SelfNeed = "self_need",
    /// The same need twice.
    DuplicateNeed = "duplicate_need",
    /// Jobs that wait for each other.
    Cycle = "cycle",
    /// A matrix without values.
    EmptyMatrix = "empty_matrix",
    /// More jobs than a matrix, or a file, may make.
    TooManyJobs = "too_many_jobs",
    /// Two jobs of one name, after matrices.
    DuplicateJob = "duplicate_job",
    /// One job, or all of them, with too much text after matrices.
    TooLarge = "too_large",
    /// A class of failures that a new attempt does not help.
    NeverRetried = "never_retried",
    /// A job that publishes nothing.
    NothingToPublish = "nothing_to_publish",
    /// Two jobs that publish the same version of the same package.
    DuplicateVersion = "duplicate_version",
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// More help nobody.
pub const PROBLEMS_MAX: usize = 50;

/// Gathers problems. What comes after the first fifty is dropped, and so is the same thing said of the same place again:
/// the jobs of a matrix share their lines.
#[derive(Debug, Default)]
pub struct Problems {
    list: Vec<Problem>,
}

impl Problems {
    pub fn add(&mut self, problem: Problem) {
        let known = |other: &Problem| other.place == problem.place && other.code == problem.code;
        if !self.is_full() && !self.list.iter().any(known) {
            self.list.push(problem);
        }
    }

    /// Whoever would go far for one more problem can stop.
    pub fn is_full(&self) -> bool {
        self.list.len() >= PROBLEMS_MAX
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// As a reader of the file meets them.
    pub fn sorted(mut self) -> Vec<Problem> {
        self.list.sort_by_key(|problem| problem.place.offset);
        self.list
    }
}
