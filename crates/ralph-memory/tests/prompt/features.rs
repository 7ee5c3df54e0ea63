//! What is written about a feature in the prompts of its tasks.
