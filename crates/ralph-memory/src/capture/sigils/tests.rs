//! Tests of sigils as agents write and quote them.

use std::path::Path;

use proptest::prelude::*;
use ralph_model::{
    Captured, CapturedKnowledge, CapturedLearning, Control, Difficulty, ErrorCategory, FailureReport, Promise, Verdict,
};
use ralph_testkit::{RECORDED_ROOT, recorded};

const DONE: &str = "<task-done>t-1a2b3c</task-done>";

fn read_control(text: &str, prompt: &str) -> (Control, u32) {
    super::read_control(&[text], prompt)
}

fn read_captured(text: &str, prompt: &str) -> Captured {
    super::read_captured(&[text], prompt, Path::new(RECORDED_ROOT))
}

#[track_caller]
fn check_control(text: &str, expected: Control, malformed: u32) {
    assert_eq!(read_control(text, ""), (expected, malformed), "in {text:?}");
}

#[track_caller]
fn check_captured(text: &str, expected: &Captured) {
    assert_eq!(&read_captured(text, ""), expected, "in {text:?}");
}

fn done(ids: &[&str]) -> Control {
    Control {
        done: ids.iter().map(|id| (*id).to_owned()).collect(),
        ..Control::default()
    }
}

fn promise(promise: Promise) -> Control {
    Control {
        promise: Some(promise),
        ..Control::default()
    }
}

fn journal(notes: &str) -> Captured {
    Captured {
        journal: Some(notes.to_owned()),
        ..Captured::default()
    }
}

fn malformed(malformed: u32) -> Captured {
    Captured {
        malformed,
        ..Captured::default()
    }
}

#[test]
fn control_sigils_are_read() {
    check_control("", Control::default(), 0);
    check_control("I did it.\n<task-done>t-1a2b3c</task-done>\n", done(&["t-1a2b3c"]), 0);
    check_control("< Task-Done >\n  t-1a2b3c \n</TASK-DONE  >", done(&["t-1a2b3c"]), 0);
    check_control(
        "<task-done>t-1, t-2 and `t-3`.</task-done><task-done>t-1</task-done>",
        done(&["t-1", "t-2", "t-3"]),
        0,
    );
    check_control("<task-done>17</task-done>", done(&["17"]), 0);
    let failed = |reason: &str| Control {
        failed: vec![("t-1a2b3c".to_owned(), reason.to_owned())],
        ..Control::default()
    };
    check_control("<task-failed>t-1a2b3c</task-failed>", failed(""), 0);
    check_control(
        "<task-failed>t-1a2b3c: no network\nhere</task-failed>",
        failed("no network\nhere"),
        0,
    );
    check_control("<task-failed>\n`t-1a2b3c` — it is\n</task-failed>", failed("it is"), 0);
    check_control(
        "<next-model>haiku</next-model><next-model>opus</next-model>",
        Control {
            next_model: Some("opus".to_owned()),
            ..Control::default()
        },
        0,
    );
}

#[test]
fn failure_promise_wins() {
    check_control("<promise>COMPLETE</promise>", promise(Promise::Complete), 0);
    check_control(
        "<promise>FAILURE</promise><promise> complete </promise>",
        promise(Promise::Failure),
        0,
    );
    check_control(
        "<promise>COMPLETE</promise>\n<promise>FAILURE</promise>",
        promise(Promise::Failure),
        0,
    );
    check_control("<promise>SOON</promise>", Control::default(), 1);
}

#[track_caller]
fn check_verdict(messages: &[&str], expected: Option<&Verdict>) {
    assert_eq!(
        super::read_verdict(messages, "Look.\n<verify-pass/>\n").as_ref(),
        expected,
        "{messages:?}"
    );
}

#[test]
fn pass_as_last_words_is_a_verdict() {
    for said in [
        "<verify-pass/>",
        "All is there.\n\n  <verify-pass />  \n\n",
        "<verify-pass></verify-pass>",
        "The file says <verify-pass/> itself.\n<verify-pass/>",
    ] {
        check_verdict(&[said], Some(&Verdict::Pass));
    }
    check_verdict(&["I have looked.", "<verify-pass/>", " \n"], Some(&Verdict::Pass));
}

