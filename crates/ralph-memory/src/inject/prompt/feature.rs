//! `## Feature Specification` and `## Feature Plan`: what a person wrote about the feature of the task.
//!
//! Both are fenced, so that their headings are not part of the prompt's structure. A text that is too long is cut
//! before a heading, with a note that says where the rest is.

use ralph_model::{Budget, EntryKind, InjectionReason, Tokens};
use ralph_notes::Fences;

use super::markdown::{fence_for, one_line};
use super::section::{Considered, Section};
use super::section_budgets::part;
use super::{MemoryShare, PromptRequest};
use crate::inject::feature_texts::{FeatureFile, FeatureTexts};

/// The maximum size of the specification, including the text around it.
const SPECIFICATION: Tokens = Tokens(4000);
/// The maximum size of the plan, including the text around it.
const PLAN: Tokens = Tokens(3000);
/// Maximum width of the quoted heading.
const HEADING_SHOWN: usize = 80;

/// How much of a feature's text a prompt contains; `None` if it contains everything.
#[must_use]
pub fn feature_cut_to(texts: &FeatureTexts, file: FeatureFile) -> Option<Tokens> {
    let section = match file {
        FeatureFile::Spec => specification_of(Some(texts), MemoryShare::Whole),
        FeatureFile::Plan => plan_of(Some(texts), MemoryShare::Whole),
    };
    let tokens = |reason| {
        let mut considered = section.injections.iter();
        let found = considered.find(|injection| injection.reason == reason);
        found.map(|injection| injection.tokens)
    };
    tokens(InjectionReason::OverBudget).map(|_| tokens(InjectionReason::Shown).unwrap_or_default())
}

pub(super) fn specification(request: &PromptRequest<'_>) -> Section {
    specification_of(request.feature, request.share)
}

fn specification_of(texts: Option<&FeatureTexts>, share: MemoryShare) -> Section {
    let Some((texts, text)) = texts.and_then(|texts| Some((texts, texts.spec.as_deref()?))) else {
        return Section::default();
    };
    let name = &texts.name;
    let frame = Frame {
        heading: "Feature Specification",
        opening: format!("The specification of the whole feature {name}; your task is one part of it:"),
        file: path(texts, FeatureFile::Spec),
    };
    frame.section(text, Budget::of(part(SPECIFICATION, share)))
}

pub(super) fn plan(request: &PromptRequest<'_>) -> Section {
    plan_of(request.feature, request.share)
}

fn plan_of(texts: Option<&FeatureTexts>, share: MemoryShare) -> Section {
    let Some((texts, text)) = texts.and_then(|texts| Some((texts, texts.plan.as_deref()?))) else {
        return Section::default();
    };
    let name = &texts.name;
    let frame = Frame {
        heading: "Feature Plan",
        opening: plan_opening(name, text),
        file: path(texts, FeatureFile::Plan),
    };
    frame.section(text, Budget::of(part(PLAN, share)))
}

/// Both texts for the verifier. The agent may have changed them.
pub(super) fn for_verification(texts: &FeatureTexts, changed_files: &[String]) -> String {
    let name = &texts.name;
    let frame = |heading, opening: String, file| {
        let file = path(texts, file);
        let mark = if changed_files.contains(&file) {
            ". This attempt changed the file; the diff shows the old text:"
        } else {
            ":"
        };
        Frame {
            heading,
            opening: format!("{opening}{mark}"),
            file,
        }
    };
    let wanted = format!("The specification of the whole feature {name}; the task is one part of it");
    let spec = frame("Feature Specification", wanted, FeatureFile::Spec);
    let mut built = plan_summary(name);
    if has_open_boxes(texts.plan.as_deref().unwrap_or_default()) {
        built.push_str(". Open boxes may be done already");
    }
    let plan = frame("Feature Plan", built, FeatureFile::Plan);
    let spec = texts
        .spec
        .as_ref()
        .map(|text| spec.section(text, Budget::of(SPECIFICATION)));
    let plan = texts.plan.as_ref().map(|text| plan.section(text, Budget::of(PLAN)));
    let sections: Vec<String> = spec.into_iter().chain(plan).map(|section| section.text).collect();
    sections.join("\n")
}

