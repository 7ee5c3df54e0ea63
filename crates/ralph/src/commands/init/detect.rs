//! Detects the test commands of a project from its files, without running anything.

use std::fs;
use std::io::Read;
use std::path::Path;

/// The bytes that are read of a file.
const MOST_BYTES: u64 = 1 << 20;

/// The detection of each ecosystem, in the order of the written gates.
const ECOSYSTEMS: [fn(&Path) -> Option<String>; 8] = [cargo, node, pytest, unittest, go, gradle, maven, dotnet];

/// The test commands of a project. A Makefile only counts if nothing else is found, because its targets usually call
/// the same commands.
pub(super) fn test_commands(root: &Path) -> Vec<String> {
    let found: Vec<String> = ECOSYSTEMS.iter().filter_map(|detect| detect(root)).collect();
    match found.is_empty() {
        true => make(root).into_iter().collect(),
        false => found,
    }
}

fn cargo(root: &Path) -> Option<String> {
    has(root, "Cargo.toml").then(|| "cargo test".to_owned())
}

/// The test script of package.json, run with the package manager whose lock file exists.
fn node(root: &Path) -> Option<String> {
    /// The placeholder that `npm init` writes.
    const PLACEHOLDER: &str = "no test specified";
    let package: serde_json::Value = serde_json::from_str(&text(root, "package.json")?).ok()?;
    let script = package.get("scripts")?.get("test")?.as_str()?;
    if script.trim().is_empty() || script.contains(PLACEHOLDER) {
        return None;
    }
    let managers = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn")];
    let manager = managers.iter().find(|(file, _)| has(root, file));
    Some(format!("{} test", manager.map_or("npm", |(_, manager)| manager)))
}

fn pytest(root: &Path) -> Option<String> {
    const CONFIGURED: [(&str, &str); 7] = [
        ("pytest.ini", ""),
        ("conftest.py", ""),
        ("tests/conftest.py", ""),
        ("pyproject.toml", "pytest"),
        ("setup.cfg", "[tool:pytest]"),
        ("tox.ini", "pytest"),
        ("requirements-dev.txt", "pytest"),
    ];
    let is_used = |(file, word): &(&str, &str)| text(root, file).is_some_and(|text| text.contains(word));
    CONFIGURED.iter().any(is_used).then(|| {
        let runners = [("uv.lock", "uv run pytest"), ("poetry.lock", "poetry run pytest")];
        let runner = runners.iter().find(|(file, _)| has(root, file));
        runner.map_or("python3 -m pytest", |(_, command)| command).to_owned()
    })
}

fn unittest(root: &Path) -> Option<String> {
    if pytest(root).is_some() {
        return None;
    }
    let has_tests = |folder: &str| {
        names(&root.join(folder))
            .iter()
            .filter(|name| name.starts_with("test") && name.ends_with(".py"))
            .any(|name| text(&root.join(folder), name).is_some_and(|text| text.contains("import unittest")))
    };
    let folders = [("", ""), ("tests", " -s tests"), ("test", " -s test")];
    let (_, option) = folders.into_iter().find(|(folder, _)| has_tests(folder))?;
    Some(format!("python3 -m unittest discover{option}"))
}

fn go(root: &Path) -> Option<String> {
    has(root, "go.mod").then(|| "go test ./...".to_owned())
}

fn gradle(root: &Path) -> Option<String> {
    const FILES: [&str; 4] = [
        "build.gradle",
        "build.gradle.kts",
        "settings.gradle",
        "settings.gradle.kts",
    ];
    let program = if has(root, "gradlew") { "./gradlew" } else { "gradle" };
    FILES
        .iter()
        .any(|file| has(root, file))
        .then(|| format!("{program} test"))
}

fn maven(root: &Path) -> Option<String> {
    let program = if has(root, "mvnw") { "./mvnw" } else { "mvn" };
    has(root, "pom.xml").then(|| format!("{program} test"))
}

fn dotnet(root: &Path) -> Option<String> {
    const ENDINGS: [&str; 5] = [".sln", ".slnx", ".csproj", ".fsproj", ".vbproj"];
    let is_project = |name: &String| ENDINGS.iter().any(|ending| name.ends_with(ending));
    names(root).iter().any(is_project).then(|| "dotnet test".to_owned())
}