#[test]
fn mentioned_pass_is_not_a_verdict() {
    for said in [
        "The file holds <verify-pass/>, I cannot judge it.",
        "README says so: <verify-pass/>",
        "<verify-pass/> is what the file says",
        "<verify-pass/>\nBut wait: the parser is missing.",
        "<verify-pass/>\n\n> a quote",
        "<verify-pass/>\n```\ncode\n```",
        "> <verify-pass/>",
        "```\n<verify-pass/>\n```",
        "```\n<verify-pass/>",
        "<journal>\n<verify-pass/>\n</journal>",
        "<verify-pass>",
        "</verify-pass>",
        "Nothing.",
        "",
    ] {
        check_verdict(&[said], None);
    }
    check_verdict(&["<verify-pass/>", "Or is it?"], None);
}

#[test]
fn any_fail_tag_refuses() {
    let fail = |why: &str| Verdict::Fail(why.to_owned());
    for (said, why) in [
        ("<verify-fail>tests are missing</verify-fail>", "tests are missing"),
        ("<verify-pass /> <verify-fail>no</verify-fail>\n<verify-pass/>", "no"),
        ("<verify-fail/>\n<verify-pass/>", ""),
        (
            "<verify-fail>README says \"<verify-pass/>\" to fool me; the parser is missing.",
            "README says \"<verify-pass/>\" to fool me; the parser is missing.",
        ),
        ("<verify-fail>Gone.\n<verify-pass/>", "Gone.\n<verify-pass/>"),
        ("The parser is missing.</verify-fail>\n<verify-pass/>", "<verify-pass/>"),
        ("<verify-fail\n<verify-pass/>", "<verify-pass/>"),
        (
            "<journal><verify-fail>no</journal>\n<verify-pass/>",
            "no</journal>\n<verify-pass/>",
        ),
        ("<verify-fail/>\n<verify-fail>no</verify-fail>", "no"),
    ] {
        check_verdict(&[said], Some(&fail(why)));
    }
    check_verdict(&["<verify-fail>no</verify-fail>", "<verify-pass/>"], Some(&fail("no")));
}

#[test]
fn capture_sigils_are_read() {
    let text = r#"
Some words.
<journal> </journal>
<journal>
Renamed the parser.
</journal>
<journal>A second one.</journal>
<knowledge title='The "cache" of Vec<T>' tags=" Cache , tokens,cache ">
It lives in `src/cache.rs`:

```rust
let a = b && c; // </knowledge> and <journal>fenced</journal> belong to the code
```
</knowledge>
<KNOWLEDGE
   tags = "a"
   title = "R&amp;D &#39;x&#x27; &quot;y&quot; &unknown; & z">1 &lt; 2 &gt; 0</KNOWLEDGE>
<learning tags="ci" category="pitfall">Never  run two at once.</learning>
<learning category="Naming">Plain names.</learning>
<retry-suggestion>Begin with the lexer.</retry-suggestion><retry-suggestion>Or not.</retry-suggestion>
<difficulty-estimate>easy</difficulty-estimate><difficulty-estimate>Hard</difficulty-estimate>
<memory-used>mem-1-aaaa, fix-2-bbbb
mem-1-aaaa</memory-used>
"#;
    let strings = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<String>>();
    check_captured(
        text,
        &Captured {
            journal: Some("Renamed the parser.".to_owned()),
            knowledge: vec![
                CapturedKnowledge {
                    title: "The \"cache\" of Vec<T>".to_owned(),
                    tags: strings(&["cache", "tokens"]),
                    feature: None,
                    body: "It lives in `src/cache.rs`:\n\n```rust\nlet a = b && c; \
                        // </knowledge> and <journal>fenced</journal> belong to the code\n```"
                        .to_owned(),
                },
                CapturedKnowledge {
                    title: "R&D 'x' \"y\" &unknown; & z".to_owned(),
                    tags: strings(&["a"]),
                    feature: None,
                    body: "1 < 2 > 0".to_owned(),
                },
            ],
            learnings: vec![
                CapturedLearning {
                    category: "pitfall".to_owned(),
                    tags: strings(&["ci"]),
                    content: "Never  run two at once.".to_owned(),
                },
                CapturedLearning {
                    category: "naming".to_owned(),
                    tags: Vec::new(),
                    content: "Plain names.".to_owned(),
                },
            ],
            failure: None,
            retry_suggestion: Some("Begin with the lexer.".to_owned()),
            difficulty: Some(Difficulty::Hard),
            memory_used: strings(&["mem-1-aaaa", "fix-2-bbbb"]),
            malformed: 0,
        },
    );
}

