//! What mends files that begin with frontmatter, long notes and skills alike.

/// For frontmatter that cannot be read.
pub(super) const MEND_YAML: &str = "mend it there; a value with `: ` or ` #` in it goes in quotes";
/// For frontmatter that is too large.
pub(super) const SHORTEN_FRONTMATTER: &str = "move what is long below the second line `---`";
/// For a file that is no text.
pub(super) const SAVE_AS_UTF8: &str = "save it as UTF-8";
