//! Copies the files of imported features to where ralph reads them, without overwriting anything.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ralph_memory::capture::{SecretPolicy, accept};
use ralph_memory::inject::{FeatureFile, MAX_FEATURE_FILE_BYTES};
use ralph_model::FeatureName;
use ralph_notes::{create_folder, write_new_file};
use ralph_store::{ForeignFeature, ForeignHistory, ImportedHistory, Remark};

use super::Mode;
use crate::context::Context;
use crate::paths;

/// Copies the features' files of another project, or remarks why not.
pub(super) fn copy(
    context: &Context<'_>,
    history: &ForeignHistory,
    imported: &mut ImportedHistory,
    (database, mode): (&Path, Mode),
) {
    let root = root_of(database);
    for feature in &history.features {
        let Some(here) = imported.features_here.get(&feature.id).cloned() else {
            continue;
        };
        // Files imported earlier may have been edited since; they are only copied if none exist.
        if !here.is_new && context.features().folder_of(&here.name).exists() {
            continue;
        }
        for file in FeatureFile::ALL {
            let source = Source::of(feature, file, &root);
            if let Some(text) = source.and_then(|source| source.copy(context, (&here.name, file), mode)) {
                imported.remarks.push(Remark::new(feature.name.as_str(), text));
            }
        }
    }
}

/// The root of the project that owns a database.
fn root_of(database: &Path) -> PathBuf {
    let folder = database.parent().unwrap_or(Path::new("."));
    match folder.parent() {
        Some(root) if folder.ends_with(paths::RALPH) => root.to_owned(),
        _ => folder.to_owned(),
    }
}

/// A feature's file in the other project.
struct Source {
    path: PathBuf,
    /// The root of that project; nothing outside it is copied.
    root: PathBuf,
    /// Whether the other tool names the path, or it is the default one.
    is_named: bool,
}

impl Source {
    fn of(feature: &ForeignFeature, file: FeatureFile, root: &Path) -> Option<Self> {
        let named = match file {
            FeatureFile::Spec => &feature.spec,
            FeatureFile::Plan => &feature.plan,
        };
        let named = named.as_deref().map(str::trim).filter(|path| !path.is_empty());
        let path = match named {
            Some(path) => root.join(path),
            None => {
                let name = FeatureName::new(&feature.name).ok()?;
                root.join(paths::FEATURES).join(name.as_str()).join(file.file_name())
            }
        };
        Some(Self {
            path,
            root: root.to_owned(),
            is_named: named.is_some(),
        })
    }

    /// Copies the file, if ralph would not find it otherwise. Returns a remark, if there is one.
    fn copy(&self, context: &Context<'_>, (name, file): (&FeatureName, FeatureFile), mode: Mode) -> Option<String> {
        let target = context.features().file(name, file);
        let (from, to) = (self.path.display(), context.features().shown_file(name, file));
        let what = file.file_name();
        let Ok(path) = self.path.canonicalize() else {
            let is_missed = self.is_named && !target.exists();
            return is_missed.then(|| format!("its {what} {from} does not exist, and neither does {to}"));
        };
        if paths::is_same(&target, &path) {
            return None;
        }
        let text = match self.text(&path) {
            Ok(text) => text,
            Err(why) => return Some(format!("its {what} {from} was not copied to {to}: {why}")),
        };
        if fs::symlink_metadata(&target).is_ok() {
            let is_same = fs::read(&target).is_ok_and(|here| here == text.as_bytes());
            return (!is_same)
                .then(|| format!("its {what} {from} was not copied: {to} already exists with other contents"));
        }
        if mode == Mode::DryRun {
            return Some(format!("its {what} would be copied from {from} to {to}"));
        }
        let folder = context.features().folder_of(name);
        let refused = context.project.refuse_outside(&folder);
        let written = refused
            .and_then(|()| create_folder(&folder))
            .and_then(|()| write_new_file(&target, text.as_bytes()));
        Some(match written {
            Ok(()) => format!("its {what} was copied from {from} to {to}"),
            Err(error) => format!("its {what} {from} was not copied to {to}: {}", error.reason()),
        })
    }

    /// Reads the file, or returns why it is not shown to agents.
    fn text(&self, path: &Path) -> Result<String, String> {
        let is_inside = self.root.canonicalize().is_ok_and(|root| path.starts_with(root));
        if !is_inside {
            return Err(format!("it is outside {}", self.root.display()));
        }
        let failed = |error: io::Error| error.to_string();
        let metadata = fs::metadata(path).map_err(failed)?;
        if !metadata.is_file() {
            return Err("it is not a file".to_owned());
        }
        if metadata.len() > MAX_FEATURE_FILE_BYTES as u64 {
            return Err(format!("it has more than {MAX_FEATURE_FILE_BYTES} bytes"));
        }
        let text =
            String::from_utf8(fs::read(path).map_err(failed)?).map_err(|_error| "it is not UTF-8 text".to_owned())?;
        accept(&text, SecretPolicy::Refuse).map_err(|refusal| refusal.to_string())?;
        Ok(text)
    }
}