/// Plan boxes are not ticked when tasks are done; an agent that trusts them would repeat everything.
fn plan_opening(name: &str, text: &str) -> String {
    let opening = plan_summary(name);
    if has_open_boxes(text) {
        format!("{opening}. Open boxes may be done already; see `ralph feature show {name}`:")
    } else {
        format!("{opening}:")
    }
}

fn plan_summary(name: &str) -> String {
    format!("The plan of the feature {name}; other parts of it are other tasks")
}

fn has_open_boxes(text: &str) -> bool {
    text.contains("[ ]")
}

fn path(texts: &FeatureTexts, file: FeatureFile) -> String {
    format!("{}/{}", texts.folder, file.file_name())
}

/// The text around a feature's text.
struct Frame {
    heading: &'static str,
    opening: String,
    /// The full path for the note.
    file: String,
}

impl Frame {
    /// The section with as much of the text as fits.
    fn section(&self, text: &str, budget: Budget) -> Section {
        let text = format!("{}\n", text.trim_end());
        let (before, after) = self.around(&text);
        let frame = before.chars().count() + after.chars().count();
        let total = text.chars().count();
        let mut room = budget;
        let (shown, rest, note) = if room.take(frame + total) {
            (text.clone(), "", String::new())
        } else if room.take(frame + self.longest_note(total)) {
            let cut = cut(&text, room);
            let end = if cut.kept.ends_with('\n') { "" } else { "\n" };
            let rest = text.get(cut.kept.len()..).unwrap_or_default();
            (format!("{}{end}", cut.kept), rest, self.note(&cut, total))
        } else {
            (String::new(), text.as_str(), String::new())
        };
        let mut section = Section {
            heading: self.heading,
            ..Section::default()
        };
        if !shown.is_empty() {
            section.text = format!("{before}{shown}{after}{note}");
        }
        // If it was cut, both parts are recorded.
        let parts = [
            (shown.as_str(), InjectionReason::Shown),
            (rest, InjectionReason::OverBudget),
        ];
        let parts = parts.into_iter().filter(|(part, _)| !part.is_empty());
        section.considered(parts.map(|(part, reason)| Considered {
            kind: EntryKind::Feature,
            id: &self.file,
            text: part,
            score: None,
            reason,
        }));
        section
    }

    /// The text before and after.
    fn around(&self, text: &str) -> (String, String) {
        let fence = fence_for(text);
        (
            format!("## {}\n\n{}\n\n{fence}markdown\n", self.heading, self.opening),
            format!("{fence}\n"),
        )
    }

    /// The note about what was cut.
    fn note(&self, cut: &Cut<'_>, total: usize) -> String {
        let left_out = total - cut.kept.chars().count();
        let place = match cut.next_heading {
            Some(heading) => format!(
                "before the heading \"{}\"",
                ralph_model::preview(&one_line(heading), HEADING_SHOWN)
            ),
            None => "in the middle of a section".to_owned(),
        };
        format!(
            "\nCut {place}: {left_out} of {total} characters are left out. Read the rest in `{}`.\n",
            self.file
        )
    }

    /// The maximum length of a note.
    fn longest_note(&self, total: usize) -> usize {
        let longest = "#".repeat(HEADING_SHOWN);
        let cut = Cut {
            kept: "",
            next_heading: Some(&longest),
        };
        // A cut inside a line also needs a line break.
        self.note(&cut, total).chars().count() + 1
    }
}

/// The beginning of a text.
#[derive(Debug, PartialEq, Eq)]
struct Cut<'a> {
    kept: &'a str,
    /// The heading at which it was cut; `None` if it was cut elsewhere.
    next_heading: Option<&'a str>,
}

