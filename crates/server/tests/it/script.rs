//! A test is a script: one line per step, `TIME STEP WORDS -> EXPECTED`.
//!
//! The time column is the moment since the beginning at which the step happens; `+` puts a step into the same batch as
//! the one above it; `-` leaves the time alone. What follows the arrow must be what the answer begins with, word by
//! word; a line without an arrow expects that nothing is refused. The steps are in `steps.rs` and `questions.rs`, and
//! three are here: `tick`, `restart` and `# a remark`.
//!
//! After every script the doctor must find nothing, and no refusal may have left a trace in the log.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use decisions::{Answer, Policy};
use server::perform::Failure;
use store::Store;

use crate::stores::{InFile, InMemory, Place, SharedDatabase};
use crate::words::{Words, duration};
use crate::world::{BEGIN, World};

/// Runs a script over memory and SQLite, whose time is the script's.
pub fn check(script: &str) {
    check_with(Policy::default(), script);
}

pub fn check_with(policy: Policy, script: &str) {
    block_on(async {
        run_alone(&InMemory::default(), &policy, script).await;
        run_alone(&InFile::new(), &policy, script).await;
    });
}

/// Runs a script in which no time passes over every store; on PostgreSQL the time is the database's own.
pub fn check_timeless(script: &str) {
    let lines = Line::read_all(script);
    assert!(lines.iter().all(|line| line.time.is_none()), "time passes in this script:\n{script}");
    check(script);
    let shared = SharedDatabase::get();
    shared.runtime.block_on(run_in_turn(&shared.place, script));
}

/// Runs a script over a store of its own, with the whole doctor at its end.
async fn run_alone<P: Place>(place: &P, policy: &Policy, script: &str) {
    let mut world = World::begin(place.open().await, policy.clone()).await;
    run(&mut world, place, script).await;
    let report = server::doctor::examine(&*world.store, |_| ()).await.expect("the store answers");
    assert!(
        report.findings.is_empty(),
        "{}: the doctor finds {:#?}\nafter:\n{script}",
        P::NAME,
        report.findings
    );
}

/// Runs a script over a store that others use before and after it; it leaves nothing due.
async fn run_in_turn<P: Place>(place: &P, script: &str) {
    static COUNT: AtomicU16 = AtomicU16::new(1);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut world = World::begin_as(place.open().await, unhurried(), number).await;
    run(&mut world, place, script).await;
    world.tick().await;
    let findings = world.own_findings().await;
    assert!(findings.is_empty(), "{}: the doctor finds {findings:#?}\nafter:\n{script}", P::NAME);
}

/// No deadline that a slow machine could reach.
fn unhurried() -> Policy {
    let hour = Duration::from_secs(3600);
    Policy {
        ack_timeout: hour,
        lease_ttl: hour,
        cancel_deadline: hour,
        plan_timeout: hour,
        ..Policy::default()
    }
}

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be made").block_on(future)
}

/// The most logs that a failure shows.
const LOGS_SHOWN_MAX: usize = 5;

/// One line of a script.
struct Line<'a> {
    number: usize,
    time: Option<Duration>,
    joins: bool,
    verb: &'a str,
    words: Words<'a>,
    expected: Option<&'a str>,
}

