//! `docs/commands.md`: every command with its arguments and flags, made from what `--help` is made from, so that neither says
//! more than the other. `DELTACI_GOLDEN=write cargo test -p deltaci reference` writes it anew.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use clap::{Arg, ArgAction, Command, CommandFactory};

use crate::Cli;

const HEAD: &str = "\
# Every command and flag

Made from the program; `deltaci COMMAND --help` says the same. What the commands are for, and how they go together, is in
[cli.md](cli.md). A flag wins over its variable. `--json`, `--help` and `--version` go with each command.
";

/// Flags that all clients share, told once.
const CLIENT_HEADING: &str = "Server";
const CLIENT: &str = "\nAnd [which server, as whom, for which tenant](cli.md#client).\n";

#[test]
fn the_reference_says_what_the_program_says() {
    let mut root = Cli::command();
    root.build();
    let mut text = HEAD.to_string();
    root.get_subcommands().for_each(|command| tell(&mut text, "deltaci", command));
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    if std::env::var_os("DELTACI_GOLDEN").is_some_and(|mode| mode == "write") {
        fs::write(&place, &text).expect("the file can be written");
    }
    let written = fs::read_to_string(&place).unwrap_or_default();
    assert!(
        written == text,
        "docs/commands.md is out of date: run with DELTACI_GOLDEN=write and read the difference"
    );
}

fn tell(text: &mut String, above: &str, command: &Command) {
    if command.is_hide_set() || command.get_name() == "help" {
        return;
    }
    let name = format!("{above} {}", command.get_name());
    let (arguments, flags): (Vec<&Arg>, Vec<&Arg>) =
        command.get_arguments().filter(|arg| is_own(arg)).partition(|arg| arg.is_positional());
    let words: String = arguments.iter().map(|arg| format!(" {}", usage(arg))).collect();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    write!(text, "\n## `{name}{words}`\n\n{about}.\n").expect("a text takes all");
    if !arguments.is_empty() || !flags.is_empty() {
        text.push_str("\n| | | variable, default |\n|---|---|---|\n");
        arguments.iter().chain(&flags).for_each(|arg| row(text, arg));
    }
    if command.get_arguments().any(|arg| arg.get_help_heading() == Some(CLIENT_HEADING)) {
        text.push_str(CLIENT);
    }
    command.get_subcommands().for_each(|below| tell(text, &name, below));
}

fn is_own(arg: &Arg) -> bool {
    let asks_for_words = matches!(
        arg.get_action(),
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    );
    let is_everywhere = asks_for_words || arg.get_id() == "json";
    !is_everywhere && !arg.is_hide_set() && arg.get_help_heading() != Some(CLIENT_HEADING)
}

fn row(text: &mut String, arg: &Arg) {
    let flag = usage(arg).replace('|', "\\|");
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default().replace('|', "\\|");
    let values = possible(arg);
    let colon = if help.is_empty() || values.is_empty() { "" } else { ": " };
    let ways = [arg.get_env().map(|name| format!("`{}`", name.to_string_lossy())), default(arg)];
    let ways = ways.into_iter().flatten().collect::<Vec<_>>().join(", ");
    writeln!(text, "| `{flag}` | {help}{colon}{values} | {ways} |").expect("a text takes all");
}

/// As it is typed.
fn usage(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default().join(" ");
    let may_repeat = arg.get_num_args().is_some_and(|count| count.max_values() > 1);
    let more = if may_repeat { "…" } else { "" };
    match (arg.get_long(), arg.get_short()) {
        (None, _) if arg.is_required_set() => format!("{names}{more}"),
        (None, _) => format!("[{names}{more}]"),
        (Some(long), short) => {
            let short = short.map(|short| format!("-{short}, ")).unwrap_or_default();
            let takes_value = arg.get_action().takes_values();
            let is_optional = arg.get_num_args().is_some_and(|count| count.min_values() == 0);
            match (takes_value, is_optional) {
                (false, _) => format!("{short}--{long}"),
                (true, true) => format!("{short}--{long}[={names}]"),
                (true, false) => format!("{short}--{long} {names}{more}"),
            }
        }
    }
}

fn possible(arg: &Arg) -> String {
    if !arg.get_action().takes_values() {
        return String::new();
    }
    let told = |value: &clap::builder::PossibleValue| match value.get_help() {
        Some(help) => format!("`{}` ({help})", value.get_name()),
        None => format!("`{}`", value.get_name()),
    };
    let values: Vec<String> = arg.get_possible_values().iter().map(told).collect();
    values.join(", ")
}

fn default(arg: &Arg) -> Option<String> {
    let values = arg.get_default_values();
    let is_flag = !arg.get_action().takes_values() || values.iter().all(|value| value == "false");
    if values.is_empty() || is_flag {
        return None;
    }
    let values: Vec<_> = values.iter().map(|value| value.to_string_lossy()).collect();
    Some(format!("`{}`", values.join(" ")))
}
