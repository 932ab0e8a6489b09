//! What people see: each `files/problems/NAME.yaml` is drawn as `NAME.txt` says.

use std::fs;

use pipeline::file::read;
use pipeline::problem::{Code, Look, Problem, Style, draw_all};

use crate::golden;

const LOOK: Look<'static> = Look { file: "delta-ci.yaml", width: 100, style: Style::PLAIN };

#[test]
fn every_problem_is_drawn_as_people_shall_see_it() {
    for input in golden::files("problems", ".yaml") {
        let bytes = fs::read(&input).expect("the input can be read");
        let problems = read(&bytes).map(|_| ()).expect_err(&input.display().to_string());
        golden::compare(&input.with_extension("txt"), &draw_all(&problems, &bytes, LOOK));
    }
}

#[test]
fn every_code_is_shown_by_a_file() {
    let files = golden::files("problems", ".txt").into_iter();
    let drawn: String = files.map(|path| fs::read_to_string(path).expect("it can be read")).collect();
    // Its file would have to be as large as what it refuses.
    let elsewhere = [Code::FileTooLarge, Code::TooManyValues, Code::TooMany];
    for code in Code::ALL {
        let shown = drawn.contains(&format!("error[{}]", code.as_str()));
        assert!(shown || elsewhere.contains(code), "{code:?}");
    }
}

#[test]
fn colours_are_the_callers_and_change_nothing_else() {
    let bytes = b"version: 1\njobs:\n  a: { run: x, need: [] }\n";
    let problems = read(bytes).expect_err("`need` is unknown");
    let plain = draw_all(&problems, bytes, LOOK);
    let coloured = draw_all(&problems, bytes, Look { style: Style::COLOURS, ..LOOK });
    assert!(coloured.contains("\x1b[1;31m^^^^ not known here\x1b[0m"), "{coloured:?}");
    let Style { error, message, frame, mark, help, reset } = Style::COLOURS;
    let stripped =
        [error, message, frame, mark, help, reset].iter().fold(coloured, |text, code| text.replace(code, ""));
    assert_eq!(stripped, plain);
}

#[test]
fn a_problem_is_json_too() {
    let problems: Vec<Problem> =
        read(b"version: 1\njobs:\n  a: { run: x, need: [] }\n").expect_err("unknown");
    let expected = serde_json::json!([{
        "code": "unknown_key",
        "place": { "line": 3, "column": 16, "length": 4, "offset": 32 },
        "message": "`need` is not a key of `a`",
        "label": "not known here",
        "hint": "did you mean `needs`?",
    }]);
    assert_eq!(serde_json::to_value(problems).expect("JSON"), expected);
}

#[test]
fn what_a_hostile_file_says_never_reaches_a_terminal() {
    let file =
        "version: 1\njobs:\n  \"\\e[2J\": { run: x, \"\\e]0;t\\a\": 1 }\n  \u{202e}evil: { run: [] }\n";
    let problems = read(file.as_bytes()).expect_err("bad names");
    let drawn = draw_all(&problems, file.as_bytes(), LOOK);
    let bad = |letter: char| letter != '\n' && (letter.is_control() || letter == '\u{202e}');
    assert!(!drawn.contains(bad), "{drawn:?}");
}