impl<'a> Line<'a> {
    fn read_all(script: &'a str) -> Vec<Line<'a>> {
        let lines = script.lines().enumerate().map(|(number, text)| (number, text.trim()));
        let steps = lines.filter(|(_, text)| !text.is_empty() && !text.starts_with('#'));
        steps.map(|(number, text)| Line::read(number, text)).collect()
    }

    fn read(number: usize, text: &'a str) -> Line<'a> {
        let (step, expected) = match text.split_once("->") {
            Some((step, expected)) => (step, Some(expected.trim())),
            None => (text, None),
        };
        let mut words = step.split_whitespace();
        let column = words.next().expect("a line begins with its time");
        let time = match column {
            "-" | "+" => None,
            moment => Some(duration(moment).unwrap_or_else(|problem| panic!("{problem} in: {text}"))),
        };
        let verb = words.next().unwrap_or_else(|| panic!("a step is missing in: {text}"));
        Line { number, time, joins: column == "+", verb, words: Words::of(words), expected }
    }

    /// What came must begin with what was expected, word by word.
    fn is_met_by(&self, found: &str) -> bool {
        match self.expected {
            Some(expected) => {
                let mut found = found.split_whitespace();
                expected.split_whitespace().all(|word| found.next() == Some(word))
            }
            None => !found.starts_with("refused") && !found.starts_with("failed"),
        }
    }
}

pub async fn run<P: Place>(world: &mut World<P::Store>, place: &P, script: &str) {
    let lines = Line::read_all(script);
    let mut rest = lines.as_slice();
    while let Some(first) = rest.first() {
        let joined = rest[1..].iter().take_while(|line| line.joins).count();
        let (group, later) = rest.split_at(1 + joined);
        rest = later;
        if let Some(time) = first.time {
            let moment = BEGIN.plus(time);
            assert!(moment >= world.now, "time goes back at line {} of:\n{script}", first.number);
            world.now = moment;
        }
        if first.verb == "restart" {
            world.restart(place.open().await);
        } else if let Err((line, problem)) = run_group(world, group).await {
            panic!("{}", report(world, P::NAME, script, line, &problem).await);
        }
    }
}

/// Runs one step, or several in one batch; the error names the line that went wrong.
async fn run_group<'l, S: Store>(
    world: &mut World<S>,
    group: &'l [Line<'l>],
) -> Result<(), (&'l Line<'l>, String)> {
    let first = &group[0];
    if first.verb == "tick" {
        let moved = world.tick().await;
        world.log_growth().await;
        return expect(first, if moved == 0 { "nothing".into() } else { format!("moved {moved}") });
    }
    if first.verb == "set-tenant" {
        let set = world.set_tenant(&first.words).await;
        world.log_growth().await;
        return set.map_err(|problem| (first, problem));
    }
    if let Some(found) = world.asked(first.verb, &first.words).await {
        return expect(first, found.map_err(|problem| (first, problem))?);
    }
    let mut commands = Vec::new();
    for line in group {
        commands.push(world.command(line.verb, &line.words).await.map_err(|problem| (line, problem))?);
    }
    let answers = world.perform(commands).await;
    let grown = world.log_growth().await;
    if answers.iter().all(Result::is_err) && grown > 0 {
        return Err((first, format!("it was refused, but the log has grown by {grown}")));
    }
    check_answers(world, group, answers).await
}

async fn check_answers<'l, S: Store>(
    world: &mut World<S>,
    group: &'l [Line<'l>],
    answers: Vec<Result<Answer, Failure>>,
) -> Result<(), (&'l Line<'l>, String)> {
    for (line, answer) in group.iter().zip(answers) {
        let found = world.answered(&line.words, answer).await.map_err(|problem| (line, problem))?;
        expect(line, found)?;
    }
    Ok(())
}

fn expect<'l>(line: &'l Line<'l>, found: String) -> Result<(), (&'l Line<'l>, String)> {
    if line.is_met_by(&found) {
        return Ok(());
    }
    let expected = line.expected.unwrap_or("no refusal");
    Err((line, format!("expected: {expected}\n   found: {found}")))
}

/// The whole script with the failing line marked, and the log of what the line names.
async fn report<S: Store>(
    world: &World<S>,
    store: &str,
    script: &str,
    line: &Line<'_>,
    problem: &str,
) -> String {
    let mut text = format!("on {store}:\n\n");
    for (number, shown) in script.lines().enumerate() {
        let mark = if number == line.number { ">>>" } else { "   " };
        text += &format!("{mark} {:.160}\n", shown.trim());
    }
    text += &format!("\n{problem}\n");
    for root in roots(world, line).await {
        text += &format!("\nthe log of {root}:\n");
        let events = world.store.events_of(&root).await.expect("the store answers");
        // On a store with a clock of its own, the time since the first entry.
        let zero = events.first().map(|first| first.at).filter(|at| *at > world.now).unwrap_or(BEGIN);
        for event in events {
            let at = event.at.since(zero);
            let from = event.from.as_deref().unwrap_or("");
            let step = format!("{from} + {} => {}", event.event, event.to);
            text += &format!("{at:>10?} {:<10} {step} ({:.100})\n", event.machine, event.cause);
        }
    }
    text
}

/// What the line names; all there is, when it names nothing that exists yet.
async fn roots<S: Store>(world: &World<S>, line: &Line<'_>) -> Vec<String> {
    let mut roots = Vec::new();
    for word in &line.words.plain {
        let name = word.split('#').next().unwrap_or(word);
        roots.extend(world.root_of(name));
        if let Ok(lease) = world.lease_named(name)
            && let Some(execution) = world.execution(lease.execution).await
        {
            roots.push(execution.job().to_string());
        }
    }
    if roots.is_empty() {
        let all: BTreeSet<_> = world.names.keys().filter_map(|name| world.root_of(name)).collect();
        roots.extend(all.into_iter().take(LOGS_SHOWN_MAX));
    }
    roots
}
