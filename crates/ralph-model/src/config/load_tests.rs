//! Tests of loading the configuration.

use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::config::{
    AgentKind, Bytes, CommandLine, Commit, Environment, Inject, Limits, Permissions, Promote, StrategyName, Verify,
    WhenUnverified, template,
};
use crate::{NoteKind, Tags, Tokens};

const PATH: &str = ".ralph.toml";

fn from_file(text: &str) -> Result<Loaded, ConfigError> {
    Config::load(Some((PATH, text)), &|_| None)
}

fn from_environment(name: &str, value: &str) -> Result<Loaded, ConfigError> {
    Config::load(None, &|asked| (asked == name).then(|| value.to_owned()))
}

/// The default configuration with a change.
fn changed(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = Config::default();
    change(&mut config);
    config
}

/// Checks that the file gives this configuration without warnings.
fn check_file(text: &str, expected: Config) {
    let loaded = from_file(text).unwrap();
    assert_eq!((loaded.config, loaded.warnings), (expected, vec![]), "{text}");
}

/// Checks that the file is refused with this message, after the path.
fn check_refused(text: &str, expected: &str) {
    let message = from_file(text).unwrap_err().to_string();
    assert_eq!(message, format!("{PATH}:{expected}"), "{text}");
}

#[test]
fn empty_sources_give_the_default() {
    assert_eq!(Config::load(None, &|_| None), Ok(Loaded::default()));
    assert_eq!(from_file(""), Ok(Loaded::default()));
    assert_eq!(from_file("\u{feff}# only a comment\n"), Ok(Loaded::default()));
}

#[test]
fn defaults_match_the_specification() {
    let config = Config::default();
    assert_eq!(
        (config.memories.budget, config.guardrails.budget),
        (Tokens(2000), Tokens(2000))
    );
    assert_eq!(
        (config.scratchpad.budget, config.context.budget),
        (Tokens(4000), Tokens(8000))
    );
    assert_eq!(config.limits.iteration_time, Some(Duration::from_secs(7200)));
    assert_eq!(config.limits.idle_time, Some(Duration::from_secs(900)));
    assert_eq!(config.limits.output_bytes, Some(Bytes(268_435_456)));
    assert_eq!(config.verify.timeout, Some(Duration::from_secs(600)));
    assert_eq!(
        (config.runs.keep_days, config.runs.max_bytes),
        (Some(30), Some(Bytes(2_147_483_648)))
    );
    assert_eq!(config.strategy.name.unwrap_or_default(), StrategyName::CostOptimized);
    assert_eq!(config.agent.permissions, Permissions::Edit);
}

#[test]
fn all_table_forms_are_read() {
    for (text, expected) in [
        ("[memories]\nbudget = 10", changed(|c| c.memories.budget = Tokens(10))),
        ("memories.budget = 10", changed(|c| c.memories.budget = Tokens(10))),
        (
            "memories = { budget = 10 }",
            changed(|c| c.memories.budget = Tokens(10)),
        ),
        (
            "[memories]\nfilter.recent = 7",
            changed(|c| c.memories.filter.recent = Some(7)),
        ),
        (
            "[memories.filter]\nrecent = 7",
            changed(|c| c.memories.filter.recent = Some(7)),
        ),
        (
            "[memories]\nfilter = { recent = 7 }",
            changed(|c| c.memories.filter.recent = Some(7)),
        ),
    ] {
        check_file(text, expected);
    }
}

