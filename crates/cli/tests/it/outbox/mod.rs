//! The outbox end to end: a real server that is killed, a real subscriber, a real NATS, and the commands for operators.

mod commands;
mod kills;
mod nats;
mod served;
mod sink;
