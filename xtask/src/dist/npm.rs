//! The npm packages: the main one that users install, and one with the binary for each platform, from which npm
//! selects.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Release, copy, make_folder, pack, write};

/// The main package.
const NAME: &str = "ralph-loop";

/// The supported platforms.
const PLATFORMS: [(&str, &str); 4] = [
    ("linux", "x64"),
    ("linux", "arm64"),
    ("darwin", "arm64"),
    ("darwin", "x64"),
];

/// Starts the binary: npm links only programs of the main package.
const STARTER: &str = include_str!("ralph.js");

pub(super) fn packages(release: &Release<'_>) -> Result<[PathBuf; 2], String> {
    let (system, processor) = release.platform.npm;
    let name = platform_package((system, processor));
    let mut own = description(&name, release.version);
    own["os"] = json!([system]);
    own["cpu"] = json!([processor]);
    own["preferUnplugged"] = json!(true);
    let binary = package(release, &own, |folder| copy(&release.binary, &folder.join("bin/ralph")))?;
    let mut main = description(NAME, release.version);
    main["bin"] = json!({ "ralph": "bin/ralph.js" });
    main["engines"] = json!({ "node": ">=18" });
    let each = PLATFORMS.map(|platform| (platform_package(platform), json!(release.version)));
    main["optionalDependencies"] = Value::Object(each.into_iter().collect());
    let starter = package(release, &main, |folder| write(&folder.join("bin/ralph.js"), STARTER))?;
    Ok([starter, binary])
}

fn platform_package((system, processor): (&str, &str)) -> String {
    format!("{NAME}-{system}-{processor}")
}

fn description(name: &str, version: &str) -> Value {
    json!({
        "name": name,
        "version": version,
        "description": "Run tasks with a coding agent that remembers earlier sessions",
        "license": "MIT OR Apache-2.0",
    })
}

/// Packs a package as `npm pack` does, in a folder named `package`.
fn package(
    release: &Release<'_>,
    description: &Value,
    fill: impl FnOnce(&std::path::Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let unpacked = tempfile::tempdir().map_err(|error| error.to_string())?;
    let folder = unpacked.path().join("package");
    make_folder(&folder.join("bin"))?;
    fill(&folder)?;
    for (name, text) in release.documents()? {
        write(&folder.join(name), &text)?;
    }
    write(&folder.join("package.json"), &format!("{description:#}\n"))?;
    let name = description["name"].as_str().unwrap_or(NAME);
    let tarball = release.folder.join(format!("{name}-{}.tgz", release.version));
    pack(&tarball, unpacked.path(), "package")?;
    Ok(tarball)
}
