//! The platform of the packages, by its names in Rust, npm and Python.

use std::path::Path;

use ralph_process::command;

use crate::child::output;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Platform {
    /// The Rust name: `x86_64-unknown-linux-gnu`.
    pub(super) triple: String,
    /// The npm names of system and processor: `linux`, `x64`.
    pub(super) npm: (&'static str, &'static str),
    /// The Python name: `manylinux_2_34_x86_64`.
    pub(super) python: String,
}

impl Platform {
    /// The platform of this machine, with the C library version that the binary needs.
    pub(super) fn of_host(binary: &Path) -> Result<Self, String> {
        let version = output(command("rustc").arg("-vV"))?;
        let triple = version.lines().find_map(|line| line.strip_prefix("host: "));
        let triple = triple.ok_or("`rustc -vV` does not name a host")?;
        let needs = match triple.contains("-linux-") {
            true => output(command("readelf").args(["-W", "--version-info"]).arg(binary))?,
            false => String::new(),
        };
        Self::new(triple, &needs)
    }

    fn new(triple: &str, version_needs: &str) -> Result<Self, String> {
        let unknown = || format!("unsupported platform {triple}");
        let (processor, system) = triple.split_once('-').ok_or_else(unknown)?;
        let (npm, python) = match (system, processor) {
            ("unknown-linux-gnu", "x86_64" | "aarch64") => {
                let npm = if processor == "x86_64" { "x64" } else { "arm64" };
                let glibc = newest_glibc(version_needs).ok_or("cannot find the C library version of the binary")?;
                (("linux", npm), format!("manylinux_2_{glibc}_{processor}"))
            }
            // The oldest systems that Rust supports.
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

/// The newest C library version that a binary needs: 34 for `GLIBC_2.34`.
fn newest_glibc(version_needs: &str) -> Option<u32> {
    let named = version_needs.split("GLIBC_2.").skip(1);
    let number = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
    named.filter_map(number).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platform_names_match_each_ecosystem() {
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