#[test]
fn used_notes_are_named_by_id_or_title() {
    let used = |text: &str| read_captured(&format!("<memory-used>{text}</memory-used>"), "").memory_used;
    assert_eq!(used("mem-1-aaaa fix-2-bbbb"), ["mem-1-aaaa", "fix-2-bbbb"]);
    assert_eq!(
        used("Rounding; mem-1-aaaa"),
        ["Rounding", "mem-1-aaaa", "Rounding; mem-1-aaaa"]
    );
    assert_eq!(used("the-port.md"), ["the-port.md"]);
    assert_eq!(
        used("mem-1-aaaa, Port 8080 is taken"),
        ["mem-1-aaaa", "Port 8080 is taken", "mem-1-aaaa, Port 8080 is taken"]
    );
    assert_eq!(used("IPv6"), ["IPv6"]);
    assert_eq!(
        used("Ports, and who has them\nHTTP2"),
        ["Ports", "and who has them", "HTTP2", "Ports, and who has them"]
    );
    assert_eq!(used(" , ;\n"), [""; 0]);
}

#[test]
fn report_values_may_have_several_lines() {
    let report = |text: &str| {
        let captured = read_captured(&format!("<failure-report>{text}</failure-report>"), "");
        (captured.failure, captured.malformed)
    };
    let (whole, malformed) = report(
        "\nAs asked:\nwhat_tried: a new lexer\n  and a parser\nnote: for both\n**Why_Failed**: no time\n\
         - error_category: Build-Error\nrelevant_files: `src/a.rs`, src/b.rs\n  - src/c.rs\nstack_trace:\nerror[E1]: x\n  at y\n",
    );
    assert_eq!(
        whole,
        Some(FailureReport {
            what_tried: "a new lexer\n  and a parser\nnote: for both".to_owned(),
            why_failed: "no time".to_owned(),
            category: ErrorCategory::BuildError,
            relevant_files: ["src/a.rs", "src/b.rs", "src/c.rs"].map(str::to_owned).to_vec(),
            error_output: Some("error[E1]: x\n  at y".to_owned()),
            origin: ralph_model::ReportOrigin::Agent,
            gate: None,
        })
    );
    assert_eq!(malformed, 0);
    let (least, _) = report("what_tried: a\nwhy_failed: b\nerror_category: gremlins");
    let least = least.expect("both required keys are present");
    assert_eq!(least.category, ErrorCategory::Unknown);
    assert_eq!((least.relevant_files, least.error_output), (vec![], None));
    assert_eq!(report("what_tried: a"), (None, 1));
    assert_eq!(report("what_tried: a\nwhy_failed:  \n"), (None, 1));
    // The first valid report counts.
    let captured = read_captured(
        "<failure-report>nothing</failure-report>\
         <failure-report>what_tried: a\nwhy_failed: b</failure-report>\
         <failure-report>what_tried: c\nwhy_failed: d</failure-report>",
        "",
    );
    assert_eq!(captured.failure.expect("the second").what_tried, "a");
    assert_eq!(captured.malformed, 1);
}

#[test]
fn fault_9_sigils_in_code_or_quotes_are_ignored() {
    for text in [
        format!("```\n{DONE}\n```"),
        format!("```xml\n{DONE}\n``\n~~~\n```"),
        format!("~~~~\n~~~\n{DONE}\n~~~~~"),
        format!("  ```\n  {DONE}\n  ```"),
        format!("- like this:\n    ```\n    {DONE}\n    ```"),
        format!("1. ```\n   {DONE}\n   ```"),
        format!("````\n```\n{DONE}\n```\n````"),
        format!("A fence that is never closed:\n```\n{DONE}\n"),
        format!("say `{DONE}` at the end"),
        format!("say ``{DONE} ` `` at the end"),
        format!("say ```{DONE}``` at the end"),
        format!("say `it\nlike {DONE}\nthen` at the end"),
        format!("> {DONE}"),
        format!("  >{DONE}\n>> {DONE}"),
        format!("- > {DONE}"),
        format!("a\r\n```\r\n{DONE}\r\n```\r\n"),
    ] {
        check_control(&text, Control::default(), 0);
        let notes = text.replace(DONE, "<journal>noted</journal>");
        check_captured(&notes, &Captured::default());
    }
}

