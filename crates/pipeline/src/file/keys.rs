//! Every key of the file: its name, what it is for, and what may stand there. The reader, the JSON Schema and a test of
//! the documentation use this one table.

use super::formats::Format;
use crate::problem::Code;

pub const FILE_NAME: &str = "delta-ci.yaml";

pub struct Key {
    pub name: &'static str,
    pub about: &'static str,
    pub shape: Shape,
    /// What to write when it is missing; empty when it may be.
    pub missing: &'static str,
}

pub enum Shape {
    /// The number 1.
    Version,
    Flag,
    Whole {
        least: i64,
        most: i64,
    },
    /// A scalar, as it was written.
    Text(Format),
    OneOf(&'static [&'static str]),
    /// A class of failures that can be retried.
    Class,
    List(List),
    /// One text, or a list of them.
    TextOrList(List),
    Table(&'static [Key]),
    Named(Named),
}

pub struct List {
    pub of: &'static Shape,
    pub most: usize,
    pub empty: Empty,
}

/// A table whose keys are the writer's.
pub struct Named {
    pub name: Format,
    pub of: &'static Shape,
    pub most: usize,
    pub empty: Empty,
}

/// Whether a list or table may hold nothing.
pub enum Empty {
    Allowed,
    Refused { code: Code, hint: &'static str },
}

const fn key(name: &'static str, about: &'static str, shape: Shape) -> Key {
    Key { name, about, shape, missing: "" }
}

const fn must(name: &'static str, about: &'static str, shape: Shape, missing: &'static str) -> Key {
    Key { name, about, shape, missing }
}

const fn list(of: &'static Shape, most: usize) -> Shape {
    Shape::List(List { of, most, empty: Empty::Allowed })
}

const fn full(hint: &'static str) -> Empty {
    Empty::Refused { code: Code::Empty, hint }
}

pub const FILE: &Shape = &Shape::Table(&[
    must("version", "The version of this format: 1.", Shape::Version, "begin the file with `version: 1`"),
    key("defaults", "What jobs have that do not say otherwise.", Shape::Table(DEFAULTS)),
    key("concurrency", "Runs that belong together.", Shape::Table(CONCURRENCY)),
    key("fail_fast", "Cancel the other jobs as soon as a required one has failed.", Shape::Flag),
    must(
        "jobs",
        "The jobs by name, in the order they are shown.",
        Shape::Named(Named {
            name: Format::JobName,
            of: &Shape::Table(JOB),
            most: super::JOBS_MAX,
            empty: Empty::Refused {
                code: Code::NoJobs,
                hint: "add a job such as `test: { run: make test }`",
            },
        }),
        "add `jobs:` with a job such as `test: { run: make test }`",
    ),
]);

const CONCURRENCY: &[Key] = &[
    must(
        "group",
        "Which runs belong together; `{branch}` and `{commit}` are filled in.",
        Shape::Text(Format::Template),
        "name the group, as in `group: \"{branch}\"`",
    ),
    key("cancel", "Whether a newer run of the group cancels the older ones.", Shape::Flag),
];

const TIMEOUT: Key = key(
    "timeout",
    "How long an attempt may take: `300ms`, `90s`, `20m`, `1h30m`.",
    Shape::Text(Format::Duration),
);
const IMAGE: Key = key("image", "The container image, for runners that use one.", Shape::Text(Format::Image));
const WORKDIR: Key =
    key("workdir", "The folder of the repository in which the steps run.", Shape::Text(Format::Folder));
const RUNS_ON: Key = key(
    "runs_on",
    "What a runner must be able to do, such as `os:linux`.",
    list(&Shape::Text(Format::Capability), 64),
);
const RETRY: Key = key("retry", "When a failed attempt is tried again.", Shape::Table(RETRIES));
const ENV: Key = key(
    "env",
    "Variables of the steps.",
    Shape::Named(Named {
        name: Format::VariableName,
        of: &Shape::Text(Format::Any),
        most: 1_000,
        empty: Empty::Allowed,
    }),
);

pub const DEFAULTS: &[Key] = &[IMAGE, TIMEOUT, ENV, RUNS_ON, RETRY, WORKDIR];

pub const JOB: &[Key] = &[
    must(
        "run",
        "The steps: shell commands, one after the other.",
        Shape::TextOrList(List {
            of: &Shape::Text(Format::Command),
            most: 1_000,
            empty: full("write at least one command"),
        }),
        "say what the job runs, as in `run: make test`",
    ),
    key(
        "needs",
        "Jobs that must have succeeded before; of a matrix, all its jobs.",
        list(&Shape::Text(Format::Any), super::JOBS_MAX),
    ),
    key(
        "paths",
        "Files that the result depends on; `!` before a pattern takes files out.",
        Shape::List(List {
            of: &Shape::Text(Format::Pattern),
            most: 1_000,
            empty: full("leave `paths` out for a job that depends on all files"),
        }),
    ),
    key("matrix", "One job for each combination of these values.", MATRIX),
    ENV,
    IMAGE,
    RUNS_ON,
    WORKDIR,
    TIMEOUT,
    RETRY,
    key("allow_failure", "The run succeeds also if this job fails.", Shape::Flag),
    key(
        "effect",
        "`once`: ask a person before an attempt whose end is unknown is repeated.",
        Shape::OneOf(&["idempotent", "once"]),
    ),
    key("artifacts", "Files that are kept after the job.", list(&Shape::Table(ARTIFACT), 200)),
    key("caches", "Folders that are kept for later runs.", list(&Shape::Table(CACHE), 50)),
    key("publish", "Make the artifacts an immutable version of a package.", Shape::Table(PUBLISH)),
    key(
        "priority",
        "Jobs with a higher number are started first.",
        Shape::Whole { least: -1_000, most: 1_000 },
    ),
    key("network", "Whether the steps may use the network; left out, the runner decides.", Shape::Flag),
];

const NO_VALUES: Empty = Empty::Refused {
    code: Code::EmptyMatrix,
    hint: "a matrix without values makes no job; give it values, as in `profile: [debug, release]`, or take it out",
};

const MATRIX: Shape = Shape::Named(Named {
    name: Format::MatrixKey,
    of: &Shape::List(List {
        of: &Shape::Text(Format::MatrixValue),
        most: super::COMBINATIONS_MAX,
        empty: NO_VALUES,
    }),
    most: 64,
    empty: NO_VALUES,
});

const RETRIES: &[Key] = &[
    key("max", "How often it is tried again; 0 is never.", Shape::Whole { least: 0, most: 99 }),
    key("on", "Which failures are tried again.", list(&Shape::Class, 10)),
];

const ARTIFACT: &[Key] = &[
    must(
        "type",
        "What they are: `junit` and `log` are known, other words are yours.",
        Shape::Text(Format::Word),
        "say what the files are, as in `type: junit`",
    ),
    must(
        "path",
        "A pattern over the files of the workspace.",
        Shape::Text(Format::Files),
        "say which files, as in `path: \"dist/**\"`",
    ),
];

const CACHE: &[Key] = &[
    must(
        "type",
        "What is kept, such as `deps`.",
        Shape::Text(Format::Word),
        "say what is kept, as in `type: deps`",
    ),
    must(
        "key",
        "The name it is kept under; `{hash:GLOB}` stands for the content of files.",
        Shape::Text(Format::Template),
        "name it, as in `key: \"cargo:{hash:Cargo.lock}\"`",
    ),
    must(
        "paths",
        "Folders below the workspace or below `~/`.",
        Shape::List(List {
            of: &Shape::Text(Format::CachePath),
            most: 50,
            empty: full("name the folders, as in `paths: [~/.cargo/registry]`"),
        }),
        "name the folders, as in `paths: [~/.cargo/registry]`",
    ),
];

const PUBLISH: &[Key] = &[
    must(
        "package",
        "The package's name.",
        Shape::Text(Format::Template),
        "name the package, as in `package: app`",
    ),
    must(
        "version",
        "The version's name; `{commit}` and `{branch}` are filled in.",
        Shape::Text(Format::Template),
        "name the version, as in `version: \"{commit}\"`",
    ),
];
