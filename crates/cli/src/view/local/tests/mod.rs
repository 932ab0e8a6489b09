//! What a local run looks like, to the letter: on terminals of several sizes, in pipes, and in a real one.

mod endings;
mod lines;
mod moving;
mod script;
mod terminal;
