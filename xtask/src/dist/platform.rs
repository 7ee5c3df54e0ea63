//! The platform that packages are for, by the names that Rust, npm and Python have for it.

use std::path::Path;

use ralph_process::command;

use crate::child::output;

/// A platform.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Platform {
    /// As Rust names it: `x86_64-unknown-linux-gnu`.
    pub(super) triple: String,
    /// As npm names its system and its processor: `linux`, `x64`.
    pub(super) npm: (&'static str, &'static str),
    /// As Python names it: `manylinux_2_34_x86_64`.
    pub(super) python: String,
}

impl Platform {
    /// The platform of this machine, with what the binary needs of it.
    pub(super) fn of_host(binary: &Path) -> Result<Self, String> {
        let version = output(command("rustc").arg("-vV"))?;
        let triple = version.lines().find_map(|line| line.strip_prefix("host: "));
        let triple = triple.ok_or("`rustc -vV` names no host")?;
        let needs = match triple.contains("-linux-") {
            true => output(command("readelf").args(["-W", "--version-info"]).arg(binary))?,
            false => String::new(),
        };
        Self::new(triple, &needs)
    }

    fn new(triple: &str, version_needs: &str) -> Result<Self, String> {
        let unknown = || format!("there are no packages for {triple}");
        let (processor, system) = triple.split_once('-').ok_or_else(unknown)?;
        let (npm, python) = match (system, processor) {
            ("unknown-linux-gnu", "x86_64" | "aarch64") => {
                let npm = if processor == "x86_64" { "x64" } else { "arm64" };
                let glibc = newest_glibc(version_needs).ok_or("the binary does not say which C library it needs")?;
                (("linux", npm), format!("manylinux_2_{glibc}_{processor}"))
            }
            // The oldest systems that Rust builds for.
            ("apple-darwin", "aarch64") => (("darwin", "arm64"), "macosx_11_0_arm64".to_owned()),
            ("apple-darwin", "x86_64") => (("darwin", "x64"), "macosx_10_12_x86_64".to_owned()),
            _ => return Err(unknown()),
        };
        Ok(Self {
            triple: triple.to_owned(),
            npm,
            python,
        })
    }
}

/// The newest version of the C library that a binary needs: 34 of `GLIBC_2.34`.
fn newest_glibc(version_needs: &str) -> Option<u32> {
    let named = version_needs.split("GLIBC_2.").skip(1);
    let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    named.filter_map(number).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_platform_has_its_names() {
        let needs = "  0x0010:   Name: GLIBC_2.34  Flags: none\n  0x0020:   Name: GLIBC_2.2.5\n Name: GLIBC_2.9\n";
        for (triple, npm, python) in [
            ("x86_64-unknown-linux-gnu", ("linux", "x64"), "manylinux_2_34_x86_64"),
            (
                "aarch64-unknown-linux-gnu",
                ("linux", "arm64"),
                "manylinux_2_34_aarch64",
            ),
            ("aarch64-apple-darwin", ("darwin", "arm64"), "macosx_11_0_arm64"),
            ("x86_64-apple-darwin", ("darwin", "x64"), "macosx_10_12_x86_64"),
        ] {
            let platform = Platform::new(triple, needs).unwrap();
            assert_eq!((platform.npm, platform.python.as_str()), (npm, python), "{triple}");
        }
        assert!(Platform::new("wasm32-unknown-unknown", needs).is_err());
        assert!(Platform::new("x86_64-unknown-linux-gnu", "").is_err());
    }
}
