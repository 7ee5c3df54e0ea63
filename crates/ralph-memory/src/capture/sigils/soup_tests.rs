//! Property tests with arbitrary mixtures of sigils, complete, broken, nested and quoted: what is captured is clean and
//! bounded, and nothing affects other messages.

use std::collections::HashSet;
use std::path::Path;

use proptest::prelude::*;
use ralph_model::{Captured, CapturedLearning};

use super::{read_captured, read_control, read_verdict};

/// Text inside sigils: words, markup, invisible characters and characters that grow in lower case.
fn text() -> impl Strategy<Value = String> {
    let pieces = [
        "words",
        " ",
        "\n",
        "\t",
        "\r\n",
        "\0",
        "\u{1b}[31m",
        "\u{202e}",
        "\u{feff}",
        "İ",
        "ﬀ",
        "👩‍👩‍👧",
        "数据库",
        ",",
        "|",
        ";",
        ":",
        "<",
        ">",
        "</",
        "/>",
        "\"",
        "'",
        "=",
        "&lt;",
        "&gt;",
        "&quot;",
        "&#0;",
        "&#x1F600;",
        "&#xD800;",
        "&bogus;",
        "&amp;lt;",
        "`",
        "```\n",
        "~~~",
        "> ",
        "- ",
        "what_tried: ",
        "why_failed: ",
        "error_category: ",
        "relevant_files: ",
        "stack_trace: ",
        "t-1a2b3c",
        "<!--",
        "-->",
        "]]>",
        "$(x)",
        "'; DROP TABLE learnings; --",
        "%",
        "\\",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..12).prop_map(|parts| parts.concat())
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "journal",
        "knowledge",
        "learning",
        "Learning",
        "failure-report",
        "retry-suggestion",
        "difficulty-estimate",
        "memory-used",
        "task-done",
        "task-failed",
        "promise",
        "next-model",
        "verify-pass",
        "verify-fail",
        "learnings",
        "x",
    ])
}

/// Valid and invalid attributes.
fn attributes() -> impl Strategy<Value = String> {
    let attribute = (
        prop::sample::select(vec!["category", "tags", "title", "TAGS", "on", ""]),
        prop::sample::select(vec!["=\"", "='", "=", " = \"", "\"", ""]),
        text(),
        prop::sample::select(vec!["\"", "'", "", "\" "]),
    );
    let attribute = attribute.prop_map(|(name, begin, value, end)| format!(" {name}{begin}{value}{end}"));
    let whole = Just(" category=\"pitfall\" tags=\"a,b\" title=\"T\"".to_owned());
    prop_oneof![3 => whole, 2 => prop::collection::vec(attribute, 0..4).prop_map(|all| all.concat())]
}

/// A value in double quotes, sometimes long.
fn value() -> impl Strategy<Value = String> {
    (text(), prop::sample::select(vec![1, 1, 1, 60]))
        .prop_map(|(text, times)| text.replace('"', "&quot;").repeat(times))
}

/// Sigils that are nested, fenced, truncated or repeated.
fn soup() -> impl Strategy<Value = String> {
    text().prop_recursive(4, 48, 6, |inner| {
        let sigil = |body: BoxedStrategy<String>| {
            let tag = prop::sample::select(vec![
                "<{n}{a}>{b}</{n}>",
                "<{n}{a}>{b}",
                "{b}</{n}>",
                "<{n}{a}/>",
                "<{n}{a}",
            ]);
            (name(), attributes(), body, tag).prop_map(|(name, attributes, body, form)| {
                form.replace("{n}", name)
                    .replace("{a}", &attributes)
                    .replace("{b}", &body)
            })
        };
        let report = (inner.clone(), inner.clone()).prop_map(|(tried, why)| {
            format!("<failure-report>\nwhat_tried: {tried}\nwhy_failed: {why}\n</failure-report>")
        });
        let kept = (
            prop::sample::select(vec!["learning", "knowledge"]),
            value(),
            value(),
            inner.clone(),
        )
            .prop_map(|(name, category, tags, body)| {
                format!("\n\n<{name} title=\"{tags}\" category=\"{category}\" tags=\"{tags},x\">y {body}</{name}>")
            });
        prop_oneof![
            4 => sigil(inner.clone().boxed()),
            1 => report,
            2 => kept,
            1 => inner.clone().prop_map(|text| format!("\n```\n{text}\n```\n")),
            1 => (inner.clone(), 1_usize..4).prop_map(|(text, times)| text.repeat(times)),
            2 => prop::collection::vec(inner, 0..6).prop_map(|parts| parts.concat()),
        ]
    })
}