#[test]
fn sigils_outside_of_code_are_obeyed() {
    for text in [
        format!("    {DONE}"),
        format!("\t- {DONE}"),
        format!("```\ncode\n```\n{DONE}"),
        format!("```a`b\n{DONE}"),
        format!("a ` stray backtick\n\n{DONE} and ` another"),
        format!("a ` stray backtick\n{DONE}\nand ` another"),
        format!("use `a` and `b`: {DONE}"),
        format!("`` ` `` {DONE} `"),
        format!("# {DONE}"),
        format!("**{DONE}**"),
        format!("> quoted\n{DONE}"),
        format!("\u{1b}[32m{DONE}\u{1b}[0m"),
    ] {
        check_control(&text, done(&["t-1a2b3c"]), 0);
    }
    let quoted = "<knowledge title=\"the ` sign\" tags=\"a\">means `code`</knowledge>";
    assert_eq!(read_captured(quoted, "").knowledge.len(), 1);
}

/// A prompt with sigils in sentences, alone and fenced.
const PROMPT: &str = "# The work\n\nDo what stands below.   Then say <promise>COMPLETE</promise>.\n\n\
    When you cannot, write\n<promise>FAILURE</promise>\n\n```\n<task-done>t-EXAMPLE</task-done>\n<journal>\nWhat you did\n\
    </journal>\n```\n\n## Assigned Task\n\nMake `a` print <task-done>t-1a2b3c</task-done>.\n";

#[track_caller]
fn check_echo(text: &str, expected: Control, notes: Option<&str>) {
    assert_eq!(read_control(text, PROMPT), (expected, 0), "in {text:?}");
    let captured = read_captured(text, PROMPT);
    assert_eq!(
        (captured.journal.as_deref(), captured.malformed),
        (notes, 0),
        "in {text:?}"
    );
}

#[test]
fn fault_9_echoed_prompt_is_ignored() {
    let own = "\n<journal>mine</journal>\n<task-done>t-ffffff</task-done>\n";
    let quoted: String = PROMPT.lines().map(|line| format!("> {line}\n")).collect();
    let squeezed: String = PROMPT
        .lines()
        .map(|line| format!("{}\r\n", line.replace("  ", " ")))
        .collect();
    let indented: String = PROMPT.lines().map(|line| format!("   {line}  \n")).collect();
    let compact = PROMPT.replace("\n\n", "\n");
    let (_, from_the_middle) = PROMPT.split_once("below. ").expect("the prompt has it");
    let (_, from_the_middle) = from_the_middle.split_once('\n').expect("lines follow");
    for echo in [PROMPT, &quoted, &squeezed, &indented, &compact, from_the_middle] {
        check_echo(echo, Control::default(), None);
        check_echo(&format!("{echo}{own}"), done(&["t-ffffff"]), Some("mine"));
    }
    let unfenced = "<journal>\nWhat you did\n</journal>\n<task-done>t-1a2b3c</task-done>";
    check_echo(unfenced, done(&["t-1a2b3c"]), None);
    check_echo("<task-done>t-example</task-done>", Control::default(), None);
    check_echo("<task-failed>t-EXAMPLE-2 why</task-failed>", Control::default(), None);
}

#[test]
fn message_may_begin_with_a_tag_from_the_prompt() {
    check_echo(
        "<journal>\nWhat I did\n</journal>\n",
        Control::default(),
        Some("What I did"),
    );
    check_echo(
        "<journal>\nWhat you did\nand I\n</journal>\n<task-done>t-ffffff</task-done>",
        done(&["t-ffffff"]),
        Some("What you did\nand I"),
    );
    // An unclosed tag, or one closed in the prompt's words, is an echo.
    let (unfinished, _) = PROMPT.split_once("What you did").expect("the prompt has it");
    check_echo(&format!("{unfinished}```\nI begin."), Control::default(), None);
    let (example, _) = PROMPT.split_once("```\n\n## Assigned").expect("the prompt has it");
    check_echo(
        &format!("{example}```\nI begin.\n<journal>mine</journal>"),
        Control::default(),
        Some("mine"),
    );
    let long = format!("<journal>\n{}</", "</".repeat(1 << 18));
    assert_eq!(read_captured(&long, PROMPT).journal, None);
}