#[test]
fn all_value_types_are_read() {
    for (text, expected) in [
        (
            "[memories]\ninject = \"none\"\npath = \"a b.md\"\nfilter.types = [\"fix\", \"Pattern\"]\nfilter.tags = [\"x\"]",
            changed(|c| {
                c.memories.inject = Inject::None;
                c.memories.path = Some(PathBuf::from("a b.md"));
                c.memories.filter.types = vec![NoteKind::Fix, NoteKind::Pattern];
                c.memories.filter.tags = Tags::parse("x").unwrap();
            }),
        ),
        (
            "[agent]\ncommand = \"claude -p\"\nmodels = [\"low\", \"high\"]\npermissions = \"full\"\nenv = \"clean\"",
            changed(|c| {
                c.agent.command = Some(CommandLine::Line("claude -p".into()));
                c.agent.models = vec!["low".into(), "high".into()];
                c.agent.permissions = Permissions::Full;
                c.agent.env = Environment::Clean;
            }),
        ),
        (
            "[agent]\ncommand = [\"claude\", \"-p\", \"\"]\nkind = \"acp\"",
            changed(|c| {
                c.agent.command = Some(CommandLine::Words(vec!["claude".into(), "-p".into(), String::new()]));
                c.agent.kind = Some(AgentKind::Acp);
            }),
        ),
        (
            "[execution]\nlearn = { any = [1] }\nverify = false\nmax_retries = 0",
            changed(|c| {
                c.execution.verify = false;
                c.execution.max_retries = 0;
            }),
        ),
        (
            "[strategy]\nname = \"plan-then-execute\"\nstuck_after = 0\n[learning]\npromote = \"review\"\n[git]\ncommit = \"task\"",
            changed(|c| {
                c.strategy.name = Some(StrategyName::PlanThenExecute);
                c.strategy.stuck_after = None;
                c.learning.promote = Promote::Review;
                c.git.commit = Commit::Task;
            }),
        ),
    ] {
        check_file(text, expected);
    }
}

#[test]
fn limits_are_read_and_0_switches_them_off() {
    let all = "[limits]\niterations = 5\nwall_clock = \"1h30m\"\ncost_usd = 2\ntokens = 5_000_000_000\n\
               task_cost_usd = 0.5\ntask_tokens = 7\niteration_time = 90\nidle_time = \"45s\"\nconsecutive_failures = 4\nno_progress = 6\noutput_bytes = \"64KiB\"\n\
               [verify]\ntimeout = \"120\"\ncommands = [\"make test\"]\nverifier = \"codex\"\nunverified = \"accept\"";
    let expected = changed(|c| {
        c.limits = Limits {
            iterations: Some(5),
            wall_clock: Some(Duration::from_secs(5400)),
            cost_usd: Some(2.0),
            tokens: Some(5_000_000_000),
            task_cost_usd: Some(0.5),
            task_tokens: Some(7),
            iteration_time: Some(Duration::from_secs(90)),
            idle_time: Some(Duration::from_secs(45)),
            consecutive_failures: Some(4),
            no_progress: Some(6),
            output_bytes: Some(Bytes(65_536)),
        };
        c.verify = Verify {
            commands: vec!["make test".into()],
            timeout: Some(Duration::from_secs(120)),
            verifier: Some(CommandLine::Line("codex".into())),
            unverified: WhenUnverified::Accept,
        };
    });
    assert_eq!(from_file(all).unwrap().config, expected);

    let off = "[limits]\niterations = 0\nwall_clock = 0\ncost_usd = 0.0\ntokens = 0\niteration_time = \"0s\"\n\
               idle_time = 0\nconsecutive_failures = 0\nno_progress = 0\noutput_bytes = 0\n[runs]\nkeep_days = 0\nmax_bytes = \"0 B\"";
    let expected = changed(|c| {
        c.limits.iteration_time = None;
        c.limits.idle_time = None;
        c.limits.no_progress = None;
        c.limits.output_bytes = None;
        c.runs.keep_days = None;
        c.runs.max_bytes = None;
    });
    assert_eq!(from_file(off).unwrap().config, expected);
}