/// Checks that a captured text is not blank, within its limit and free of control characters.
#[track_caller]
fn assert_clean(text: &str, most: usize) {
    assert!(!text.trim().is_empty() && text.chars().count() <= most, "{text:?}");
    let obeyed = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    assert_eq!(obeyed.or(text.chars().find(|c| *c == '\u{202e}')), None, "{text:?}");
}

#[track_caller]
fn assert_line(text: &str, most: usize) {
    assert_clean(text, most);
    assert!(!text.contains(['\n', '\t']), "{text:?}");
}

#[track_caller]
fn assert_tags(tags: &[String]) {
    assert!(tags.len() <= 20, "{tags:?}");
    for tag in tags {
        assert_line(tag, 50);
        assert!(!tag.contains([',', '|', '<', '>']), "{tag:?}");
    }
    assert_eq!(tags.iter().collect::<HashSet<_>>().len(), tags.len(), "{tags:?}");
}

#[track_caller]
fn assert_bounded(captured: &Captured) {
    for text in captured.journal.iter() {
        assert_clean(text, 4000);
    }
    for text in captured.retry_suggestion.iter() {
        assert_clean(text, 600);
    }
    assert!(captured.learnings.len() <= 100 && captured.knowledge.len() <= 100);
    for learning in &captured.learnings {
        assert_line(&learning.category, 50);
        assert_clean(&learning.content, 1100);
        assert_tags(&learning.tags);
    }
    for knowledge in &captured.knowledge {
        assert_line(&knowledge.title, 200);
        assert_clean(&knowledge.body, 64 << 10);
        assert_tags(&knowledge.tags);
        assert!(!knowledge.tags.is_empty());
    }
    for report in captured.failure.iter() {
        assert_clean(&report.what_tried, 600);
        assert_clean(&report.why_failed, 600);
        report.error_output.iter().for_each(|text| assert_clean(text, 500));
        assert!(report.relevant_files.len() <= 50);
        report.relevant_files.iter().for_each(|file| assert_line(file, 400));
    }
    captured.memory_used.iter().for_each(|id| assert_line(id, 200));
    assert!(captured.memory_used.len() <= 200);
}

/// Checks that every counted sigil is a tag of the text.
#[track_caller]
fn assert_counted(text: &str, malformed: u32) {
    let tags = text.matches('<').count();
    assert!(
        usize::try_from(malformed).unwrap() <= tags,
        "{malformed} of {tags}: {text:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn captures_from_any_soup_are_clean_and_bounded(text in soup()) {
        let captured = read_captured(&[&text], "", Path::new("/"));
        assert_bounded(&captured);
        assert_counted(&text, captured.malformed);
        let (control, malformed) = read_control(&[&text], "");
        assert_counted(&text, malformed);
        for id in control.done.iter().chain(control.failed.iter().map(|(id, _)| id)).chain(&control.next_model) {
            assert_line(id, 100);
        }
        drop(read_verdict(&[&text], ""));
    }

    #[test]
    fn soup_does_not_affect_the_next_message(text in soup(), task in "t-[0-9a-f]{6}") {
        let said = format!(
            "<learning category=\"other\" tags=\"of, {task}\">What {task} teaches.</learning>\n<task-done>{task}</task-done>"
        );
        let alone = read_captured(&[&text], "", Path::new("/"));
        let both = read_captured(&[&text, &said], "", Path::new("/"));
        let learning = CapturedLearning {
            category: "other".to_owned(),
            tags: vec!["of".to_owned(), task.clone()],
            content: format!("What {task} teaches."),
        };
        prop_assert_eq!(both.malformed, alone.malformed);
        prop_assert_eq!(both.learnings, [alone.learnings, vec![learning]].concat());
        let (control, _) = read_control(&[&text, &said], "");
        prop_assert!(control.done.contains(&task), "{:?}", control);
    }

    #[test]
    fn fenced_soup_is_ignored(text in soup()) {
        let fence = "~".repeat(text.len().max(3) + 1);
        let fenced = format!("Look:\n{fence}\n{text}\n{fence}\n");
        prop_assert_eq!(read_captured(&[&fenced], "", Path::new("/")), Captured::default());
        prop_assert_eq!(read_control(&[&fenced], ""), Default::default());
    }
}