/// Shortens a text: to the last heading that fits, if there is more than headings before it, else to the end of a line.
/// If that would leave more than half of the space empty, it is cut further on, because a short introduction is of
/// little use. A single long line is cut inside.
fn cut(text: &str, room: Budget) -> Cut<'_> {
    let mut left = room;
    let most = text
        .char_indices()
        .find(|_| !left.take(1))
        .map_or(text.len(), |(end, _)| end);
    let mut left = room;
    let (mut end, mut has_text, mut fences, mut after_fence) = (0, false, Fences::default(), 0);
    let mut at_heading = None;
    for line in text.split_inclusive('\n') {
        if end >= after_fence {
            after_fence = fences.after_fence(text, end).unwrap_or(end);
        }
        let is_heading = end >= after_fence && is_heading(line);
        if is_heading && has_text {
            at_heading = Some((end, line.trim_end()));
        }
        has_text |= !is_heading && !line.trim().is_empty();
        if !left.take(line.chars().count()) {
            break;
        }
        end += line.len();
    }
    let is_enough = |end: usize| end > 0 && end >= most / 2;
    let (end, next_heading) = match at_heading {
        Some((end, heading)) if is_enough(end) => (end, Some(heading)),
        _ if is_enough(end) => (end, None),
        _ => (most, None),
    };
    Cut {
        kept: text.get(..end).unwrap_or_default(),
        next_heading,
    }
}

/// Whether a line outside of a fence is a heading: up to three spaces, one to six `#` and a space.
fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches(' ');
    let rest = text.trim_start_matches('#');
    let (indent, hashes) = (line.len() - text.len(), text.len() - rest.len());
    indent <= 3 && (1..=6).contains(&hashes) && (rest.trim().is_empty() || rest.starts_with([' ', '\t']))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, characters: usize, kept: &str, heading: Option<&str>) {
        let expected = Cut {
            kept,
            next_heading: heading,
        };
        assert_eq!(cut(text, Budget::of(Tokens(0)).at_most(characters)), expected);
    }

    #[test]
    fn text_is_cut_before_the_last_heading_that_fits() {
        let text = "# A\none\n## B\ntwo\n### C\nthree\nfour\n";
        check(text, 25, "# A\none\n## B\ntwo\n", Some("### C"));
        check(text, 17, "# A\none\n## B\ntwo\n", Some("### C"));
        check(text, 16, "# A\none\n", Some("## B"));
        check(text, 7, "# A\n", None);
        check(text, 3, "# A", None);
    }

    #[test]
    fn text_is_not_cut_right_after_headings() {
        check("# A\n\n## B\none\ntwo\n", 14, "# A\n\n## B\none\n", None);
    }

    #[test]
    fn long_section_is_cut_inside() {
        let lines = format!("# A\none\n## B\n{}", "two\n".repeat(50));
        let kept = format!("# A\none\n## B\n{}", "two\n".repeat(21));
        check(&lines, 100, &kept, None);
        let line = format!("# A\none\n## B\n{}\n", "x".repeat(200));
        let kept = format!("# A\none\n## B\n{}", "x".repeat(87));
        check(&line, 100, &kept, None);
        let half = format!("# A\n{}\n## B\n{}\n", "x".repeat(45), "y".repeat(200));
        check(&half, 100, &format!("# A\n{}\n", "x".repeat(45)), Some("## B"));
    }

    #[test]
    fn lookalikes_are_not_headings() {
        let text = "one\n```sh\n# comment\n```\n#tag\n    # code\n# B\n";
        check(text, 22, "one\n```sh\n# comment\n", None);
        check(text, 29, "one\n```sh\n# comment\n```\n#tag\n", None);
        check(text, 42, "one\n```sh\n# comment\n```\n#tag\n    # code\n", Some("# B"));
    }

    #[test]
    fn fault_3_long_lines_are_cut_between_characters() {
        check("日本語日本語", 4, "日本語日", None);
    }

    proptest! {
        #[test]
        fn fault_3_cut_text_is_a_prefix_that_fits(text in "(#{1,3} \\PC{0,8}\n|\\PC{0,12}\n|```\n){0,12}", room in 0usize..80) {
            let cut = cut(&text, Budget::of(Tokens(0)).at_most(room));
            prop_assert!(cut.kept.chars().count() <= room);
            prop_assert!(text.starts_with(cut.kept));
            if let Some(heading) = cut.next_heading {
                prop_assert!(text.get(cut.kept.len()..).unwrap().starts_with(heading));
            }
        }
    }
}