#[test]
fn unknown_names_are_warnings_with_line_and_nearest_key() {
    let text = "colour = true\n\n[memories]\nbudgt = 1\nbudget = 10\nfilter.type = []\n\n[memorys]\nbudget = 2\n\
                [[limit]]\n[ui]\n\"two\\nlines\" = 1\n[git.commit_as]\nx = 1\n";
    let loaded = from_file(text).unwrap();
    let shown: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            ".ralph.toml:1: colour is not known; known: memories, guardrails, scratchpad, context, execution, tasks, agent, \
             verify, limits, strategy, learning, git, worktree, notify, runs, paths, ui",
            ".ralph.toml:4: memories.budgt is not known; did you mean memories.budget?",
            ".ralph.toml:6: memories.filter.type is not known; did you mean memories.filter.types?",
            ".ralph.toml:8: [memorys] is not known; did you mean [memories]?",
            ".ralph.toml:10: [limit] is not known; did you mean [limits]?",
            ".ralph.toml:12: ui.two lines is not known; known: color, live",
            ".ralph.toml:13: git.commit_as is not known; known: isolate, commit",
        ]
    );
    assert_eq!(loaded.config, changed(|c| c.memories.budget = Tokens(10)));
}

#[test]
fn invalid_value_message_has_place_key_and_expectation() {
    for (text, expected) in [
        (
            "# a\n[memories]\ninject = \"always\"",
            r#"3: memories.inject is "always"; expected "auto", "manual" or "none""#,
        ),
        (
            "[memories]\nbudget = -1",
            "2: memories.budget is -1; expected a whole number from 0 to 4294967295",
        ),
        (
            "[memories]\nbudget = 4294967296",
            "2: memories.budget is 4294967296; expected a whole number from 0 to 4294967295",
        ),
        (
            "[memories]\nenabled = \"true\"",
            "2: memories.enabled is \"true\"; expected true or false",
        ),
        (
            "[memories]\nfilter.types = [\"fix\",\n \"bug\"]",
            "2: memories.filter.types is [\"fix\",  \"bug\"]; expected a list of \"pattern\", \
             \"decision\", \"fix\" or \"context\"",
        ),
        (
            "[memories.filter]\ntags = [\"a|b\"]",
            "2: memories.filter.tags is [\"a|b\"]; expected a list of tags without commas or vertical bars",
        ),
        ("[memories]\nfilter = 3", "2: memories.filter is 3; expected a table"),
        ("memories = true", "1: memories is true; expected a table"),
        (
            "\n[[memories]]\nbudget = 1",
            "2: memories is a list of tables; expected a table",
        ),
        (
            "[memories.budget]\nmax = 1",
            "1: memories.budget is a table; expected a whole number from 0 to 4294967295",
        ),
    ] {
        check_refused(text, expected);
    }
}

#[test]
fn each_value_type_has_an_expectation() {
    for (text, expected) in [
        (
            "[limits]\nidle_time = \"soon\"",
            "2: limits.idle_time is \"soon\"; expected a time such as \"2h\", \"1h30m\" or \"120s\", or \
             whole seconds, up to 3650 days",
        ),
        (
            "[runs]\nmax_bytes = \"2 G\"",
            "2: runs.max_bytes is \"2 G\"; expected a size such as \"64 KiB\", \"256 MiB\" or \"2 GiB\", \
             or whole bytes",
        ),
        (
            "[limits]\ncost_usd = nan",
            "2: limits.cost_usd is nan; expected a number, 0 or more",
        ),
        (
            "[limits]\ntokens = -5",
            "2: limits.tokens is -5; expected a whole number, 0 or more",
        ),
        (
            "[agent]\ncommand = []",
            "2: agent.command is []; expected a command line or a list of its words",
        ),
        (
            "[agent]\ncommand = \" \"",
            "2: agent.command is \" \"; expected a command line or a list of its words",
        ),
        (
            "[verify]\ncommands = \"make\"",
            "2: verify.commands is \"make\"; expected a list of non-blank strings",
        ),
        (
            "[verify]\ncommands = [\"make\", 1]",
            "2: verify.commands is [\"make\", 1]; expected a list of non-blank strings",
        ),
        (
            "[scratchpad]\npath = \"\"",
            "2: scratchpad.path is \"\"; expected a non-blank string",
        ),
    ] {
        check_refused(text, expected);
    }
}

