//! `## Feature Specification` and `## Feature Plan`: what a person wrote about the whole that a task is a part of.
//!
//! Both stand in a fence, so that their headings, and whatever else is in them, are theirs and not the prompt's. What is too
//! long is cut before a heading, and the prompt says so and where the rest is.

use ralph_model::{Budget, EntryKind, InjectionReason, Tokens};
use ralph_notes::Fences;

use super::markdown::{fence_for, one_line};
use super::room::part;
use super::section::{Considered, Section};
use super::{MemoryShare, PromptRequest};
use crate::inject::feature_texts::{FeatureFile, FeatureTexts};

/// The most that the specification takes, with everything around it.
const SPECIFICATION: Tokens = Tokens(4000);
/// The most that the plan takes, with everything around it.
const PLAN: Tokens = Tokens(3000);
/// The most characters of the heading that a text was cut before.
const HEADING_SHOWN: usize = 80;

/// How much of one of a feature's texts a prompt holds; none where it holds all of it.
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

/// What is wanted.
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
        opening: format!("What is wanted of the feature {name} as a whole; your task is one part of it:"),
        file: path(texts, FeatureFile::Spec),
    };
    frame.section(text, Budget::of(part(SPECIFICATION, share)))
}

/// How it is built.
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

/// Both, as whoever looks at the finished work of one task reads them.
/// Whoever did the work may have changed them with it.
pub(super) fn around_finished_work(texts: &FeatureTexts, changed_files: &[String]) -> String {
    let name = &texts.name;
    let frame = |heading, opening: String, file| {
        let file = path(texts, file);
        let mark = if changed_files.contains(&file) {
            ". This attempt changed the file itself; what it said before is in the diff:"
        } else {
            ":"
        };
        Frame {
            heading,
            opening: format!("{opening}{mark}"),
            file,
        }
    };
    let wanted = format!("What is wanted of the feature {name} as a whole; the task is one part of it");
    let spec = frame("Feature Specification", wanted, FeatureFile::Spec);
    let mut built = building(name);
    if has_open_boxes(texts.plan.as_deref().unwrap_or_default()) {
        built.push_str(". Its boxes may be open though these are done");
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

/// Nobody ticks the boxes of a plan when its tasks are done: whoever trusted them would do everything again.
fn plan_opening(name: &str, text: &str) -> String {
    let opening = building(name);
    if has_open_boxes(text) {
        format!("{opening}. Its boxes may be open though these are done; `ralph feature show {name}` tells:")
    } else {
        format!("{opening}:")
    }
}

fn building(name: &str) -> String {
    format!("How the feature {name} is to be built; other parts of it are other tasks")
}

fn has_open_boxes(text: &str) -> bool {
    text.contains("[ ]")
}

fn path(texts: &FeatureTexts, file: FeatureFile) -> String {
    format!("{}/{}", texts.folder, file.file_name())
}

/// What stands around a text.
struct Frame {
    heading: &'static str,
    opening: String,
    /// Where all of it is.
    file: String,
}

impl Frame {
    /// The section with as much of a text as there is room for.
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
        // Where it was cut, both parts are told: what stands there, and what does not.
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

    /// What stands before a text, and after it.
    fn around(&self, text: &str) -> (String, String) {
        let fence = fence_for(text);
        (
            format!("## {}\n\n{}\n\n{fence}markdown\n", self.heading, self.opening),
            format!("{fence}\n"),
        )
    }

    /// Where it was cut, how much is left out, and where that is.
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
            "\nCut here, {place}: {left_out} of {total} characters are left out. All of it stands in `{}`; read the rest there.\n",
            self.file
        )
    }

    /// The most that a note can take.
    fn longest_note(&self, total: usize) -> usize {
        let longest = "#".repeat(HEADING_SHOWN);
        let cut = Cut {
            kept: "",
            next_heading: Some(&longest),
        };
        // A line that is cut in the middle needs a line break as well.
        self.note(&cut, total).chars().count() + 1
    }
}

/// The beginning of a text.
#[derive(Debug, PartialEq, Eq)]
struct Cut<'a> {
    kept: &'a str,
    /// The heading before which it ends; none when it ends elsewhere.
    next_heading: Option<&'a str>,
}

/// The beginning of a text that is too long: up to the last heading that there is room for, if anything but headings stands
/// before it; else up to the end of a line. Where that would leave more than half of the room empty, it is cut further on: a
/// short introduction says little. Of a line that is too long by itself, as many characters stand as there is room for.
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

/// Whether a line outside of a fence is a heading: one to six `#`, not further in than three blanks, and a blank after them.
fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches(' ');
    let rest = text.trim_start_matches('#');
    let (indent, signs) = (line.len() - text.len(), text.len() - rest.len());
    indent <= 3 && (1..=6).contains(&signs) && (rest.trim().is_empty() || rest.starts_with([' ', '\t']))
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
    fn a_text_is_cut_before_the_last_heading_that_there_is_room_for() {
        let text = "# A\none\n## B\ntwo\n### C\nthree\nfour\n";
        check(text, 25, "# A\none\n## B\ntwo\n", Some("### C"));
        check(text, 17, "# A\none\n## B\ntwo\n", Some("### C"));
        check(text, 16, "# A\none\n", Some("## B"));
        check(text, 7, "# A\n", None);
        check(text, 3, "# A", None);
    }

    #[test]
    fn a_heading_with_nothing_but_headings_before_it_is_no_place_to_cut() {
        check("# A\n\n## B\none\ntwo\n", 14, "# A\n\n## B\none\n", None);
    }

    #[test]
    fn a_short_introduction_is_not_all_that_is_shown_of_a_long_section() {
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
    fn what_only_looks_like_a_heading_is_none() {
        let text = "one\n```sh\n# comment\n```\n#tag\n    # code\n# B\n";
        check(text, 22, "one\n```sh\n# comment\n", None);
        check(text, 29, "one\n```sh\n# comment\n```\n#tag\n", None);
        check(text, 42, "one\n```sh\n# comment\n```\n#tag\n    # code\n", Some("# B"));
    }

    #[test]
    fn fault_3_one_long_line_is_cut_between_characters() {
        check("日本語日本語", 4, "日本語日", None);
    }

    proptest! {
        #[test]
        fn fault_3_what_is_kept_fits_and_is_a_beginning(text in "(#{1,3} \\PC{0,8}\n|\\PC{0,12}\n|```\n){0,12}", room in 0usize..80) {
            let cut = cut(&text, Budget::of(Tokens(0)).at_most(room));
            prop_assert!(cut.kept.chars().count() <= room);
            prop_assert!(text.starts_with(cut.kept));
            if let Some(heading) = cut.next_heading {
                prop_assert!(text.get(cut.kept.len()..).unwrap().starts_with(heading));
            }
        }
    }
}
