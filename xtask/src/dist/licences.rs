//! Collects the licences of all crates in the binary.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use ralph_process::command;
use serde_json::Value;

use super::platform::Platform;
use crate::child::output;

/// The licence texts of all third-party crates in the binary, each once, with the crates it applies to.
pub(super) fn of_third_parties(root: &Path, platform: &Platform) -> Result<String, String> {
    let mut cargo = command("cargo");
    cargo
        .current_dir(root)
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform"]);
    let metadata = output(cargo.arg(&platform.triple))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let linked_packages = linked_packages(&metadata);
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages.filter(|package| package["id"].as_str().is_some_and(|id| linked_packages.contains(id))) {
        let word = |key: &str| package[key].as_str().unwrap_or_default();
        // Our own crates use the licences shipped next to this file.
        if word("source").is_empty() {
            continue;
        }
        let name = format!("{} {} ({})", word("name"), word("version"), word("license"));
        let folder = Path::new(word("manifest_path")).parent().unwrap_or(root);
        let found = texts_in(folder)?;
        if found.is_empty() {
            texts.entry(String::new()).or_default().push(name.clone());
        }
        for text in found {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    let mut all = "ralph contains the code of these crates.\n".to_owned();
    for (text, crates) in texts {
        let text = match text.as_str() {
            "" => "These crates name their licence but contain no licence text.",
            text => text,
        };
        all.push_str(&format!("\n{}\n{}\n\n{text}\n", "=".repeat(80), crates.join("\n")));
    }
    Ok(all)
}

/// The ids of all packages linked into the command: its transitive normal dependencies.
fn linked_packages(metadata: &Value) -> BTreeSet<&str> {
    let nodes = metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    let nodes: BTreeMap<&str, &Value> = nodes.filter_map(|node| Some((node["id"].as_str()?, node))).collect();
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let command = packages.find(|package| package["name"] == "ralph");
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = command.and_then(|package| package["id"].as_str()).into_iter().collect();
    while let Some(id) = open.pop() {
        if !found.insert(id) {
            continue;
        }
        let needed = nodes
            .get(id)
            .and_then(|node| node["deps"].as_array())
            .into_iter()
            .flatten();
        let is_linked = |need: &&Value| {
            let kinds = need["dep_kinds"].as_array().into_iter().flatten();
            kinds.into_iter().any(|kind| kind["kind"].is_null())
        };
        open.extend(needed.filter(is_linked).filter_map(|need| need["pkg"].as_str()));
    }
    found
}

/// The licence texts in the folder of a crate.
fn texts_in(folder: &Path) -> Result<Vec<String>, String> {
    let cannot = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    let mut files: Vec<_> = fs::read_dir(folder)
        .map_err(cannot)?
        .collect::<Result<_, _>>()
        .map_err(cannot)?;
    files.sort_by_key(fs::DirEntry::file_name);
    let mut texts = Vec::new();
    for file in files {
        let name = file.file_name().to_string_lossy().to_ascii_uppercase();
        let is_licence = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"]
            .iter()
            .any(|word| name.starts_with(word));
        if is_licence && file.path().is_file() {
            let bytes = fs::read(file.path()).map_err(cannot)?;
            texts.push(String::from_utf8_lossy(&bytes).trim().replace("\r\n", "\n"));
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn build_and_dev_dependencies_are_not_linked() {
        let need = |id: &str, kind: Option<&str>| json!({"pkg": id, "dep_kinds": [{"kind": kind}]});
        let metadata = json!({
            "packages": [{"name": "ralph", "id": "r"}, {"name": "xtask", "id": "x"}],
            "resolve": {"nodes": [
                {"id": "r", "deps": [need("a", None), need("t", Some("dev")), need("b", Some("build"))]},
                {"id": "a", "deps": [need("c", None), need("a", None)]},
                {"id": "c", "deps": []},
                {"id": "x", "deps": [need("d", None)]},
            ]},
        });
        assert_eq!(
            linked_packages(&metadata).into_iter().collect::<Vec<_>>(),
            ["a", "c", "r"]
        );
    }
}
