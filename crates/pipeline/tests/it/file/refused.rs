//! Limits: what is too much is refused before it costs anything, and said in one sentence.

use std::time::{Duration, Instant};

use pipeline::file::read;
use pipeline::problem::{Code, PROBLEMS_MAX, Problem};

/// Far more than any of it takes, far less than what a bomb would.
const SOON: Duration = Duration::from_secs(20);

fn problems(text: &str) -> Vec<Problem> {
    let begun = Instant::now();
    let problems = read(text.as_bytes()).map(|_| ()).expect_err("too much");
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    problems
}

fn codes(text: &str) -> Vec<Code> {
    problems(text).iter().map(|problem| problem.code).collect()
}

/// What the whole process had at most, in KiB.
fn memory_peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux says");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("it says so");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

fn numbers(count: usize) -> String {
    (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_file_has_at_most_256_kib() {
    let text = format!("version: 1\n{}", "#".repeat(256 * 1024));
    assert_eq!(codes(&text), [Code::FileTooLarge]);
}

#[test]
fn a_bomb_of_aliases_is_refused_at_once() {
    let mut text = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        text += &format!("k{level}: &a{level} [{aliases}]\n");
    }
    let problems = problems(&text);
    assert_eq!(problems[0].code, Code::TooManyValues);
    assert_eq!((problems.len(), problems[0].place.line), (1, 5));
}

#[test]
fn a_bomb_of_one_long_text_costs_no_memory() {
    let before = memory_peak();
    let aliases = vec!["*long"; 15_000].join(", ");
    let text = format!("a: &long {}\njobs: [{aliases}]\n", "x".repeat(128 * 1024));
    assert!(codes(&text).contains(&Code::UnknownKey));
    assert!(memory_peak() - before < 64 * 1024, "{} KiB", memory_peak() - before);
}

#[test]
fn more_values_than_twenty_thousand_are_refused() {
    let text = format!("version: 1\njobs: [{}]\n", numbers(20_000));
    assert_eq!(codes(&text), [Code::TooManyValues]);
}

#[test]
fn a_list_has_a_limit_of_its_own() {
    let text = format!("version: 1\njobs: {{ a: {{ run: x, runs_on: [{}] }} }}\n", numbers(65));
    assert_eq!(codes(&text), [Code::TooMany]);
}

#[test]
fn more_jobs_than_ten_thousand_are_refused() {
    let matrix = format!("&m {{ n: [{}] }}", numbers(250));
    let rest: String = (0..40).map(|job| format!("  j{job}: {{ run: x, matrix: *m }}\n")).collect();
    let text = format!("version: 1\njobs:\n  first: {{ run: x, matrix: {matrix} }}\n{rest}");
    let problems = problems(&text);
    assert_eq!(problems.iter().map(|problem| problem.code).collect::<Vec<_>>(), [Code::TooManyJobs]);
    assert_eq!(problems[0].message, "the file makes 10250 jobs; at most 10000 are allowed");
}

#[test]
fn a_matrix_cannot_multiply_text_or_needs_without_end() {
    let before = memory_peak();
    // Ten thousand jobs of twenty kilobytes; and all of them needing all those before.
    let matrix = format!("matrix: {{ n: [{}] }}", numbers(250));
    let long = format!("run: &long {}", "x".repeat(20_000));
    let mut text = format!("version: 1\njobs:\n  j0: {{ {long}, {matrix} }}\n");
    for job in 1..40 {
        text += &format!("  j{job}: {{ run: *long, {matrix} }}\n");
    }
    assert_eq!(codes(&text), [Code::TooLarge]);
    let mut text = "version: 1\njobs:\n".to_owned();
    for job in 0..40 {
        let needs: Vec<String> = (0..job).map(|need| format!("j{need}")).collect();
        text += &format!("  j{job}: {{ run: x, needs: [{}], {matrix} }}\n", needs.join(", "));
    }
    assert_eq!(codes(&text), [Code::TooLarge]);
    // A placeholder thousands of times, for a long value.
    let text = format!(
        "version: 1\njobs:\n  a: {{ run: \"{}\", matrix: {{ v: [{}] }} }}\n",
        "{v}".repeat(80_000),
        "x".repeat(190)
    );
    assert_eq!(codes(&text), [Code::TooLarge]);
    assert!(memory_peak() - before < 128 * 1024, "{} KiB", memory_peak() - before);
}

#[test]
fn what_is_accepted_fits_into_a_runners_message() {
    // Names, quotes and line ends take more room there than here.
    for fill in ["x", "\\n", "\\\"", "\\e"] {
        let mut most = 0;
        for count in [40, 60, 80, 100, 120, 140, 160, 180, 200] {
            let env: String = (0..300).map(|name| format!("{}{name}: '', ", "N".repeat(100))).collect();
            let step = fill.repeat(count * 1024 / fill.len());
            let text = format!("version: 1\njobs: {{ a: {{ env: {{ {env} }}, run: \"x{step}\" }} }}\n");
            let Ok(pipeline) = read(text.as_bytes()) else { continue };
            most = most.max(serde_json::to_vec(&pipeline.jobs[0].spec).expect("JSON").len());
        }
        assert!((128 * 1024..256 * 1024).contains(&most), "{fill:?} {most}");
    }
}

#[test]
fn a_very_long_chain_and_a_very_long_cycle_are_followed() {
    let count = 2_500;
    let chain = |last: &str| {
        let jobs = (1..count).map(|job| format!("  j{job}: {{ run: x, needs: [j{}] }}\n", job - 1));
        format!("version: 1\njobs:\n  j0: {{ run: x{last} }}\n{}", jobs.collect::<String>())
    };
    assert!(read(chain("").as_bytes()).is_ok());
    let problems = problems(&chain(", needs: [j2499]"));
    assert_eq!(problems.len(), 1);
    assert!(problems[0].message.contains("j2499 → j2498 → "), "{}", problems[0].message);
    assert!(problems[0].message.ends_with("… (2500 jobs) → j0"), "{}", problems[0].message);
}

#[test]
fn what_was_meant_is_not_looked_for_without_end() {
    let jobs: String = (0..2_000).map(|job| format!("  {}{job}: {{ run: x }}\n", "n".repeat(30))).collect();
    let needs: Vec<String> = (0..2_000).map(|need| format!("{}{need}", "m".repeat(30))).collect();
    let text = format!("version: 1\njobs:\n{jobs}  a: {{ run: x, needs: [{}] }}\n", needs.join(", "));
    assert_eq!(codes(&text), [Code::UnknownNeed; PROBLEMS_MAX]);
    let keys: String = (0..8_000).map(|key| format!("  timeoutt{key}: 1\n")).collect();
    assert_eq!(codes(&format!("version: 1\njobs:\n a:\n{keys}")), [Code::UnknownKey; PROBLEMS_MAX]);
}

#[test]
fn fifty_problems_are_enough() {
    let jobs: String = (0..200).map(|job| format!("  j{job}: {{ rnu: x }}\n")).collect();
    let problems = problems(&format!("version: 1\njobs:\n{jobs}"));
    assert_eq!(problems.len(), PROBLEMS_MAX);
    assert!(problems.is_sorted_by_key(|problem| problem.place.offset));
}