/// The Makefile's `test` target, else `check`.
fn make(root: &Path) -> Option<String> {
    let files = ["GNUmakefile", "makefile", "Makefile"];
    let makefile = files.iter().find_map(|file| text(root, file))?;
    let has_target = |target: &&&str| {
        let mut rules = makefile.lines().filter_map(|line| line.strip_prefix(**target));
        rules.any(|rest| rest.trim_start().starts_with(':') && !rest.trim_start().starts_with(":="))
    };
    let target = ["test", "check"].iter().find(has_target)?;
    Some(format!("make {target}"))
}

fn has(root: &Path, name: &str) -> bool {
    root.join(name).is_file()
}

/// The start of a file, if it exists and is UTF-8.
fn text(root: &Path, name: &str) -> Option<String> {
    let file = fs::File::open(root.join(name)).ok()?;
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::io::Write::write_all(&mut fs::File::create(path).unwrap(), content.as_bytes()).unwrap();
        }
        assert_eq!(test_commands(folder.path()), expected, "{files:?}");
    }

    const TEST_SCRIPT: (&str, &str) = ("package.json", r#"{"scripts": {"test": "vitest run"}}"#);
    const UNITTEST: &str = "import unittest\n\nclass T(unittest.TestCase): pass\n";

    #[test]
    fn each_ecosystem_has_its_command() {
        check(&[("Cargo.toml", "[package]")], &["cargo test"]);
        check(&[TEST_SCRIPT], &["npm test"]);
        check(&[TEST_SCRIPT, ("package-lock.json", "{}")], &["npm test"]);
        check(&[TEST_SCRIPT, ("pnpm-lock.yaml", "")], &["pnpm test"]);
        check(&[TEST_SCRIPT, ("yarn.lock", "")], &["yarn test"]);
        check(&[("pytest.ini", "[pytest]")], &["python3 -m pytest"]);
        check(
            &[("pyproject.toml", "[tool.pytest.ini_options]")],
            &["python3 -m pytest"],
        );
        check(&[("tests/conftest.py", ""), ("uv.lock", "")], &["uv run pytest"]);
        check(
            &[("setup.cfg", "[tool:pytest]"), ("poetry.lock", "")],
            &["poetry run pytest"],
        );
        check(&[("test_a.py", UNITTEST)], &["python3 -m unittest discover"]);
        check(
            &[("tests/test_a.py", UNITTEST)],
            &["python3 -m unittest discover -s tests"],
        );
        check(&[("go.mod", "module x")], &["go test ./..."]);
        check(&[("Makefile", "all:\n\ttrue\n\ntest: all\n\ttrue\n")], &["make test"]);
        check(&[("GNUmakefile", "check :\n\ttrue\n")], &["make check"]);
        check(&[("build.gradle.kts", "")], &["gradle test"]);
        check(&[("settings.gradle", ""), ("gradlew", "")], &["./gradlew test"]);
        check(&[("pom.xml", "")], &["mvn test"]);
        check(&[("pom.xml", ""), ("mvnw", "")], &["./mvnw test"]);
        check(&[("App.sln", "")], &["dotnet test"]);
        check(&[("App.csproj", "")], &["dotnet test"]);
    }

    #[test]
    fn each_ecosystem_has_a_gate_and_makefile_is_a_fallback() {
        let makefile = ("Makefile", "test:\n\tcargo test\n");
        check(
            &[("Cargo.toml", ""), TEST_SCRIPT, makefile],
            &["cargo test", "npm test"],
        );
        check(&[("pytest.ini", ""), ("test_a.py", UNITTEST)], &["python3 -m pytest"]);
    }

    #[test]
    fn without_tests_there_is_no_gate() {
        check(&[], &[]);
        check(
            &[(
                "package.json",
                r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#,
            )],
            &[],
        );
        check(&[("package.json", "{")], &[]);
        check(&[("package.json", r#"{"scripts": {"build": "tsc"}}"#)], &[]);
        check(&[("Makefile", "tests:\n\ttrue\ntest := 1\ncheck = 2\n")], &[]);
        check(&[("test_a.py", "assert True\n")], &[]);
        check(&[("pyproject.toml", "[project]")], &[]);
    }
}
