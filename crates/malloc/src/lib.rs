//! How the C library hands out memory: from one arena per core instead of eight.
//!
//! Threads that wait for a disk come and go, and a buffer is seldom freed by the thread that asked for it. With many arenas
//! each keeps some of what it once had: a server that takes in large blobs held a third more memory, and was slower.
//!
//! Never: anything else that needs `unsafe`. This room is apart so that every other can forbid it.

/// To be called first in `main`, before there are threads. Where the C library is another, nothing happens.
pub fn one_arena_per_core() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(64));
        // SAFETY: it takes two numbers and keeps one; no other thread runs yet.
        #[allow(unsafe_code)]
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, cores as libc::c_int); // a refusal costs memory and nothing else
        }
    }
}
