//! Generates the reference pages under docs/ from the command's flags, settings and variables.

use crate::cargo::Cargo;

pub(crate) const WRITE: Cargo<'_> = Cargo::new("run --quiet -p ralph --example reference --");

/// Fails if a page is out of date.
pub(crate) const CHECK: Cargo<'_> = Cargo::new("run --quiet -p ralph --example reference -- --check");
