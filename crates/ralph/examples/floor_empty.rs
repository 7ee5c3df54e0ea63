//! A baseline for `cargo xtask bench notes`: starting a Rust program that does nothing.

fn main() {}