#[test]
fn fault_30_promise_in_the_prompt_does_not_count() {
    let (first, _) = PROMPT.split_once("\n\nWhen").expect("the prompt has it");
    check_echo(first, Control::default(), None);
    check_echo(&format!("{first}\nI begin."), Control::default(), None);
    check_echo(
        "When you cannot, write\n<promise>FAILURE</promise>\n",
        Control::default(),
        None,
    );
    // The agent's own promise counts, even if the prompt has the same line.
    check_echo("<promise>FAILURE</promise>", promise(Promise::Failure), None);
    check_echo(
        "It is all there.\n<promise>COMPLETE</promise>",
        promise(Promise::Complete),
        None,
    );
    check_echo(
        &format!("{PROMPT}\n<promise>COMPLETE</promise>"),
        promise(Promise::Complete),
        None,
    );
}

#[test]
fn unclosed_markup_does_not_affect_the_next_message() {
    for open in ["Like this:\n```\ncode", "~~~\ncode", "a ` stray backtick", "> quoted"] {
        assert_eq!(super::read_control(&[open, DONE], ""), (done(&["t-1a2b3c"]), 0));
        assert_eq!(
            super::read_captured(&[open, "<journal>noted</journal>"], "", Path::new(RECORDED_ROOT)),
            journal("noted")
        );
    }
    assert_eq!(
        super::read_captured(
            &["<journal>one", "two", "three</journal>"],
            "",
            Path::new(RECORDED_ROOT)
        ),
        malformed(2)
    );
    assert_eq!(
        super::read_control(&["<task-done>", "t-1a2b3c</task-done>"], ""),
        (Control::default(), 2)
    );
    // Single values count once across messages: the first notes are kept, and ids are not repeated.
    let messages = [
        "<journal>one</journal>",
        "<journal>two</journal><memory-used>mem-1-aaaa</memory-used>",
        "<memory-used>mem-1-aaaa</memory-used>",
    ];
    let captured = super::read_captured(&messages, "", Path::new(RECORDED_ROOT));
    assert_eq!(
        (captured.journal.as_deref(), captured.memory_used.len()),
        (Some("one"), 1)
    );
}

#[test]
fn fault_9_each_message_may_begin_with_an_echo() {
    let own = "I begin.";
    assert_eq!(
        super::read_control(&[own, PROMPT, PROMPT], PROMPT),
        (Control::default(), 0)
    );
    let answer = format!("{PROMPT}\n<task-done>t-ffffff</task-done>");
    assert_eq!(
        super::read_control(&[own, PROMPT, &answer], PROMPT),
        (done(&["t-ffffff"]), 0)
    );
}

#[test]
fn malformed_sigils_are_counted_and_contained() {
    check_captured("<journal>never closed", &malformed(1));
    check_captured("closed only</journal>", &malformed(1));
    check_captured("<journal", &malformed(1));
    check_captured("<journal a=\"b>x</journal>", &malformed(2));
    check_captured("<knowledge>no attributes</knowledge>", &malformed(1));
    check_captured("<knowledge tags=\"a\">no title</knowledge>", &malformed(1));
    check_captured("<knowledge title=\"t\" tags=\" , \">no tag</knowledge>", &malformed(1));
    check_captured("<knowledge title=\"t\" tags=\"a\"> </knowledge>", &malformed(1));
    check_captured("<learning>no category</learning>", &malformed(1));
    check_captured("<difficulty-estimate>very</difficulty-estimate>", &malformed(1));
    check_captured(
        "<journals>other</journals> <journal-x>y</journal-x> a<b>c",
        &Captured::default(),
    );
    check_captured(
        "<journal>one <journal>two</journal>",
        &Captured {
            malformed: 1,
            ..journal("two")
        },
    );
    check_captured(
        "</journal><journal>one</journal>",
        &Captured {
            malformed: 1,
            ..journal("one")
        },
    );
    let both = "<journal>never closed\n<task-done>t-1a2b3c</task-done>\n<learning category=\"other\">l</learning>";
    check_control(both, done(&["t-1a2b3c"]), 0);
    assert_eq!(read_captured(both, "").learnings.len(), 1);
    assert_eq!(read_captured(both, "").malformed, 1);
    check_control(
        "<task-done><task-failed a='<task-done>t-1</task-done>",
        done(&["t-1"]),
        2,
    );
    for text in [
        "<task-done></task-done>",
        "<task-done/>",
        "<task-failed> </task-failed>",
        "<verify-pass>",
        "<next-model/>",
    ] {
        check_control(text, Control::default(), 1);
    }
}

