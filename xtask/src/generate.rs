//! The reference pages under docs/, which the command writes from its own flags, settings and variables.

use crate::cargo::Cargo;

/// Writes the pages.
pub(crate) const WRITE: Cargo<'_> = Cargo::new("run --quiet -p ralph --example reference --");

/// Fails when a page is not what the code says.
pub(crate) const CHECK: Cargo<'_> = Cargo::new("run --quiet -p ralph --example reference -- --check");
