//! Tests of adding our hook to all kinds of settings and removing it.

use proptest::prelude::*;

use super::*;

/// Adds the hook and removes it again; returns the text in between.
#[track_caller]
fn round_trip(before: &str) -> String {
    let with = with_hook(before).unwrap();
    let (part, _) = setup_state(&with).unwrap();
    assert_eq!(part, Part::InPlace, "{with}");
    assert_eq!(with_hook(&with).unwrap(), with, "once is enough");
    assert_eq!(without_hook(&with).unwrap(), Change::Text(before.to_owned()), "{with}");
    with
}

/// The value of a text, without comments and trailing commas.
fn meaning(text: &str) -> Json {
    let root = parse(split_bom(text).1).unwrap();
    root.value().map_or(json!({}), |value| value.to_serde_value().unwrap())
}

/// The value with one more element for the event.
fn meaning_with_hook(text: &str) -> Json {
    let mut meaning = meaning(text);
    let groups = &mut meaning[HOOKS][EVENT];
    if groups.is_null() {
        *groups = json!([]);
    }
    groups.as_array_mut().unwrap().insert(0, current());
    meaning
}

#[test]
fn a_new_file_has_the_hook_and_is_removed_again() {
    insta::assert_snapshot!(new_file(), @r#"
    {
      "hooks": {
        "SessionStart": [
          {
            "hooks": [
              {
                "type": "command",
                "command": "ralph hook session-start",
                "timeout": 10
              }
            ]
          }
        ]
      }
    }
    "#);
    assert_eq!(setup_state(&new_file()).unwrap(), (Part::InPlace, true));
    assert_eq!(without_hook(&new_file()).unwrap(), Change::NoFile);
}

#[test]
fn the_hook_follows_the_files_layout() {
    insta::assert_snapshot!(round_trip("{\n    \"model\": \"opus\" // fast\n    // the end\n}\n"), @r#"
    {
        "hooks": {
            "SessionStart": [
                {
                    "hooks": [
                        {
                            "type": "command",
                            "command": "ralph hook session-start",
                            "timeout": 10
                        }
                    ]
                }
            ]
        },
        "model": "opus" // fast
        // the end
    }
    "#);
    let others =
        "{\n\t\"hooks\": {\n\t\t\"Stop\": [],\n\t\t\"SessionStart\": [\n\t\t\t{\"hooks\": []},\n\t\t],\n\t},\n}";
    insta::assert_snapshot!(round_trip(others).replace('\t', "→"), @r#"
    {
    →"hooks": {
    →→"Stop": [],
    →→"SessionStart": [
    →→→{
    →→→→"hooks": [
    →→→→→{
    →→→→→→"type": "command",
    →→→→→→"command": "ralph hook session-start",
    →→→→→→"timeout": 10
    →→→→→}
    →→→→]
    →→→},
    →→→{"hooks": []},
    →→],
    →},
    }
    "#);
    insta::assert_snapshot!(round_trip("{\"a\": [1]}"), @r#"{"hooks": {"SessionStart":[{"hooks":[{"type":"command","command":"ralph hook session-start","timeout":10}]}]},"a": [1]}"#);
}

#[test]
fn unusual_settings_are_restored_exactly() {
    for before in [
        "",
        "\n",
        " \r\n ",
        "\u{feff}",
        "\u{feff}{}",
        "// nothing yet\n",
        "\u{feff}// nothing\n // yet",
        "{}",
        "{}\n",
        "{ }",
        "{\n}",
        "{\r\n}\r\n",
        "{ // c\n}",
        "{ /* c */ }",
        "{\"hooks\":{}}",
        "{\"hooks\": {}}",
        "{\"hooks\": {\"SessionStart\": []}}",
        "{\"hooks\": { \"SessionStart\": [ ] }}",
        "{\n  \"hooks\": {}\n}\n",
        "{\n  \"hooks\": {\n    \"SessionStart\": []\n  }\n}\n",
        "{\n  \"a\": 1 // c  \n}\n",
        "{\n  \"a\": 1, // c\n\n}\n",
        "{\n\"a\": 1\n}",
        "{\"a\": 1 // c\n}",
        "{\"a\": 1 /* c */ , }",
        "{\r\n  \"a\": {\r\n  }\r\n}\r\n",
        "{\"hooks\": {}, \"a\": 1, \"hooks\": {\"Stop\": []}}",
        "{\"hooks\": {\"SessionStart\": [{\"matcher\": \"resume\", \"hooks\": [{\"type\": \"command\", \"command\": \"date\"}]}]}}",
    ] {
        round_trip(before);
    }
}

#[test]
fn edits_of_other_parts_are_kept() {
    let with = round_trip("{\n  \"a\": 1\n}\n");
    let edited = with.replace("\"a\": 1", "\"a\": 2, \"b\": [ ]");
    assert_eq!(
        without_hook(&edited).unwrap(),
        Change::Text("{\n  \"a\": 2, \"b\": [ ]\n}\n".to_owned())
    );
    let appended = with.replace("\n}", ",\n  // mine\n  \"b\": 3\n}");
    assert_eq!(
        without_hook(&appended).unwrap(),
        Change::Text("{\n  \"a\": 1,\n  // mine\n  \"b\": 3\n}\n".to_owned())
    );
    let added = new_file().replace("\n  }\n}", "\n  },\n  \"b\": 3\n}");
    assert_eq!(
        without_hook(&added).unwrap(),
        Change::Text("{\n  \"b\": 3\n}\n".to_owned())
    );
    let reformatted = serde_json::to_string_pretty(&meaning(&round_trip("{\"a\": 1}"))).unwrap();
    assert_eq!(
        without_hook(&reformatted).unwrap(),
        Change::Text("{\n  \"a\": 1\n}".to_owned())
    );
}

#[test]
fn outdated_forms_are_updated() {
    for form in outdated() {
        for before in ["{}", "{\n  \"a\": 1\n}\n", "{\"hooks\": {\"SessionStart\": [1]}}"] {
            let with_outdated = insert(before, &form).unwrap();
            assert_eq!(setup_state(&with_outdated).unwrap().0, Part::Outdated);
            assert_eq!(with_hook(&with_outdated).unwrap(), with_hook(before).unwrap());
        }
    }
}

#[test]
fn a_hook_edited_by_hand_is_found_and_removable() {
    let check = |entry: &str, without: &str| {
        let text = format!("{{\"hooks\": {{\"SessionStart\": [{entry}]}}}}");
        assert_eq!(setup_state(&text).unwrap().0, Part::Changed, "{text}");
        assert_eq!(without_hook(&text).unwrap(), Change::Text(without.to_owned()));
    };
    let ours = r#"{"type": "command", "command": "'/opt/my/ralph' hook session-start", "timeout": 60}"#;
    check(&format!("{{\"matcher\": \"startup\", \"hooks\": [{ours}]}}"), "{}");
    check(
        &format!("{{\"hooks\": [{ours}, 1]}}, {{\"hooks\": [{ours}]}}"),
        "{\"hooks\": {\"SessionStart\": [{\"hooks\": [ 1]}]}}",
    );
    for other in [
        "ralph",
        "ralph hook stop",
        "my-ralph hook session-start",
        "echo ralph hook session-start",
    ] {
        let text = json!({ HOOKS: { EVENT: [{ "hooks": [{ "command": other }] }] } }).to_string();
        assert_eq!(setup_state(&text).unwrap().0, Part::Missing, "{other}");
    }
}

#[test]
fn unsuitable_settings_are_reported_with_their_position() {
    let check = |text: &str, place: (usize, usize), what: &str| {
        let error = SettingsError {
            place,
            what: what.to_owned(),
        };
        assert_eq!(with_hook(text), Err(error), "{text}");
    };
    check("[]", (1, 1), "the settings are not an object");
    check(
        "\u{feff}{\"é\": 1,\n\"hooks\": []}",
        (2, 10),
        "\"hooks\" is not an object",
    );
    check(
        "{\"hooks\": {\"SessionStart\": {}}}",
        (1, 28),
        "\"SessionStart\" of \"hooks\" is not an array",
    );
    check("{\"a\": 1\n \"b\": 2}", (1, 8), "it is not JSON: Expected comma");
    check(
        &"[".repeat(1_000_000),
        (1, 513),
        "it is not JSON: Maximum nesting depth exceeded",
    );
}

/// Whitespace, comments and line breaks between tokens.
fn gap() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => Just(" "),
        4 => Just("\n  "),
        2 => Just("\r\n"),
        1 => Just("\t"),
        1 => Just("\n\n"),
        1 => Just("/* c, } */"),
        1 => Just("/* two\n lines */"),
        1 => Just("// c \" ] \n"),
        1 => Just(" // \r\n\t"),
    ];
    prop::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

/// Joins items to a container, with gaps and maybe a trailing comma.
fn container(items: Vec<(String, String, String)>, open: &str, close: &str, end: &(String, bool)) -> String {
    let count = items.len();
    let mut text = open.to_owned();
    for (index, (before, item, after)) in items.into_iter().enumerate() {
        let comma = if index + 1 < count || end.1 { "," } else { "" };
        text.extend([before.as_str(), &item, &after, comma]);
    }
    text + &end.0 + close
}

fn array(element: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let items = prop::collection::vec((gap(), element, gap()), 0..4);
    (items, (gap(), any::<bool>())).prop_map(|(items, end)| container(items, "[", "]", &end))
}

fn object(member: impl Strategy<Value = (String, String)>) -> impl Strategy<Value = String> {
    let member = (member, gap(), gap()).prop_map(|((name, value), one, two)| format!("\"{name}\"{one}:{two}{value}"));
    let items = prop::collection::vec((gap(), member, gap()), 0..4);
    (items, (gap(), any::<bool>())).prop_map(|(items, end)| container(items, "{", "}", &end))
}

fn any_value() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "1",
        "-2.5e3",
        "true",
        "null",
        "\"\"",
        "\"a, } // é\"",
        "\"\\u00e9\\\\\"",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(3, 12, 3, |inner| {
        let name = prop::sample::select(vec!["a", "b", "command", "matcher"]).prop_map(str::to_owned);
        prop_oneof![array(inner.clone()), object((name, inner))]
    })
}

fn settings() -> impl Strategy<Value = String> {
    let name = |names: Vec<&'static str>| prop::sample::select(names).prop_map(str::to_owned);
    let group = prop_oneof![
        any_value(),
        object((
            name(vec!["hooks", "matcher"]),
            array(object((name(vec!["command", "type"]), any_value())))
        )),
    ];
    let events = prop_oneof![
        3 => (Just("SessionStart".to_owned()), array(group)),
        1 => (name(vec!["Stop", "PreCompact"]), any_value()),
    ];
    let member = prop_oneof![
        2 => (Just("hooks".to_owned()), object(events)),
        3 => (name(vec!["model", "permissions", "env"]), any_value()),
    ];
    let root = prop_oneof![9 => object(member), 1 => Just(String::new())];
    let start = prop::sample::select(vec!["", "\u{feff}"]);
    (start, gap(), root, gap()).prop_map(|(start, before, root, after)| format!("{start}{before}{root}{after}"))
}

proptest! {
    #[test]
    fn removal_restores_the_original_bytes(before in settings()) {
        let with = round_trip(&before);
        prop_assert_eq!(meaning(&with), meaning_with_hook(&before));
    }

    #[test]
    fn later_edits_survive_removal(before in settings()) {
        let edit = |text: &str| text.replace("true", "{ \"new\": [1, /* , */ 2], }");
        let removed = without_hook(&edit(&with_hook(&before).unwrap()));
        prop_assert_eq!(removed.unwrap(), Change::Text(edit(&before)));
    }

    #[test]
    fn arbitrary_text_is_rejected_or_parsed(text in "[{}\\[\\]\",:/* \n\rahooks1]{0,40}") {
        if let Ok(with) = with_hook(&text) {
            prop_assert_eq!(setup_state(&with).unwrap().0, Part::InPlace);
        }
    }
}
