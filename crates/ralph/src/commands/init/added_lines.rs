//! Adds missing lines to a user's file in one block, with the file's line endings.

use std::path::Path;

use ralph_notes::Patches;

use crate::changed_file::change_file;
use crate::context::Context;
use crate::error::CommandError;

/// Adds the missing lines to a file, and returns how many.
pub(crate) fn add_missing(context: &Context<'_>, path: &Path, wanted: &[String]) -> Result<usize, CommandError> {
    context.project.refuse_outside_repository(path)?;
    let mut added = 0;
    change_file(path, &context.patience(), |bytes| {
        let missing = missing_lines(bytes, wanted);
        added = missing.len();
        let mut patches = Patches::none();
        if !missing.is_empty() {
            patches.insert(bytes.len(), appended(bytes, &missing));
        }
        Ok(patches)
    })?;
    Ok(added)
}

pub(crate) fn missing_lines<'a>(bytes: &[u8], wanted: &'a [String]) -> Vec<&'a String> {
    let text = String::from_utf8_lossy(bytes);
    let bare = |line: &str| line.trim().trim_start_matches('/').to_owned();
    let present: Vec<String> = text.lines().map(bare).collect();
    wanted.iter().filter(|line| !present.contains(&bare(line))).collect()
}

fn appended(bytes: &[u8], lines: &[&String]) -> Vec<u8> {
    let eol = if bytes.windows(2).any(|pair| pair == b"\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let mut text = String::new();
    if !bytes.is_empty() && !bytes.ends_with(b"\n") {
        text.push_str(eol);
    }
    if !bytes.is_empty() {
        text.push_str(eol);
    }
    text.push_str("# ralph");
    text.push_str(eol);
    for line in lines {
        text.push_str(line);
        text.push_str(eol);
    }
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_lines_get_the_files_line_ending() {
        let wanted = ["a".to_owned(), "b".to_owned(), "/c".to_owned()];
        assert_eq!(missing_lines(b"x\n/a\nc\n", &wanted), [&wanted[1]]);
        assert_eq!(appended(b"x", &[&wanted[1]]), b"\n\n# ralph\nb\n");
        assert_eq!(appended(b"x\r\n", &[&wanted[1]]), b"\r\n# ralph\r\nb\r\n");
        assert_eq!(appended(b"", &[&wanted[1]]), b"# ralph\nb\n");
    }
}
