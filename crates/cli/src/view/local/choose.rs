//! Who shows a local run: by what was asked for, and by what stderr is.

use super::canvas::restore_cursor_on_panic;
use super::json::Json;
use super::live::Live;
use super::plain::Plain;
use crate::local::happening::Show;
use crate::view::screen::{Screen, Size};
use crate::view::ways::Ways;

/// Events go to stdout; all that is for people goes to stderr. With `plain` nothing moves, also on a terminal.
pub fn show(json: bool, plain: bool, ways: Ways) -> Box<dyn Show + Send> {
    let screen = Screen::stderr();
    let moves = !plain && screen.is_terminal() && std::env::var_os("TERM").is_none_or(|name| name != "dumb");
    match (json, moves) {
        (true, _) => Box::new(Json::new(std::io::stdout())),
        (false, true) => {
            restore_cursor_on_panic();
            Box::new(Live::new(std::io::stderr(), screen, Size::of_stderr).suggesting(ways))
        }
        (false, false) => Box::new(Plain::new(std::io::stderr(), screen).suggesting(ways)),
    }
}
