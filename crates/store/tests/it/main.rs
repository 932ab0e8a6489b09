//! The stores against their contract. PostgreSQL comes with `cargo xtask test`.

mod postgres;