#[test]
fn syntax_error_has_its_place() {
    for (text, place) in [
        ("[memories]\nbudget = \n", "2:10"),
        ("[memories]\nbudget = 1\nbudget = 2\n", "3:1"),
        ("\n\n[memories\n", "3:10"),
        ("# ok\nthis is prose", "2:6"),
        ("a = \"\"\"", "1:8"),
        ("ä = 'ö', 1", "1:8"),
    ] {
        let message = from_file(text).unwrap_err().to_string();
        assert!(
            message.starts_with(&format!(".ralph.toml:{place}: invalid TOML: ")),
            "{message}"
        );
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn inspection_continues_after_errors() {
    let text = "[memories]\nbudget = -1\ninject = \"none\"\ncolour = 1\n[execution]\nlearn = true\n[ui]\ncolor = 3\n";
    let sources = Sources {
        user: None,
        project: Some((PATH, text)),
        environment: &|name| (name == "RALPH_RUNS_KEEP_DAYS").then(|| "long".to_owned()),
    };
    let inspected = sources.inspect();
    let errors: Vec<String> = inspected.errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert!(
        errors[0].starts_with(".ralph.toml:2: memories.budget is -1"),
        "{errors:?}"
    );
    assert!(errors[1].starts_with(".ralph.toml:8: ui.color is 3"), "{errors:?}");
    assert!(errors[2].starts_with("RALPH_RUNS_KEEP_DAYS: "), "{errors:?}");
    assert_eq!(inspected.loaded.warnings.len(), 1);
    let ignored: Vec<String> = inspected
        .ignored
        .iter()
        .map(|(place, key)| format!("{place} {key}"))
        .collect();
    assert_eq!(ignored, [".ralph.toml:6 execution.learn"]);
    assert_eq!(inspected.loaded.config, changed(|c| c.memories.inject = Inject::None));
}

#[test]
fn misspelled_variable_is_recognised() {
    let near = crate::config::nearest_variable;
    assert_eq!(near("RALPH_MEMORIES_BUGDET").as_deref(), Some("RALPH_MEMORIES_BUDGET"));
    for other in [
        "RALPH_MODEL",
        "RALPH_ITERATION",
        "RALPH_RUN_ID",
        "RALPH_",
        &"R".repeat(100),
    ] {
        assert_eq!(near(other), None, "{other}");
    }
}

#[test]
fn variables_override_the_file() {
    let file = "[memories]\nbudget = 1\ninject = \"none\"";
    let loaded = Config::load(Some((PATH, file)), &|name| {
        (name == "RALPH_MEMORIES_BUDGET").then(|| "7".to_owned())
    });
    let expected = changed(|c| {
        c.memories.budget = Tokens(7);
        c.memories.inject = Inject::None;
    });
    assert_eq!(loaded.unwrap().config, expected);
}

#[test]
fn variables_are_read_by_key_type() {
    for (name, value, expected) in [
        (
            "RALPH_MEMORIES_ENABLED",
            "false",
            changed(|c| c.memories.enabled = false),
        ),
        (
            "RALPH_MEMORIES_BUDGET",
            " 1_500 ",
            changed(|c| c.memories.budget = Tokens(1500)),
        ),
        ("RALPH_MEMORIES_BUDGET", "", Config::default()),
        (
            "RALPH_MEMORIES_INJECT",
            "manual",
            changed(|c| c.memories.inject = Inject::Manual),
        ),
        (
            "RALPH_MEMORIES_PATH",
            "42",
            changed(|c| c.memories.path = Some("42".into())),
        ),
        (
            "RALPH_MEMORIES_FILTER_TYPES",
            "fix, decision",
            changed(|c| c.memories.filter.types = vec![NoteKind::Fix, NoteKind::Decision]),
        ),
        (
            "RALPH_VERIFY_COMMANDS",
            r#"["echo a, b"]"#,
            changed(|c| c.verify.commands = vec!["echo a, b".into()]),
        ),
        (
            "RALPH_AGENT_COMMAND",
            "claude, -p",
            changed(|c| c.agent.command = Some(CommandLine::Line("claude, -p".into()))),
        ),
        (
            "RALPH_AGENT_COMMAND",
            r#"["claude"]"#,
            changed(|c| c.agent.command = Some(CommandLine::Words(vec!["claude".into()]))),
        ),
        (
            "RALPH_LIMITS_IDLE_TIME",
            "90",
            changed(|c| c.limits.idle_time = Some(Duration::from_secs(90))),
        ),
        (
            "RALPH_LIMITS_COST_USD",
            "1.5",
            changed(|c| c.limits.cost_usd = Some(1.5)),
        ),
        ("RALPH_EXECUTION_LEARN", "whatever", Config::default()),
    ] {
        assert_eq!(
            from_environment(name, value).unwrap().config,
            expected,
            "{name}={value}"
        );
    }
}

#[test]
fn invalid_variable_is_named() {
    for (name, value, expected) in [
        (
            "RALPH_MEMORIES_BUDGET",
            "lots",
            "RALPH_MEMORIES_BUDGET: memories.budget is \"lots\"; expected a whole number from 0 to 4294967295",
        ),
        (
            "RALPH_UI_COLOR",
            "a\u{1b}[31m\nb",
            "RALPH_UI_COLOR: ui.color is \"a\\u{1b}[31m\\nb\"; expected \"auto\", \"always\" or \"never\"",
        ),
        (
            "RALPH_VERIFY_COMMANDS",
            "[make",
            "RALPH_VERIFY_COMMANDS: verify.commands is \"[make\"; expected a list of non-blank strings",
        ),
    ] {
        assert_eq!(from_environment(name, value).unwrap_err().to_string(), expected);
    }
}

#[test]
fn every_key_is_read_from_its_variable() {
    use crate::config::Initial;
    for key in keys() {
        let Initial::Unset(text) = key.initial else { continue };
        let value: toml_edit::Value = text.parse().unwrap();
        let plain = value.as_str().unwrap_or(text);
        let loaded = from_environment(&key.environment_name(), plain).unwrap();
        assert_ne!(loaded.config, Config::default(), "{}={plain}", key.environment_name());
    }
}

proptest! {
    #[test]
    fn any_text_loads_or_fails_in_one_line(
        text in "\\PC*|(\\[(memories|limits|agent)\\]\n[a-z_.]{1,8} = [0-9\"a-z\\[\\]{},é]{0,9}\n){0,4}",
        variable in "\\PC*|[0-9hms,\\[\\]\"]{0,9}",
    ) {
        for file in [text.clone(), format!("{}\n{text}", template(&[]))] {
            match from_file(&file) {
                Ok(loaded) => for warning in loaded.warnings {
                    prop_assert_eq!(warning.to_string().lines().count(), 1);
                },
                Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1),
            }
        }
        if let Err(error) = Config::load(None, &|_| Some(variable.clone())) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
            prop_assert!(error.to_string().starts_with("RALPH_"));
        }
    }
}