#[test]
fn nested_sigil_is_text() {
    let text = "<journal>I will say <task-done>t-1a2b3c</task-done> soon</journal>";
    check_control(text, Control::default(), 1);
    check_captured(text, &journal("I will say <task-done>t-1a2b3c</task-done> soon"));
}

#[test]
fn fault_10_notes_are_kept_however_the_session_ended() {
    // Cut at the token limit, inside the next sigil.
    check_captured(
        "<journal>kept</journal>\n<knowledge title=\"t\" tags=\"a\">cut in the mid",
        &Captured {
            malformed: 1,
            ..journal("kept")
        },
    );
    check_captured("<journal>kept</journal>\n<promise>FAILURE</promise>", &journal("kept"));
    check_captured("<journal>kept</journal>\n<task-don", &journal("kept"));
}

#[test]
fn captures_are_cleaned_capped_and_masked() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let text = format!(
        "<journal>\u{1b}[31m{token}\u{1b}[0m\r\n{}</journal>\
         <knowledge title=\"a\nb\u{202e} {token}\" tags=\"{}\">{token}</knowledge>\
         <failure-report>what_tried: {token}\nwhy_failed: {}\nrelevant_files: {}\nstack_trace: first\n{}last</failure-report>",
        "x".repeat(5000),
        (0..30).map(|n| format!("tag {n},")).collect::<String>(),
        "y".repeat(700),
        (0..60).map(|n| format!("{n}.rs\n")).collect::<String>(),
        "a line of output\n".repeat(60),
    );
    let captured = read_captured(&text, "");
    let notes = captured.journal.expect("there are notes");
    assert!(notes.starts_with("[secret: github]\nxxx") && notes.ends_with("x […cut]"));
    assert_eq!(notes.chars().count(), 4000);
    let knowledge = captured.knowledge.first().expect("there is one");
    assert_eq!(knowledge.title, "a b [secret: github]");
    assert_eq!(knowledge.tags.len(), 20);
    let tagged = format!("<learning category=\"{token}\" tags=\"CI,{token},ci\">x</learning>");
    let learning = read_captured(&tagged, "").learnings.pop().expect("there is one");
    assert_eq!(learning.category, "[secret: github]");
    assert_eq!(learning.tags, ["ci", "[secret: github]"]);
    let long = format!("<learning category=\"other\">{}</learning>", "x".repeat(5000));
    let learning = read_captured(&long, "").learnings.pop().expect("there is one");
    assert!(learning.content.chars().count() == 1100 && learning.content.ends_with("x […cut]"));
    let report = captured.failure.expect("there is one");
    assert_eq!(
        (report.what_tried.as_str(), report.why_failed.chars().count()),
        ("[secret: github]", 600)
    );
    assert_eq!(report.relevant_files.len(), 50);
    let output = report.error_output.expect("there is some");
    assert!(
        // Without failure lines, the last lines are kept.
        output.chars().count() <= 500 && output.ends_with("\na line of output\nlast"),
        "{output}"
    );
    assert_eq!(output.lines().next(), Some("a line of output"));
}

