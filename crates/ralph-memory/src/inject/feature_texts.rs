//! Reads a feature's `spec.md` and `plan.md` from the worktree. People write them; nothing here changes them.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use ralph_model::{FeatureName, size};
use ralph_notes::{Boundary, normalise_line_breaks};

/// The maximum number of bytes read from a file.
pub const MAX_FEATURE_FILE_BYTES: usize = 1 << 20;

/// The folder of all features, with a subfolder for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeaturesFolder {
    pub path: PathBuf,
    /// The path relative to the project root, for display.
    pub shown: String,
    /// The boundary that its files must not leave.
    pub boundary: Boundary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureFile {
    Spec,
    Plan,
}

/// The content of a feature file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeatureFileText {
    Missing,
    /// Empty or the unchanged template.
    Unwritten,
    Written(String),
    /// The beginning of a file that is too long.
    Beginning(String),
    /// Why it cannot be read, as a clause that follows the file name.
    Unreadable(String),
}

/// The texts of a feature, as far as they could be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeatureTexts {
    pub name: String,
    /// Relative to the project root.
    pub folder: String,
    pub spec: Option<String>,
    pub plan: Option<String>,
    /// What could not be read, one sentence each.
    pub problems: Vec<String>,
}

impl FeatureFile {
    pub const ALL: [Self; 2] = [Self::Spec, Self::Plan];

    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Spec => "spec.md",
            Self::Plan => "plan.md",
        }
    }

    /// The initial content.
    #[must_use]
    pub fn template(self, feature: &FeatureName) -> String {
        let text = match self {
            Self::Spec => include_str!("texts/feature_spec.md"),
            Self::Plan => include_str!("texts/feature_plan.md"),
        };
        text.replace("{name}", feature.as_str())
    }
}

impl FeaturesFolder {
    #[must_use]
    pub fn folder_of(&self, feature: &FeatureName) -> PathBuf {
        self.path.join(feature.as_str())
    }

    /// The folder relative to the project root.
    #[must_use]
    pub fn shown_folder(&self, feature: &FeatureName) -> String {
        format!("{}/{feature}", self.shown)
    }

    #[must_use]
    pub fn file(&self, feature: &FeatureName, file: FeatureFile) -> PathBuf {
        self.folder_of(feature).join(file.file_name())
    }

    /// The file relative to the project root.
    #[must_use]
    pub fn shown_file(&self, feature: &FeatureName, file: FeatureFile) -> String {
        format!("{}/{}", self.shown_folder(feature), file.file_name())
    }

    #[must_use]
    pub fn text(&self, feature: &FeatureName, file: FeatureFile) -> FeatureFileText {
        let path = self.file(feature, file);
        if let Some(leads_to) = self.boundary.outside(&path) {
            return FeatureFileText::Unreadable(format!("leads outside the project, to {}", leads_to.display()));
        }
        // Reading a pipe would block forever.
        match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => return FeatureFileText::Unreadable("is not a file".to_owned()),
            Err(error) => return missing_or_unreadable(&error),
        }
        let mut bytes = Vec::new();
        let most = MAX_FEATURE_FILE_BYTES as u64 + 1;
        if let Err(error) = File::open(&path).and_then(|file| file.take(most).read_to_end(&mut bytes)) {
            return missing_or_unreadable(&error);
        }
        of_bytes(bytes, &file.template(feature))
    }

    /// The texts of a feature. Unreadable files are reported as problems.
    #[must_use]
    pub fn read(&self, feature: &FeatureName) -> FeatureTexts {
        let mut problems = Vec::new();
        let mut take = |file: FeatureFile| match self.text(feature, file) {
            FeatureFileText::Missing | FeatureFileText::Unwritten => None,
            FeatureFileText::Written(text) => Some(text),
            FeatureFileText::Beginning(text) => {
                let (file, most) = (self.shown_file(feature, file), size(MAX_FEATURE_FILE_BYTES as u64));
                problems.push(format!("{file} is longer than {most}; only its beginning is read."));
                Some(text)
            }
            FeatureFileText::Unreadable(why) => {
                problems.push(format!(
                    "{} {why}, so agents do not get it.",
                    self.shown_file(feature, file)
                ));
                None
            }
        };
        let (spec, plan) = (take(FeatureFile::Spec), take(FeatureFile::Plan));
        FeatureTexts {
            name: feature.to_string(),
            folder: self.shown_folder(feature),
            spec,
            plan,
            problems,
        }
    }
}