#[test]
fn comments_and_headings_have_no_settings() {
    assert!(has_no_settings(&super::super::template(&[])));
    assert!(has_no_settings("") && has_no_settings("# a\n\n [memories] \n\t# b\n[agent]\r\n"));
    for text in [
        "a = 1",
        "[memories]\nbudget = 1",
        "[memories]\n[memories]",
        "[memory]",
        "[[memories]]",
        "[memories] # why",
        "# a\u{0}b",
        "# a\rb",
    ] {
        assert!(!has_no_settings(text), "{text:?}");
    }
}

fn layers(user: &str, project: &str) -> Loaded {
    let sources = Sources {
        user: Some(("user.toml", user)),
        project: Some((PATH, project)),
        environment: &|_| None,
    };
    sources.load().unwrap()
}

#[test]
fn project_key_replaces_only_the_same_user_key() {
    let loaded = layers(
        "[memories]\nbudget = 1\nfilter.types = [\"fix\"]\n[context]\nbudget = 2\n",
        "[memories]\nfilter.types = [\"pattern\"]\n",
    );
    assert_eq!(loaded.config.memories.filter.types, [NoteKind::Pattern]);
    assert_eq!(
        (loaded.config.memories.budget, loaded.config.context.budget),
        (Tokens(1), Tokens(2))
    );
    assert_eq!(loaded.unconfirmed, loaded.config);
    assert_eq!(loaded.origin("memories.filter.types"), Some(Origin::Project));
    assert_eq!(loaded.origin("memories.budget"), Some(Origin::User));
    assert_eq!(loaded.origin("memories.inject"), None);
}

