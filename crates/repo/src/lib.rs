//! Reads repositories: which files there are, what is in them, what changed since a base; a folder on this machine, or a
//! mirror of a repository elsewhere.
//!
//! Runs the system's `git`, and gives it nothing to decide: no configuration of the repository's choosing, no hooks, no
//! prompts, no submodules, no transport that runs a command.
//! Never: writes into the repository it reads, or decides what the files mean.
