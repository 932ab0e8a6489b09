//! The shell inside the walls: runs one step after the other when told to, and marks in the output how each ended.
//!
//! One shell for all steps, because walls are dear and because what a step leaves running is there for the next.

use super::marks;

/// Arguments: the word of the marks, then the steps.
///
/// - A trap, not an ignored signal: the steps begin with the usual dispositions, and the shell survives what a step sends
///   to its group.
/// - A step gets a session of its own where the system has a program for that, so that `kill 0` ends the step alone.
/// - Its variables are named so that they are none of the job's: to set one of those would change it for the steps.
/// - After the last step it waits for its input to close. An end of this shell therefore always means that something
///   ended it.
const SCRIPT: &str = r#"
deltaci_word=$1; shift
trap : HUP INT QUIT USR1 USR2 ALRM TERM
deltaci_session=; if command -v setsid >/dev/null 2>&1; then deltaci_session=setsid; fi
printf '\036%s ready\n' "$deltaci_word"
for deltaci_step do
  IFS= read -r deltaci_go || exit 0
  $deltaci_session /bin/sh -ec "$deltaci_step" </dev/null 2>&1
  printf '\036%s %s\n' "$deltaci_word" "$?"
done
while IFS= read -r deltaci_go; do :; done
"#;

/// By its full path: a job may set PATH, and must not so choose what runs around its walls.
pub const SHELL: &str = "/bin/sh";

/// What the shell reads to begin the next step.
pub const GO: &[u8] = b"\n";

/// The command line of the shell.
pub fn command(word: &str, steps: &[String]) -> Vec<String> {
    let fixed = [SHELL, "-c", SCRIPT, "deltaci", word].map(String::from);
    debug_assert!(marks::may_be_word(word));
    fixed.into_iter().chain(steps.iter().cloned()).collect()
}
