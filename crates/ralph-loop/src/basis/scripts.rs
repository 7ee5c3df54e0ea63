//! The files that decide what the gates do: those named in a gate's command, and the command lists of `npm` and `make`
//! if a gate uses these.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use ralph_model::config::command_paths;

use super::{Items, MAX_CONTENT, digest_of, digest_of_file, shown};

/// Programs that run the `scripts` of a package.json.
const PACKAGE_RUNNERS: [&str; 6] = ["npm", "npx", "pnpm", "yarn", "bun", "bunx"];

/// Programs that run a Makefile, and the file names they look for.
const MAKE: [&str; 2] = ["make", "gmake"];
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

pub(super) fn items(root: &Path, home: Option<&Path>, commands: &[String]) -> Items {
    let mut items = Items::new();
    for command in commands {
        items.extend(items_of(root, home, command));
    }
    items
}

fn items_of(root: &Path, home: Option<&Path>, command: &str) -> Items {
    let named: BTreeSet<PathBuf> = command_paths(command)
        .iter()
        .filter_map(|path| resolved(root, home, path))
        .collect();
    let mut items = Items::new();
    // A script that a gate runs may call `make`.
    let mut texts = vec![command.to_owned()];
    for file in named.iter().filter(|path| path.is_file()) {
        items.extend(digest_of_file(file).map(|digest| (shown(root, file), digest)));
        texts.extend(text_of(file));
    }
    let folders = named.iter().filter(|path| path.is_dir()).map(PathBuf::as_path);
    let folders: Vec<&Path> = folders.chain([root]).collect();
    let uses = |programs: &[&str]| texts.iter().any(|text| has_word(text, programs));
    if uses(&PACKAGE_RUNNERS) {
        let packages = folders.iter().map(|folder| folder.join("package.json"));
        items.extend(
            packages.filter_map(|file| Some((format!("{} (scripts)", shown(root, &file)), scripts_of(&file)?))),
        );
    }
    if uses(&MAKE) {
        let makefiles = folders
            .iter()
            .flat_map(|folder| MAKEFILES.map(|name| folder.join(name)));
        items.extend(makefiles.filter_map(|file| Some((shown(root, &file), digest_of_file(&file)?))));
    }
    items
}

/// The location of a path in a command; `None` for `~` if the home folder is unknown.
fn resolved(root: &Path, home: Option<&Path>, path: &Path) -> Option<PathBuf> {
    let path = match path.strip_prefix("~") {
        Ok(below) => home?.join(below),
        Err(_) => root.join(path),
    };
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(resolved.pop()),
            other => resolved.push(other),
        }
    }
    Some(resolved)
}

/// Whether a text contains one of these words.
fn has_word(text: &str, words: &[&str]) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    text.split(|c| !is_part(c)).any(|word| words.contains(&word))
}

/// The text of a file, unless it is too large.
fn text_of(file: &Path) -> Option<String> {
    let metadata = fs::metadata(file).ok()?;
    (metadata.is_file() && metadata.len() <= MAX_CONTENT).then(|| fs::read_to_string(file).ok())?
}

/// A digest of the `scripts` in a package.json: a new dependency changes the file but not the gates. A file that is not
/// JSON counts as a whole.
fn scripts_of(file: &Path) -> Option<String> {
    let whole = digest_of_file(file)?;
    let parsed = text_of(file).and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
    match parsed {
        None => Some(whole),
        Some(package) => Some(digest_of(package.get("scripts")?.to_string().as_bytes())),
    }
}
