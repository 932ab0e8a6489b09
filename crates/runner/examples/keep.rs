//! The keeper alone, for the tests of this crate. The product starts it as `deltaci keep`.

fn main() -> std::process::ExitCode {
    runner::keeper::main()
}