/// Checks the restricted settings of a project, as `key: values`.
#[track_caller]
fn check_restricted(user: &str, project: &str, expected: &[&str]) {
    let loaded = layers(user, project);
    let found: Vec<String> = loaded
        .restricted
        .iter()
        .map(|restricted| format!("{}: {}", restricted.key, restricted.values.join(" | ")))
        .collect();
    assert_eq!(found, expected, "{user} {project}");
    assert_eq!(loaded.unconfirmed == loaded.config, expected.is_empty());
}

#[test]
fn weakened_protection_is_restricted_only_in_projects() {
    let gates = "[verify]\ncommands = [\"make\", \"./x y\"]\n";
    let full = "[agent]\npermissions = \"full\"\nenv = \"inherit\"\n";
    check_restricted("", gates, &["verify.commands: make | ./x y"]);
    check_restricted(gates, "", &[]);
    check_restricted(gates, gates, &[]);
    check_restricted(gates, "[verify]\ncommands = []\n", &["verify.commands: "]);
    check_restricted("", full, &["agent.permissions: full"]);
    check_restricted(full, "[agent]\npermissions = \"edit\"\nenv = \"clean\"\n", &[]);
    check_restricted(
        "[agent]\nenv = \"clean\"\n",
        full,
        &["agent.permissions: full", "agent.env: inherit"],
    );
    check_restricted(
        "",
        "[agent]\ncommand = [\"a\", \"b c\", \"\"]\nkind = \"command\"\n[execution]\nverify = false\n",
        &[
            r#"agent.command: a "b c" """#,
            "agent.kind: command",
            "execution.verify: false",
        ],
    );
    check_restricted("", "[execution]\nverify = true\n[limits]\niterations = 9\n", &[]);
}

#[test]
fn project_that_loosens_user_settings_is_restricted() {
    let user = "[limits]\niterations = 5\ncost_usd = 2.0\n[verify]\nunverified = \"retry\"\n[learning]\npromote = \"review\"\n";
    let looser = "[limits]\niterations = 6\ncost_usd = 3.0\n[verify]\nunverified = \"review\"\n[learning]\npromote = \"evidence\"\n";
    let all = [
        "limits.iterations: 6",
        "limits.cost_usd: 3.0",
        "verify.unverified: review",
        "learning.promote: evidence",
    ];
    check_restricted(user, looser, &all);
    check_restricted("", looser, &[]);
    check_restricted(looser, user, &[]);
    check_restricted(user, user, &[]);
    check_restricted(
        "[limits]\nidle_time = \"5m\"\noutput_bytes = \"1 MiB\"\n",
        "[limits]\nidle_time = \"0\"\noutput_bytes = \"2 MiB\"\ntokens = 9\n",
        &["limits.idle_time: 0", "limits.output_bytes: 2 MiB"],
    );
}

#[test]
fn environment_lifts_a_restriction() {
    let sources = Sources {
        user: None,
        project: Some((PATH, "[verify]\ncommands = [\"make\"]\n")),
        environment: &|name| (name == "RALPH_VERIFY_COMMANDS").then(|| "true".to_owned()),
    };
    let loaded = sources.load().unwrap();
    assert_eq!(loaded.restricted, []);
    assert_eq!(loaded.unconfirmed.verify.commands, ["true"]);
    assert_eq!(loaded.origin("verify.commands"), Some(Origin::Environment));
}

#[test]
fn only_the_user_allows_outside_paths() {
    let text = "[paths]\nallow_outside = [\"~/notes\"]\n";
    assert_eq!(layers(text, "").config.paths.allow_outside, [PathBuf::from("~/notes")]);
    let loaded = layers("", text);
    assert_eq!(loaded.config, Config::default());
    let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [".ralph.toml:2: paths.allow_outside is ignored here; only your user configuration may set it"]
    );
}
