//! `cargo xtask dist`: builds a tarball, npm packages and a Python wheel with the binary of this platform, and their
//! checksums, under `target/dist`. Each package is installed into an empty folder and tested.

mod licences;
mod npm;
mod platform;
mod smoke_test;
mod wheel;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use ralph_process::command;
use sha2::{Digest, Sha256};

use crate::cargo::Cargo;
use crate::child::output;
use platform::Platform;

/// Builds the release binary.
const BUILD: Cargo<'_> = Cargo::new("build --locked --profile dist -p ralph");

pub(crate) struct Release<'a> {
    root: &'a Path,
    version: &'static str,
    platform: Platform,
    binary: PathBuf,
    folder: PathBuf,
    /// The licences of all crates in the binary.
    third_parties: String,
}

pub(crate) fn run(root: &Path) -> Result<(), String> {
    BUILD.run(root)?;
    let folder = root.join("target/dist/packages");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("cannot remove {}: {error}", folder.display()))?;
    }
    make_folder(&folder)?;
    let binary = root.join("target/dist/ralph");
    let platform = Platform::of_host(&binary)?;
    let release = Release {
        root,
        version: env!("CARGO_PKG_VERSION"),
        third_parties: licences::of_third_parties(root, &platform)?,
        platform,
        binary,
        folder,
    };
    let tarball = release.tarball()?;
    let npm = npm::packages(&release)?;
    let wheel = wheel::wheel(&release)?;
    let mut sums = String::new();
    for package in npm.iter().chain([&tarball]).chain(&wheel) {
        sums.push_str(&sum_of(package)?);
    }
    write(&release.folder.join("SHA256SUMS"), &sums)?;
    print!("{sums}");
    smoke_test::tarball(&tarball)?;
    smoke_test::npm(&npm)?;
    smoke_test::wheel(wheel.as_deref())?;
    println!("dist: {}", release.folder.display());
    Ok(())
}

impl Release<'_> {
    /// The files that every package contains besides the binary.
    fn documents(&self) -> Result<Vec<(&'static str, String)>, String> {
        let mut documents = vec![("THIRD-PARTY-LICENSES", self.third_parties.clone())];
        for name in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            documents.push((name, read(&self.root.join(name))?));
        }
        Ok(documents)
    }

    /// Builds the tarball, with manual pages and completions.
    fn tarball(&self) -> Result<PathBuf, String> {
        let name = format!("ralph-{}-{}", self.version, self.platform.triple);
        let unpacked = tempfile::tempdir().map_err(|error| error.to_string())?;
        let folder = unpacked.path().join(&name);
        let (man, completions) = (folder.join("man/man1"), folder.join("completions"));
        make_folder(&man)?;
        make_folder(&completions)?;
        copy(&self.binary, &folder.join("ralph"))?;
        for (name, text) in self.documents()? {
            write(&folder.join(name), &text)?;
        }
        output(command(&self.binary).args(["man", "--folder"]).arg(&man))?;
        for (shell, file) in [("bash", "ralph.bash"), ("zsh", "_ralph"), ("fish", "ralph.fish")] {
            let script = output(command(&self.binary).args(["completions", shell]))?;
            write(&completions.join(file), &format!("{script}\n"))?;
        }
        let tarball = self.folder.join(format!("{name}.tar.gz"));
        pack(&tarball, unpacked.path(), &name)?;
        Ok(tarball)
    }
}

/// Packs the folder `name` in `folder`.
fn pack(tarball: &Path, folder: &Path, name: &str) -> Result<(), String> {
    let mut tar = command("tar");
    output(tar.arg("-czf").arg(tarball).arg("-C").arg(folder).arg(name)).map(drop)
}

/// The checksum of a file, in the format of `sha256sum -c`.
fn sum_of(file: &Path) -> Result<String, String> {
    let bytes = fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!("{digest}  {name}\n"))
}

fn make_folder(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::File::create(file)
        .and_then(|mut open| open.write_all(text.as_bytes()))
        .map_err(|error| format!("cannot write {}: {error}", file.display()))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let copied = fs::copy(from, to).map(drop);
    copied.map_err(|error| format!("cannot copy {} to {}: {error}", from.display(), to.display()))
}
