//! What is reported of attempts that failed.
