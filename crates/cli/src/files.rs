//! How many files, sockets among them, this process may have open at once.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As many as the system lets us. What is usual, a thousand, is less than the runners that one server can serve.
pub fn allow_many() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Not allowed: then there is room for fewer, and connections beyond them wait.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