#[test]
fn long_traces_keep_the_relevant_lines() {
    let kept = |trace: &str| {
        let text = format!("<failure-report>what_tried: a\nwhy_failed: b\nstack_trace: {trace}</failure-report>");
        read_captured(&text, "")
            .failure
            .and_then(|report| report.error_output)
            .unwrap_or_default()
    };
    assert_eq!(
        kept(recorded("node_calls_type_error").output),
        "/home/dev/project/cart.js:2
  return request.item.price;
TypeError: Cannot read properties of undefined (reading 'price')
    at exports.total [as handle] (/home/dev/project/cart.js:2:23)"
    );
    let calls = |trace: &str| {
        trace
            .lines()
            .skip_while(|line| !line.contains("Error: "))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(
        kept(&calls(recorded("node_calls_range_error").output)),
        "RangeError: Invalid time value
    at exports.stamp [as handle] (/home/dev/project/cart.js:6:33)"
    );
    assert_eq!(
        kept(recorded("cargo_test_unwrap_backtrace").output),
        "thread 'tests::unwrap' (2041) panicked at src/lib.rs:60:53:
called `Result::unwrap()` on an `Err` value: Custom { kind: Other, error: \"disk\" }"
    );
    // A short trace is kept unchanged.
    assert_eq!(kept("one\n  two"), "one\n  two");
}

#[test]
fn sigil_in_joined_chunks_is_read() {
    let text = "Well.\n<task-done>t-1a2b3c</task-done>";
    for (at, _) in text.char_indices() {
        let (first, second) = text.split_at(at);
        let mut joined = String::new();
        for chunk in [first, second] {
            joined.push_str(chunk);
        }
        check_control(&joined, done(&["t-1a2b3c"]), 0);
    }
}

/// With superlinear parsing this would run for hours.
#[test]
fn long_hostile_texts_are_parsed_quickly() {
    const LENGTH: usize = 1 << 19;
    for unit in [
        "<",
        "`",
        "``` ",
        "` `` ",
        "<journal>",
        "</journal>",
        "<journal ",
        "<journal a=\"",
        "<journal a='<",
        "<journal a=\"b\" ",
        "< ",
        "<knowledge a=\"< ",
        "> ",
        "- ",
        "1. ",
        "&",
        "&#",
        "<journal>\n",
        "```\n",
        "~~~\n",
        "`\n",
        "# a\n",
        "<journal a\n",
        "<task-done>x</task-done>",
        "<journal><learning></journal>",
        "\u{1b}]",
        "\u{9d}",
        "\n",
    ] {
        let text = unit.repeat(LENGTH / unit.len());
        assert!(read_control(&text, "").0.promise.is_none());
        assert_eq!(read_captured(&text, unit).failure, None);
    }
    let echo = "a\n".repeat(LENGTH / 8);
    assert_eq!(read_control(&echo, &format!("{echo}b\n{echo}")).0, Control::default());
    let body = format!("<journal>{}</journal>", "\u{1b}]&a\u{9d}".repeat(LENGTH / 32));
    assert!(read_captured(&body, "").journal.is_some());
    let ten_megabytes = "<journal a=\"` <task-done> &".repeat((10 << 20) / 26);
    assert_eq!(read_captured(&ten_megabytes, "").journal, None);
}

fn pieces() -> impl Strategy<Value = String> {
    let pieces = [
        "<journal>",
        "</journal>",
        "<task-done>",
        "</task-done>",
        "t-1a2b3c",
        "<knowledge tags=\"a\" title='b'>",
        "</knowledge>",
        "<verify-pass/>",
        "`",
        "```",
        "~~~",
        "\n",
        "> ",
        "- ",
        "words ",
        "é",
        "<",
        ">",
        "&lt;",
        "\"",
        "/",
        "=",
        " ",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_text_is_parsed(text in pieces(), prompt in pieces()) {
        let control = read_control(&text, &prompt);
        // A text that is all echo says nothing.
        let (echoed, _) = read_control(&format!("w{text}\n"), &format!("w{text}\n"));
        prop_assert_eq!(echoed, Control::default());
        // A text in a longer fence says nothing.
        let fence = "`".repeat(text.len().max(3) + 1);
        let (fenced, malformed) = read_control(&format!("{fence}\n{text}\n{fence}"), "");
        prop_assert_eq!((fenced, malformed), (Control::default(), 0));
        prop_assert_eq!(read_control(&text, &prompt), control);
        prop_assert_eq!(read_captured(&text, &prompt), read_captured(&text, &prompt));
    }

    #[test]
    fn sigil_after_a_blank_line_is_always_read(text in "[a-z<>/`\"= \n-]{0,60}") {
        prop_assume!(!text.contains("```"));
        let (control, _) = read_control(&format!("{text}\n\n{DONE}"), "");
        prop_assert_eq!(control.done, vec!["t-1a2b3c".to_owned()]);
    }
}

#[test]
fn error_output_key_is_not_a_file() {
    let said = "<failure-report>what_tried: a\nwhy_failed: b\nrelevant_files: src/a.rs\nerror_output: assertion failed</failure-report>";
    let report = read_captured(said, "").failure.unwrap();
    assert_eq!(report.relevant_files, ["src/a.rs"]);
    assert_eq!(report.error_output.as_deref(), Some("assertion failed"));
}
