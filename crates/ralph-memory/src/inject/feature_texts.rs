//! What is written about a feature: `spec.md` says what is wanted, `plan.md` how it is built. Both are a person's files, in
//! the worktree; here they are only read.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use ralph_model::{FeatureName, size};
use ralph_notes::{Boundary, normalise_line_breaks};

/// The most that is read of one file.
pub const MAX_FEATURE_FILE_BYTES: usize = 1 << 20;

/// The folder of all features; each has one of its name below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeaturesFolder {
    /// The folder.
    pub path: PathBuf,
    /// The same from the project's root, as a person or an agent reads it.
    pub shown: String,
    /// What its files must stay in.
    pub boundary: Boundary,
}

/// A file of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureFile {
    /// What is wanted.
    Spec,
    /// How it is built.
    Plan,
}

/// What stands in a file of a feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeatureFileText {
    /// There is no such file.
    Missing,
    /// Nothing, or what ralph put there: nobody has written anything.
    Unwritten,
    /// This.
    Written(String),
    /// The beginning of more than is read.
    Beginning(String),
    /// Nobody can tell: why, as the end of a sentence that begins with the file.
    Unreadable(String),
}

/// What is written about a feature, as far as it could be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeatureTexts {
    /// The name of the feature.
    pub name: String,
    /// Its folder, from the project's root.
    pub folder: String,
    /// What is wanted, if somebody has written it.
    pub spec: Option<String>,
    /// How it is built, if somebody has written it.
    pub plan: Option<String>,
    /// What could not be read, a sentence each.
    pub problems: Vec<String>,
}

impl FeatureFile {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Spec, Self::Plan];

    /// The name of the file.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Spec => "spec.md",
            Self::Plan => "plan.md",
        }
    }

    /// What it begins with where nobody has written anything yet.
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
    /// The folder of a feature.
    #[must_use]
    pub fn folder_of(&self, feature: &FeatureName) -> PathBuf {
        self.path.join(feature.as_str())
    }

    /// The same from the project's root.
    #[must_use]
    pub fn shown_folder(&self, feature: &FeatureName) -> String {
        format!("{}/{feature}", self.shown)
    }

    /// A file of a feature.
    #[must_use]
    pub fn file(&self, feature: &FeatureName, file: FeatureFile) -> PathBuf {
        self.folder_of(feature).join(file.file_name())
    }

    /// The same from the project's root.
    #[must_use]
    pub fn shown_file(&self, feature: &FeatureName, file: FeatureFile) -> String {
        format!("{}/{}", self.shown_folder(feature), file.file_name())
    }

    /// What stands in a file of a feature.
    #[must_use]
    pub fn text(&self, feature: &FeatureName, file: FeatureFile) -> FeatureFileText {
        let path = self.file(feature, file);
        if let Some(leads_to) = self.boundary.outside(&path) {
            return FeatureFileText::Unreadable(format!("leads outside the project, to {}", leads_to.display()));
        }
        // A pipe would be waited for, for ever.
        match std::fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => return FeatureFileText::Unreadable("is no file".to_owned()),
            Err(error) => return missing_or_unreadable(&error),
        }
        let mut bytes = Vec::new();
        let most = MAX_FEATURE_FILE_BYTES as u64 + 1;
        if let Err(error) = File::open(&path).and_then(|file| file.take(most).read_to_end(&mut bytes)) {
            return missing_or_unreadable(&error);
        }
        of_bytes(bytes, &file.template(feature))
    }

    /// What is written about a feature. What cannot be read is left out, and said.
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
                    "{} {why}, so no agent is shown it.",
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
        // By whole lines where there are any; a character is never cut in two.
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
        return FeatureFileText::Unreadable("holds a NUL and is no text".to_owned());
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
    fn what_nobody_has_written_is_nothing() {
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
    fn what_is_no_text_is_said() {
        let (_folder, features) = folder();
        write(&features.file(&name(), FeatureFile::Spec), b"Gr\xf6\xdfe");
        std::fs::create_dir(features.file(&name(), FeatureFile::Plan)).unwrap();
        let texts = features.read(&name());
        assert_eq!((texts.spec, texts.plan), (None, None));
        assert_eq!(
            texts.problems,
            [
                "features/search/spec.md is not UTF-8 text (byte 2), so no agent is shown it.",
                "features/search/plan.md is no file, so no agent is shown it."
            ]
        );
        assert!(matches!(text_of(b"a\0b"), FeatureFileText::Unreadable(_)));
        let nobody = FeatureName::new("nobody").unwrap();
        assert_eq!(features.read(&nobody).problems, Vec::<String>::new());
    }

    #[test]
    fn fault_3_a_long_file_is_cut_between_lines_or_characters() {
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
