//! Checks the configuration: its files, the environment variables that override it, and the paths in it.

use std::path::Path;

use ralph_model::config::{ConfigError, Hint, Key, environment_names, from_config_sh, keys, nearest_variable};
use ralph_notes::Boundary;

use super::DoctorContext;
use super::finding::{Finding, Report};
use crate::env;
use crate::error::CommandError;
use crate::paths;
use crate::ralph_yml::from_ralph_yml;

pub(super) fn check(doctor: &DoctorContext<'_>, report: &mut Report) -> Result<(), CommandError> {
    let before = report.findings.len();
    for (file, reason) in &doctor.config_unreadable {
        let remedy = format!("{file} must be a readable UTF-8 text file");
        let named = reason.strip_prefix(file.as_str());
        let reason = named.map_or_else(|| reason.clone(), |rest| format!("it{rest}"));
        report.add(Finding::error(reason).at(file).remedy(remedy));
    }
    for error in &doctor.inspected.errors {
        report.add(invalid(error));
    }
    unknown(doctor, report);
    variables(report);
    configured_paths(doctor, report);
    earlier_settings(doctor, report);
    for misplaced in &doctor.misplaced {
        report.add(Finding::error(misplaced.sentence()).remedy(misplaced.remedy()));
    }
    if let Some(file) = &doctor.user_config {
        report.ok(format!("your user configuration is {file}"));
    }
    if report.findings.len() == before {
        report.ok(if doctor.context.project.root.join(paths::CONFIG).exists() {
            format!("{} is fine", paths::CONFIG)
        } else {
            format!("there is no {}, so the defaults apply", paths::CONFIG)
        });
    }
    Ok(())
}

fn invalid(error: &ConfigError) -> Finding {
    match error {
        ConfigError::Syntax { place, column, message } => Finding::error(format!("invalid TOML: {message}"))
            .at(&format!("{place}:{column}"))
            .remedy("fix the file; until then most commands fail, and doctor uses the defaults"),
        ConfigError::Value { place, refusal } => Finding::error(refusal.to_string())
            .at(place)
            .remedy("set an allowed value, or remove it; until then most commands fail"),
    }
}

/// Unknown keys, which other commands only warn about, and keys without effect.
fn unknown(doctor: &DoctorContext<'_>, report: &mut Report) {
    for warning in &doctor.inspected.loaded.warnings {
        let remedy = match &warning.hint {
            Hint::Nearest(name) => format!("did you mean {name}?"),
            Hint::Known(names) => format!("remove it; known keys are {}", names.join(", ")),
            Hint::UserOnly => "remove it; only your user configuration may set it".to_owned(),
        };
        let why = match &warning.hint {
            Hint::Nearest(_) | Hint::Known(_) => "is unknown and has no effect",
            Hint::UserOnly => "has no effect here",
        };
        let finding = Finding::error(format!("{} {why}", warning.unknown));
        report.add(finding.at(&warning.place).remedy(remedy));
    }
    for (place, key) in &doctor.inspected.ignored {
        let finding = Finding::note(format!("{key} has no effect; it is accepted from earlier tools"));
        report.add(finding.at(place).remedy("remove it"));
    }
}

/// Variables that look like ours but are unknown or unreadable.
fn variables(report: &mut Report) {
    let known: Vec<String> = environment_names().map(|(name, _)| name).collect();
    for (name, is_text) in env::variables_like_ours() {
        if known.contains(&name) {
            if !is_text {
                let finding = Finding::warning("its value is not Unicode and is ignored");
                report.add(finding.at(&name).remedy("set it to text, or unset it"));
            }
        } else if let Some(near) = nearest_variable(&name) {
            let finding = Finding::warning("unknown variable; it has no effect");
            report.add(finding.at(&name).remedy(format!("did you mean {near}?")));
        }
    }
}

/// Settings of earlier tools that are not set here or have another value.
fn earlier_settings(doctor: &DoctorContext<'_>, report: &mut Report) {
    let root = &doctor.context.project.root;
    let text = |name: &str| std::fs::read_to_string(root.join(name)).ok();
    let of_yml = text(paths::ORCHESTRATOR_CONFIG).and_then(|text| from_ralph_yml(&text).ok());
    let of_sh = text(paths::OLD_SETTINGS).map(|text| from_config_sh(&text).overrides);
    let files = [(paths::ORCHESTRATOR_CONFIG, of_yml), (paths::OLD_SETTINGS, of_sh)];
    let has_config = root.join(paths::CONFIG).exists();
    for (file, settings) in files {
        for setting in settings.unwrap_or_default() {
            let key = format!("{}.{}", setting.section(), setting.key());
            let set = doctor.inspected.loaded.set_by(&key).map(|(_, value)| value);
            let default = keys()
                .find(|known| known.full_name() == key)
                .and_then(Key::default_text);
            let here = set.or(default).unwrap_or("not set");
            if here == setting.value() {
                continue;
            }
            let remedy = match has_config {
                true => format!(
                    "`ralph config set {key} {}` imports it",
                    setting.value().trim_matches('"')
                ),
                false => "`ralph init` imports it".to_owned(),
            };
            let what = format!("{key} = {} has no effect; ralph uses {here}", setting.value());
            report.add(Finding::warning(what).at(file).remedy(remedy));
        }
    }
}

fn configured_paths(doctor: &DoctorContext<'_>, report: &mut Report) {
    let config = &doctor.context.config;
    for (key, path) in [
        ("memories.path", &config.memories.path),
        ("guardrails.path", &config.guardrails.path),
        ("scratchpad.path", &config.scratchpad.path),
    ] {
        if let Some(path) = path {
            configured_path(doctor, report, key, path);
        }
    }
}

fn configured_path(doctor: &DoctorContext<'_>, report: &mut Report, key: &str, path: &Path) {
    let root = &doctor.context.project.root;
    let file = root.join(path);
    let shown = path.display();
    if path.starts_with("~") {
        let finding = Finding::warning(format!("{key} is {shown:?}, but ~ is not expanded here"));
        report.add(finding.remedy("use an absolute path, or one relative to the project root"));
    }
    let folder = file.parent().unwrap_or(root);
    if !folder.exists() {
        let finding = Finding::warning(format!("{key} is {shown:?}, but that folder does not exist"));
        report.add(finding.remedy("the first note creates it; otherwise fix the path"));
    } else if !file.exists() {
        let finding = Finding::note(format!("{key} is {shown:?}, but that file does not exist yet"));
        report.add(finding.remedy("the first note creates it"));
    }
    let is_inside = Boundary::new(root, &[]).outside(&file).is_none();
    if !is_inside && doctor.misplaced.is_empty() {
        let finding = Finding::note(format!("{key} is {shown:?}, which is outside the project"));
        report.add(finding.remedy("git does not track it here, and all worktrees share it"));
    }
}
