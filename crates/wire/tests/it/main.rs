//! What crosses a process, tested as others see it: the specification's own examples, texts and JSON.

mod decimal;
mod fields;
mod golden;
mod ids;
mod samples;
mod secret;
mod time;
mod token;
