//! The configuration: the file, the variables over it, and the paths that it names.

use std::path::Path;

use ralph_model::config::{ConfigError, Hint, Key, environment_names, from_config_sh, keys, nearest_variable};
use ralph_notes::Boundary;

use super::Patient;
use super::finding::{Finding, Report};
use crate::env;
use crate::error::CommandError;
use crate::paths;
use crate::takeover::from_ralph_yml;

/// Looks at the file, the variables and the paths.
pub(super) fn check(patient: &Patient<'_>, report: &mut Report) -> Result<(), CommandError> {
    let before = report.findings.len();
    for (file, reason) in &patient.config_unreadable {
        let remedy = format!("{file} has to be a file of UTF-8 text that you may read");
        let named = reason.strip_prefix(file.as_str());
        let reason = named.map_or_else(|| reason.clone(), |rest| format!("it{rest}"));
        report.add(Finding::error(reason).at(file).mend(remedy));
    }
    for error in &patient.inspected.errors {
        report.add(wrong(error));
    }
    unknown(patient, report);
    variables(report);
    configured_paths(patient, report);
    earlier_settings(patient, report);
    for misplaced in &patient.misplaced {
        report.add(Finding::error(misplaced.sentence()).mend(misplaced.remedy()));
    }
    if let Some(file) = &patient.user_config {
        report.ok(format!("your own configuration is {file}"));
    }
    if report.findings.len() == before {
        report.ok(if patient.context.project.root.join(paths::CONFIG).exists() {
            format!("{} is fine", paths::CONFIG)
        } else {
            format!("there is no {}, so the defaults hold", paths::CONFIG)
        });
    }
    Ok(())
}

fn wrong(error: &ConfigError) -> Finding {
    match error {
        ConfigError::Syntax { place, column, message } => Finding::error(format!("this is not TOML: {message}"))
            .at(&format!("{place}:{column}"))
            .mend("mend it there; until then nearly every command fails, and doctor takes the defaults"),
        ConfigError::Value { place, refusal } => Finding::error(refusal.to_string())
            .at(place)
            .mend("set it to what is allowed, or take it out; until then nearly every command fails"),
    }
}

/// Names that are not known, which other commands only warn of, and those that have no effect.
fn unknown(patient: &Patient<'_>, report: &mut Report) {
    for warning in &patient.inspected.loaded.warnings {
        let remedy = match &warning.hint {
            Hint::Nearest(name) => format!("{name} may have been meant"),
            Hint::Known(names) => format!("take it out; known are {}", names.join(", ")),
            Hint::UserOnly => "take it out; only your own configuration may set it".to_owned(),
        };
        let why = match &warning.hint {
            Hint::Nearest(_) | Hint::Known(_) => "is not known, so it has no effect",
            Hint::UserOnly => "has no effect here",
        };
        let finding = Finding::error(format!("{} {why}", warning.unknown));
        report.add(finding.at(&warning.place).mend(remedy));
    }
    for (place, key) in &patient.inspected.ignored {
        let finding = Finding::note(format!("{key} has no effect; it is accepted from earlier tools"));
        report.add(finding.at(place).mend("take it out"));
    }
}

/// Variables that look like ours and are none, or cannot be read.
fn variables(report: &mut Report) {
    let known: Vec<String> = environment_names().map(|(name, _)| name).collect();
    for (name, is_text) in env::variables_like_ours() {
        if known.contains(&name) {
            if !is_text {
                let finding = Finding::warning("its value is not Unicode, so it counts as not set");
                report.add(finding.at(&name).mend("set it to text, or unset it"));
            }
        } else if let Some(near) = nearest_variable(&name) {
            let finding = Finding::warning("there is no such variable, so it has no effect");
            report.add(finding.at(&name).mend(format!("{near} may have been meant")));
        }
    }
}

/// Settings of earlier tools that are not here, or are here with another value.
fn earlier_settings(patient: &Patient<'_>, report: &mut Report) {
    let root = &patient.context.project.root;
    let text = |name: &str| std::fs::read_to_string(root.join(name)).ok();
    let of_yml = text(paths::ORCHESTRATOR_CONFIG).and_then(|text| from_ralph_yml(&text).ok());
    let of_sh = text(paths::OLD_SETTINGS).map(|text| from_config_sh(&text).overrides);
    let files = [(paths::ORCHESTRATOR_CONFIG, of_yml), (paths::OLD_SETTINGS, of_sh)];
    let has_config = root.join(paths::CONFIG).exists();
    for (file, settings) in files {
        for setting in settings.unwrap_or_default() {
            let key = format!("{}.{}", setting.section(), setting.key());
            let set = patient.inspected.loaded.set_by(&key).map(|(_, value)| value);
            let default = keys()
                .find(|known| known.full_name() == key)
                .and_then(Key::default_text);
            let here = set.or(default).unwrap_or("not set");
            if here == setting.value() {
                continue;
            }
            let remedy = match has_config {
                true => format!(
                    "`ralph config set {key} {}` takes it over",
                    setting.value().trim_matches('"')
                ),
                false => "`ralph init` takes it over".to_owned(),
            };
            let what = format!("{key} = {} has no effect; ralph has {here}", setting.value());
            report.add(Finding::warning(what).at(file).mend(remedy));
        }
    }
}

fn configured_paths(patient: &Patient<'_>, report: &mut Report) {
    let config = &patient.context.config;
    for (key, path) in [
        ("memories.path", &config.memories.path),
        ("guardrails.path", &config.guardrails.path),
        ("scratchpad.path", &config.scratchpad.path),
    ] {
        if let Some(path) = path {
            configured_path(patient, report, key, path);
        }
    }
}

fn configured_path(patient: &Patient<'_>, report: &mut Report, key: &str, path: &Path) {
    let root = &patient.context.project.root;
    let file = root.join(path);
    let shown = path.display();
    if path.starts_with("~") {
        let finding = Finding::warning(format!("{key} is {shown:?}, and ~ does not stand for your folder here"));
        report.add(finding.mend("write the whole path, or one from the project's root"));
    }
    let folder = file.parent().unwrap_or(root);
    if !folder.exists() {
        let finding = Finding::warning(format!("{key} is {shown:?}, and there is no such folder"));
        report.add(finding.mend("the first note makes it; if that is not wanted, mend the path"));
    } else if !file.exists() {
        let finding = Finding::note(format!("{key} is {shown:?}, and there is no such file yet"));
        report.add(finding.mend("the first note makes it"));
    }
    let is_inside = Boundary::new(root, &[]).outside(&file).is_none();
    if !is_inside && patient.misplaced.is_empty() {
        let finding = Finding::note(format!("{key} is {shown:?}, which is outside the project"));
        report.add(finding.mend("git keeps no history of it here, and every worktree has the same one"));
    }
}