fn missing_or_unreadable(error: &io::Error) -> FeatureFileText {
    match error.kind() {
        io::ErrorKind::NotFound => FeatureFileText::Missing,
        _ => FeatureFileText::Unreadable(format!("cannot be read ({error})")),
    }
}

fn of_bytes(mut bytes: Vec<u8>, template: &str) -> FeatureFileText {
    let is_whole = bytes.len() <= MAX_FEATURE_FILE_BYTES;
    if !is_whole {
        bytes.truncate(MAX_FEATURE_FILE_BYTES);
        // Cut at a line break if there is one, never inside a character.
        if let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') {
            bytes.truncate(end + 1);
        } else if let Err(error) = std::str::from_utf8(&bytes)
            && error.error_len().is_none()
        {
            bytes.truncate(error.valid_up_to());
        }
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            return FeatureFileText::Unreadable(format!("is not UTF-8 text (byte {at})"));
        }
    };
    if text.contains('\0') {
        return FeatureFileText::Unreadable("contains a NUL character".to_owned());
    }
    let text = normalise_line_breaks(text.strip_prefix('\u{feff}').unwrap_or(&text)).into_owned();
    match text.trim_end() {
        "" => FeatureFileText::Unwritten,
        written if written == template.trim_end() => FeatureFileText::Unwritten,
        _ if is_whole => FeatureFileText::Written(text),
        _ => FeatureFileText::Beginning(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> FeatureName {
        FeatureName::new("search").unwrap()
    }

    fn folder() -> (tempfile::TempDir, FeaturesFolder) {
        let folder = tempfile::tempdir().unwrap();
        let features = FeaturesFolder {
            path: folder.path().to_owned(),
            shown: "features".to_owned(),
            boundary: Boundary::new(folder.path(), &[]),
        };
        std::fs::create_dir(features.folder_of(&name())).unwrap();
        (folder, features)
    }

    fn write(path: &std::path::Path, bytes: impl AsRef<[u8]>) {
        ralph_notes::write_new_file(path, bytes.as_ref()).unwrap();
    }

    fn text_of(bytes: &[u8]) -> FeatureFileText {
        of_bytes(bytes.to_vec(), &FeatureFile::Spec.template(&name()))
    }

    #[test]
    fn unchanged_template_is_unwritten() {
        let template = FeatureFile::Spec.template(&name());
        let with_breaks = template.replace('\n', "\r\n");
        for unwritten in [
            "",
            " \n\n",
            template.as_str(),
            with_breaks.as_str(),
            template.trim_end(),
        ] {
            assert_eq!(text_of(unwritten.as_bytes()), FeatureFileText::Unwritten);
        }
        let changed = template.replace("## Limits", "## Borders");
        assert_eq!(text_of(changed.as_bytes()), FeatureFileText::Written(changed));
    }

    #[test]
    fn unreadable_files_are_reported() {
        let (_folder, features) = folder();
        write(&features.file(&name(), FeatureFile::Spec), b"Gr\xf6\xdfe");
        std::fs::create_dir(features.file(&name(), FeatureFile::Plan)).unwrap();
        let texts = features.read(&name());
        assert_eq!((texts.spec, texts.plan), (None, None));
        assert_eq!(
            texts.problems,
            [
                "features/search/spec.md is not UTF-8 text (byte 2), so agents do not get it.",
                "features/search/plan.md is not a file, so agents do not get it."
            ]
        );
        assert!(matches!(text_of(b"a\0b"), FeatureFileText::Unreadable(_)));
        let nobody = FeatureName::new("nobody").unwrap();
        assert_eq!(features.read(&nobody).problems, Vec::<String>::new());
    }

    #[test]
    fn fault_3_long_files_are_cut_at_lines_or_characters() {
        let (_folder, features) = folder();
        let line = "äöü\n";
        write(&features.file(&name(), FeatureFile::Spec), line.repeat(200_000));
        write(&features.file(&name(), FeatureFile::Plan), "日".repeat(400_000));
        let texts = features.read(&name());
        let (spec, plan) = (texts.spec.unwrap(), texts.plan.unwrap());
        assert_eq!(spec, line.repeat(MAX_FEATURE_FILE_BYTES / line.len()));
        assert_eq!(plan, "日".repeat(MAX_FEATURE_FILE_BYTES / 3));
        assert_eq!(
            texts.problems,
            [
                "features/search/spec.md is longer than 1.0 MiB; only its beginning is read.",
                "features/search/plan.md is longer than 1.0 MiB; only its beginning is read."
            ]
        );
    }
}
