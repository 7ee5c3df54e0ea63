//! A floor for `cargo xtask bench notes`: what it costs to start a Rust program that does nothing.

fn main() {}
