//! Remedies for files with frontmatter: knowledge entries and skills.

/// For unreadable frontmatter.
pub(super) const FIX_YAML: &str = "fix the file; quote values that contain `: ` or ` #`";
/// For frontmatter that is too large.
pub(super) const SHORTEN_FRONTMATTER: &str = "move long text below the second `---` line";
/// For a file that is not text.
pub(super) const SAVE_AS_UTF8: &str = "save it as UTF-8";
