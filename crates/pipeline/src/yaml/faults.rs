//! What the parser could not read, in words that help the writer.

use saphyr_parser::ScanError;

use crate::problem::{Code, Place, Problem, Source};

/// The first whose words are in the parser's message explains it.
struct Fault {
    words: &'static str,
    code: Code,
    message: &'static str,
    label: &'static str,
    hint: &'static str,
}

const FAULTS: &[Fault] = &[
    Fault {
        words: "unknown anchor",
        code: Code::UnknownAnchor,
        message: "an alias names an anchor that is not defined above it",
        label: "no `&` with this name above",
        hint: "define it first, as in `key: &name value`; put quotes around a text that begins with `*`",
    },
    Fault {
        words: "recursion limit",
        code: Code::TooDeep,
        message: "lists and tables are inside each other too many times",
        label: "too deep",
        hint: "no pipeline needs that; look for a bracket that is not closed",
    },
    Fault {
        words: "mapping values are not allowed",
        code: Code::Syntax,
        message: "a `:` stands where no value may begin",
        label: "not expected here",
        hint: "put quotes around a text that holds `: `, or look for wrong indentation above",
    },
    Fault {
        words: "illegal placement of ':'",
        code: Code::Syntax,
        message: "a `:` stands where no value may begin",
        label: "not expected here",
        hint: "look for a `[` or `{` above that is not closed",
    },
    Fault {
        words: "unexpected character",
        code: Code::Syntax,
        message: "a text without quotes cannot begin with this character",
        label: "not expected here",
        hint: "put quotes around the text",
    },
    Fault {
        words: "quoted scalar, found unexpected end of stream",
        code: Code::Syntax,
        message: "a quote is opened and never closed",
        label: "opened here",
        hint: "close it; inside double quotes write `\\\"` for a quote",
    },
    Fault {
        words: "in quoted scalar",
        code: Code::Syntax,
        message: "a quote is opened and not closed, or its next lines are not indented",
        label: "opened here",
        hint: "close it, or write longer texts below `|`",
    },
    Fault {
        words: "flow mapping",
        code: Code::Syntax,
        message: "a `{` is opened and not closed",
        label: "expected `,` or `}`",
        hint: "put quotes around a text that begins with `{` or holds `}`",
    },
    Fault {
        words: "flow sequence",
        code: Code::Syntax,
        message: "a `[` is opened and not closed",
        label: "expected `,` or `]`",
        hint: "put quotes around a text that begins with `[` or holds `]`",
    },
    Fault {
        words: "did not find expected key",
        code: Code::Syntax,
        message: "this line belongs to nothing above it",
        label: "a key was expected here",
        hint: "keys of one table begin in the same column",
    },
    Fault {
        words: "expected '-' indicator",
        code: Code::Syntax,
        message: "this line belongs to nothing above it",
        label: "an entry with `-` was expected here",
        hint: "a list and keys cannot be in one table; look at the indentation",
    },
];

const NOT_YAML: &str = "compare with the lines around it: indentation, quotes and brackets";

pub fn explain(error: &ScanError, source: &Source<'_>) -> Problem {
    let at = error.marker().index();
    let place = source.place(at, at + 1);
    let line = source.line(place.line);
    let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
    if error.info().contains("tab") && line[..blank].contains('\t') {
        let tab = line[..blank].find('\t').unwrap_or_default();
        let start = (at + tab + 1).saturating_sub(place.column);
        let message = "a tab is used to indent";
        let hint = "indent with spaces, two for each step";
        return Problem::new(Code::Tab, source.place(start, start + 1), message, "a tab", hint);
    }
    match FAULTS.iter().find(|fault| error.info().contains(fault.words)) {
        Some(Fault { code, message, label, hint, .. }) => {
            let place = if *code == Code::UnknownAnchor { word(at, line, source) } else { place };
            Problem::new(*code, place, *message, *label, *hint)
        }
        None => {
            let message = format!("this is not YAML: {}", error.info());
            Problem::new(Code::Syntax, place, message, "here", NOT_YAML)
        }
    }
}

/// From there to the end of an alias's name.
fn word(at: usize, line: &str, source: &Source<'_>) -> Place {
    let column = source.place(at, at).column;
    let rest = line.chars().skip(column - 1);
    let ends = |letter: &char| letter.is_whitespace() || "[]{},".contains(*letter);
    source.place(at, at + rest.take_while(|letter| !ends(letter)).count())
}
