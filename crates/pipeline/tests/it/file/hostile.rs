//! Whatever the bytes: an answer, soon, without a panic, with places that are in the file and words that are safe to
//! print. Known nasty inputs are kept in `files/hostile` and read again each time.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

use pipeline::file::read;
use pipeline::problem::{Look, PROBLEMS_MAX, Style, draw_all};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::golden;

const SOON: Duration = Duration::from_secs(20);

/// What must hold for every input.
fn holds(bytes: &[u8]) {
    let begun = Instant::now();
    match read(bytes) {
        Ok(pipeline) => {
            let names: HashSet<&str> = pipeline.jobs.iter().map(|job| job.name.as_str()).collect();
            assert_eq!(names.len(), pipeline.jobs.len(), "names are unique");
            assert!(pipeline.jobs.iter().flat_map(|job| &job.needs).all(|need| names.contains(&**need)));
            assert!(!names.is_empty());
        }
        Err(problems) => {
            assert!((1..=PROBLEMS_MAX).contains(&problems.len()), "{}", problems.len());
            assert!(problems.is_sorted_by_key(|problem| problem.place.offset));
            assert!(problems.iter().all(|problem| problem.place.offset <= bytes.len()));
            assert!(problems.iter().all(|problem| problem.message.len() < 2_000));
            for width in [0, 20, 100] {
                let look = Look { file: "f", width, style: Style::PLAIN };
                let drawn = draw_all(&problems, bytes, look);
                assert!(!drawn.contains(|letter: char| letter.is_control() && letter != '\n'), "{drawn:?}");
            }
        }
    }
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

#[test]
fn known_nasty_inputs_get_an_answer() {
    for path in golden::files("hostile", "") {
        holds(&fs::read(&path).expect("it can be read"));
    }
}

/// Many times the same: where a parser would take the square of its time.
#[test]
fn a_thousand_times_anything_gets_an_answer() {
    let pieces = [
        "[",
        "{",
        "- ",
        "? ",
        ": ",
        "a: ",
        "&a ",
        "*a ",
        "! ",
        "!!",
        "a:\n",
        "\"",
        "'",
        "\\",
        "|\n",
        " ",
        "\n",
        "\t",
        "\r",
        "#",
        "%a\n",
        "---\n",
        "...\n",
        "a,",
        "a: b, ",
        "- - ",
        "{a: ",
        "[a, ",
        "\u{feff}",
        "ü",
        "日",
        "\u{301}",
        "\u{200d}",
        "\0",
        "{a}",
        "${",
        "$",
        ",",
        "]",
        "}",
        "<<: ",
        "x: &x [*x]\n",
        "- &a x\n",
    ];
    for piece in pieces {
        let many = piece.repeat(64 * 1024 / piece.len());
        holds(many.as_bytes());
        holds(format!("version: 1\njobs:\n  a:\n    run: {many}").as_bytes());
    }
}

fn samples() -> Vec<Vec<u8>> {
    let files = golden::files("good", ".yaml").into_iter().chain(golden::files("problems", ".yaml"));
    files.map(|path| fs::read(path).expect("it can be read")).collect()
}

/// A change that a hand, a bad disk or an enemy makes.
#[derive(Debug, Clone)]
enum Change {
    Delete(Index, usize),
    Insert(Index, Vec<u8>),
    /// A piece of the file, somewhere else again.
    Copy(Index, usize, Index),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let within = |index: &Index, bytes: &[u8]| index.index(bytes.len() + 1);
        match self {
            Change::Delete(at, count) => {
                let start = within(at, bytes);
                bytes.drain(start..(start + count).min(bytes.len()));
            }
            Change::Insert(at, piece) => {
                let start = within(at, bytes);
                bytes.splice(start..start, piece.iter().copied());
            }
            Change::Copy(from, count, to) => {
                let start = within(from, bytes);
                let piece = bytes[start..(start + count).min(bytes.len())].to_vec();
                let start = within(to, bytes);
                bytes.splice(start..start, piece);
            }
        }
    }
}

/// Bytes that mean something in YAML, or in ours.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "[",
        "]",
        "{",
        "}",
        ": ",
        ",",
        "- ",
        "? ",
        "&a ",
        "*a",
        "!t ",
        "\"",
        "'",
        "|",
        ">",
        "#",
        "\n",
        "\n  ",
        "\t",
        "\r",
        "---\n",
        "...",
        "%YAML 1.2\n",
        "<<: ",
        "~",
        "null",
        "true",
        "1.10",
        "{hash:",
        "{commit}",
        "${x}",
        "..",
        "/",
        "needs: [a]",
        "matrix: {m: [1, 2]}",
        "\u{feff}",
        "\u{202e}",
        "日本",
        "\0",
        "\\",
    ];
    prop_oneof![
        prop::sample::select(words.to_vec()).prop_map(|word| word.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..8),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<Index>(), 0..40_usize).prop_map(|(at, count)| Change::Delete(at, count)),
        (any::<Index>(), piece()).prop_map(|(at, piece)| Change::Insert(at, piece)),
        (any::<Index>(), 0..200_usize, any::<Index>())
            .prop_map(|(from, count, to)| Change::Copy(from, count, to)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn arbitrary_bytes_get_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        holds(&bytes);
    }

    #[test]
    fn bytes_that_look_like_yaml_get_an_answer(pieces in prop::collection::vec(piece(), 0..200)) {
        holds(&pieces.concat());
    }

    #[test]
    fn a_changed_file_gets_an_answer(
        sample in prop::sample::select(samples()),
        changes in prop::collection::vec(change(), 1..12),
    ) {
        let mut bytes = sample;
        changes.iter().for_each(|change| change.apply(&mut bytes));
        holds(&bytes);
    }
}
