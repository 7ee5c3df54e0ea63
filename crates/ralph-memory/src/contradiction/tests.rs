//! Pairs of lessons as agents write them: those that contradict each other, and those that only look alike.

use proptest::prelude::*;
use ralph_model::{LearningSource, TaskType};
use ralph_testkit::known_lesson;

use super::*;

fn lesson(category: &str, tags: &[&str], content: &str) -> Learning {
    let kind = LearningKind::of_category(category);
    Learning {
        category: category.to_owned(),
        task_type: None,
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        source: LearningSource::Sigil,
        ..known_lesson(1, kind, TaskType::General, content)
    }
}

fn strategy(content: &str) -> Learning {
    lesson("success_pattern", &[], content)
}

fn warning(content: &str) -> Learning {
    lesson("pitfall", &[], content)
}

/// What is found, the same from both sides.
#[track_caller]
fn found(one: &Learning, other: &Learning) -> Option<Contradiction> {
    let forwards = contradiction(one, other);
    let backwards = contradiction(other, one);
    assert_eq!(
        forwards.is_some(),
        backwards.is_some(),
        "{:?} and {:?} must contradict each other both ways",
        one.content,
        other.content
    );
    forwards
}

#[test]
fn a_negation_contradicts_what_is_said() {
    for (one, other) in [
        (
            "Always run the migrations before the tests",
            "Never run the migrations before the tests",
        ),
        ("Use unwrap in the parser", "Do not use unwrap in the parser"),
        ("Use unwrap in the parser", "Don't use unwrap in the parser."),
        ("Use unwrap in the parser", "Avoid unwrap in the parser"),
        ("Use unwrap in the parser", "Avoid: use unwrap in the parser"),
        (
            "You must hold the lock while writing notes",
            "You must not hold the lock while writing notes",
        ),
        (
            "The cache is cleared between tests",
            "The cache isn’t cleared between tests",
        ),
        (
            "Commit generated files in docs/",
            "Never commit generated files in docs/",
        ),
        ("Run cargo fmt without nightly", "Run cargo fmt with nightly"),
        (
            "The repository lock is reentrant; take it twice",
            "The repository lock is not reentrant; take it twice",
        ),
        ("Indent with tabs, not spaces", "Indent with spaces, not tabs"),
        ("Prefer nextest over cargo test", "Prefer cargo test over nextest"),
        ("Use pnpm instead of npm here", "Use npm instead of pnpm here"),
        (
            "Mock the database in unit tests because they are slow",
            "Do not mock the database in unit tests, otherwise they lie",
        ),
        ("There is no retry in the client", "There is a retry in the client"),
        (
            "The daemon cannot be restarted by tests",
            "The daemon can be restarted by tests",
        ),
        (
            "Rebase feature branches before merging, and force-push them",
            "Never rebase feature branches before merging, nor force-push them",
        ),
    ] {
        let why = found(&strategy(one), &strategy(other));
        assert_eq!(why, Some(Contradiction::Negation), "{one:?} and {other:?}");
    }
}

#[test]
fn a_reason_is_no_part_of_what_is_contradicted() {
    let suite = "Start the emulator before the integration suite";
    let contrary = strategy("Do not start the emulator before the integration suite");
    for reason in [
        ", or every request hangs",
        " or every request hangs",
        ", or else it times out",
        ", else every request hangs",
        " since every request needs it",
        " so that no request hangs",
        ", so the requests pass",
        ", as every request needs it",
        " as it takes a minute to start",
        ", it answers every request",
        ". Every request needs it.",
        "; it answers every request",
    ] {
        let why = found(&strategy(&format!("{suite}{reason}")), &contrary);
        assert_eq!(why, Some(Contradiction::Negation), "{reason:?}");
    }
    for reason in ["Since every request needs it", "Because every request needs it"] {
        let why = found(&strategy(&format!("{reason}, {suite}")), &contrary);
        assert_eq!(why, Some(Contradiction::Negation), "{reason:?}");
    }
}

#[test]
fn each_may_give_a_reason_of_its_own() {
    for (one, other) in [
        (
            "Commit the lockfile",
            "Never commit the lockfile, it breaks the Docker build",
        ),
        (
            "Commit the lockfile",
            "Never commit the lockfile - the Docker build breaks",
        ),
        (
            "Commit the lockfile, the Docker build needs it",
            "Do not commit the lockfile. It is generated.",
        ),
        (
            "Run the linter in the hook, or the build fails much later",
            "Do not run the linter in the hook since nobody reads what it prints",
        ),
        (
            "Mock the clock, nothing is stable otherwise",
            "Do not mock the clock or the tests lie",
        ),
    ] {
        let why = found(&strategy(one), &strategy(other));
        assert_eq!(why, Some(Contradiction::Negation), "{one:?} and {other:?}");
    }
    let ports = found(
        &strategy("Use port 5432, or the tests cannot connect"),
        &strategy("Use port 5433. The other one is taken."),
    );
    assert!(matches!(ports, Some(Contradiction::Value { .. })), "{ports:?}");
    let warned = found(
        &strategy("Commit the lockfile, the Docker build needs it"),
        &warning("Commit the lockfile. It is generated."),
    );
    assert_eq!(warned, Some(Contradiction::Kind));
}

#[test]
fn what_looks_like_a_reason_makes_no_contradiction() {
    for (one, other) in [
        // Another choice, not a reason.
        ("Use port 5432 or 5433 for the tests", "Use port 5433 for the tests"),
        ("Use port 5432, or 5433", "Use port 5433"),
        ("Build with -j 4 or -j 8", "Build with -j 8"),
        ("Set the log level to 2, or to 3 in CI", "Set the log level to 3"),
        // What narrows it.
        (
            "Cache the cargo registry. Only in the nightly job.",
            "Do not cache the cargo registry in the release job",
        ),
        (
            "Mock the payment service. However, talk to the real sandbox account at night.",
            "Do not mock the payment service at night",
        ),
        (
            "Mock the payment service, it is only at night that the real sandbox account answers",
            "Do not mock the payment service at night",
        ),
        // A condition is not what is said.
        (
            "When the emulator hangs, it is the firewall",
            "When the emulator does not hang, look at the log",
        ),
        (
            "If the cache is stale, the build fails",
            "If the cache is not stale, look elsewhere",
        ),
        // The same, each with a reason of its own.
        (
            "Start the emulator before the suite, or every request hangs",
            "Start the emulator before the suite since nothing answers without it",
        ),
        (
            "Never commit the lockfile, it breaks the Docker build",
            "Do not commit the lockfile. It is always generated anew.",
        ),
        (
            "Commit the lockfile, it is never generated",
            "Commit the lockfile so that no build differs",
        ),
        // The same reason for different things.
        (
            "Start the emulator first, or every request hangs",
            "Do not stop the proxy, or every request hangs",
        ),
        (
            "Keep src/a.rs short. It is read often.",
            "Never keep src/b.rs short. It is generated.",
        ),
        (
            "Run the suite as root on the build machine",
            "Never run the suite as a guest on the build machine",
        ),
        ("The flag works since 1.2", "The flag fails since 1.3"),
    ] {
        assert_eq!(found(&strategy(one), &strategy(other)), None, "{one:?} and {other:?}");
    }
    // A warning whose remedy alone is plain says a fact, which others may say as well.
    let fact = "The cache hides the fault";
    assert_eq!(
        found(
            &strategy(fact),
            &warning("The cache hides the fault. You must clear it.")
        ),
        None
    );
}

#[test]
fn what_must_not_be_forgotten_is_to_be_done() {
    for (one, other) in [
        ("Don't forget to run cargo fmt", "Run cargo fmt"),
        ("Never ever forget to run cargo fmt", "Always run cargo fmt"),
        (
            "Do not omit the lock file from the archive",
            "Include the lock file in the archive",
        ),
        ("Do not fail to close the socket", "Close the socket"),
    ] {
        assert_eq!(found(&strategy(one), &strategy(other)), None, "{one:?} and {other:?}");
    }
    let denied = found(
        &strategy("Don't forget to run cargo fmt"),
        &strategy("Never run cargo fmt"),
    );
    assert_eq!(denied, Some(Contradiction::Negation));
}

#[test]
fn a_warning_of_what_lacks_something_agrees_with_the_advice_against_it() {
    let lacking = "Commit without running the linter";
    let advice = "Do not commit without running the linter";
    assert_eq!(found(&strategy(advice), &warning(lacking)), None);
    assert_eq!(found(&warning(advice), &warning(lacking)), None);
    assert_eq!(
        found(&strategy(advice), &strategy(lacking)),
        Some(Contradiction::Negation)
    );
    assert_eq!(found(&strategy(lacking), &warning(lacking)), Some(Contradiction::Kind));
}

#[test]
fn conventions_found_from_paths_that_exclude_each_other_contradict() {
    let convention = |content: &str| Learning {
        kind: LearningKind::Convention,
        ..lesson("convention", &["layout"], content)
    };
    let check = |one, other, expected: Option<&str>| {
        let why = found(&convention(one), &convention(other)).map(|why| why.to_string());
        assert_eq!(why.as_deref(), expected, "{one:?} and {other:?}");
        let (one, other) = (Reading::of(&convention(one)), Reading::of(&convention(other)));
        assert!(!one.says_nearly(&other));
    };
    check(
        "Python files are named in kebab-case",
        "Python files are named in snake_case",
        Some("one says \"kebab-case\", the other \"snake_case\""),
    );
    check(
        "Tests in tests/ directory",
        "Tests co-located with source",
        Some("one says \"in tests/ directory\", the other \"co-located with source\""),
    );
    for (one, other) in [
        ("Modules are TypeScript (.ts)", "Modules are ES modules (.mjs)"),
        ("Code is written in Python", "Code is written in Rust"),
        (
            "Source is organised as src/<area>/",
            "Source is organised as crates/<part>/src/",
        ),
        (
            "Rust modules with parts are a folder with a mod.rs",
            "Rust modules with parts are name.rs beside a folder name/",
        ),
    ] {
        assert!(
            found(&convention(one), &convention(other)).is_some(),
            "{one:?} and {other:?}"
        );
    }
    check(
        "Python files are named in snake_case",
        "Rust files are named in kebab-case",
        None,
    );
    check(
        "Tests co-located with source",
        "Source is organised as src/<area>/",
        None,
    );
}

#[test]
fn opposites_contradict_each_other() {
    for (one, other) in [
        (
            "Run the formatter before committing",
            "Run the formatter after committing",
        ),
        ("Enable incremental builds in CI", "Disable incremental builds in CI"),
        (
            "Offline mode works for cargo vendor",
            "Offline mode fails for cargo vendor",
        ),
        ("Set strict to true in tsconfig", "Set strict to false in tsconfig"),
        ("Turn the linter on for tests", "Turn the linter off for tests"),
    ] {
        let why = found(&strategy(one), &strategy(other));
        assert!(
            matches!(why, Some(Contradiction::Opposite { .. })),
            "{one:?} and {other:?}: {why:?}"
        );
    }
}

#[test]
fn other_values_contradict_each_other() {
    for (one, other, values) in [
        ("Build with -j 4", "Build with -j 8", ("4", "8")),
        (
            "Run the tests with -j4 on this machine",
            "Run tests with -j 8",
            ("4", "8"),
        ),
        ("Pass --jobs=4 to make check", "Pass --jobs=8 to make check", ("4", "8")),
        ("Use port 5432", "Use port 5433.", ("5432", "5433")),
        (
            "Postgres listens on localhost:5432 in tests",
            "In tests postgres listens on localhost:5433",
            ("5432", "5433"),
        ),
        (
            "The project needs Node 18 to build",
            "The project needs Node 20.1 to build",
            ("18", "20.1"),
        ),
        ("Pin serde to v1.0.190", "Pin serde to 1.0.200", ("1.0.190", "1.0.200")),
        (
            "Run the scripts with python3",
            "Run the scripts with python2",
            ("3", "2"),
        ),
        ("Retry the upload three times", "Retry the upload 5 times", ("3", "5")),
        (
            "Requests time out after 30 seconds",
            "Requests time out after 10s",
            ("30s", "10s"),
        ),
        (
            "Set RUST_LOG=debug for the daemon tests",
            "Set RUST_LOG=trace for the daemon tests",
            ("debug", "trace"),
        ),
        (
            "The coverage gate is 80% for src/store.rs",
            "The coverage gate is 90 % for src/store.rs",
            ("80%", "90%"),
        ),
        (
            "Return exit code 2 for usage errors",
            "Return exit code 1 for usage errors",
            ("2", "1"),
        ),
    ] {
        let expected = Contradiction::Value {
            one: values.0.to_owned(),
            other: values.1.to_owned(),
        };
        assert_eq!(
            found(&strategy(one), &strategy(other)),
            Some(expected),
            "{one:?} and {other:?}"
        );
    }
}

#[test]
fn a_warning_contradicts_what_recommends_the_same() {
    for (recommended, warned) in [
        (
            "Mock the database in integration tests",
            "Mock the database in integration tests",
        ),
        (
            "Clearing the cache between test runs helps",
            "Clearing the cache between test runs helps nothing",
        ),
        (
            "Parse the config with regular expressions",
            "Avoid: parse the config with regular expressions",
        ),
        ("Patch vendored crates by hand", "Patching vendored crates by hand"),
    ] {
        let why = found(&strategy(recommended), &warning(warned));
        assert!(
            matches!(why, Some(Contradiction::Kind)),
            "{recommended:?} and {warned:?}: {why:?}"
        );
    }
    let convention = lesson("code_structure", &[], "Tests live beside the code");
    assert_eq!(
        found(&convention, &warning("Tests live beside the code")),
        Some(Contradiction::Kind)
    );
}

#[test]
fn what_only_looks_alike_is_no_contradiction() {
    for (one, other) in [
        // The same, in other words.
        (
            "Run the migrations before the tests",
            "Before the tests, run the migrations!",
        ),
        (
            "Never run migrations without a backup",
            "Always run migrations with a backup",
        ),
        (
            "Do not commit before running the tests",
            "Commit after running the tests",
        ),
        ("Avoid unwrap in the parser", "Never use unwrap in the parser"),
        ("Requests time out after 30 seconds", "Requests time out after 30s"),
        ("Keep at most 1,000 rows in memory", "Keep at most 1000 rows in memory"),
        (
            "Do not edit generated files: run the generator",
            "Run the generator and do not edit generated files",
        ),
        // About the same file, and about different things of it.
        (
            "src/lock.rs must not be changed by hand",
            "src/lock.rs holds the repository lock",
        ),
        (
            "In src/store.rs every method is one transaction",
            "In src/store.rs times are never read from the clock",
        ),
        (
            "src/parse.rs: do not slice strings",
            "src/parse.rs: use char_indices for positions",
        ),
        (
            "src/pool.rs keeps 4 connections open",
            "src/pool.rs closes idle connections after 30 seconds",
        ),
        // About different files or things.
        ("Keep src/a.rs under 300 lines", "Keep src/b.rs under 400 lines"),
        ("test1.rs needs the fixture", "test2.rs needs the fixture"),
        ("Postgres listens on port 5432", "Redis listens on port 6379"),
        (
            "When running integration tests in CI use 4 workers with `postgres`",
            "When running integration tests in CI use 8 workers with `sqlite`",
        ),
        (
            "Line 40 of the parser needs a guard",
            "Line 80 of the parser needs a guard",
        ),
        (
            "Error E0382 comes from the borrow checker",
            "Error E0502 comes from the borrow checker",
        ),
        ("Step 1 of the release needs a tag", "Step 2 of the release needs a tag"),
        // One says more, not the contrary.
        ("Use port 5432 for postgres", "Use the default port for postgres"),
        ("Build with -j 4", "Build with -j 4 and --release"),
        ("Never use unwrap", "Use unwrap in tests of the parser"),
        ("Use 4 workers for the build", "Use 8 workers for the build in CI"),
        // Two things that are both to be avoided, and one that is not.
        ("Never build with -j 16", "Never build with -j 32"),
        ("Build with -j 4", "Never build with -j 16"),
        // Nothing in common but common words.
        ("Use the cache", "Do not use the network"),
        ("Always test it", "Never commit it"),
        ("", "Never"),
        ("!!!", "not"),
        // Commands that are each other's opposite are two commands.
        ("`ralph task add` needs an id", "`ralph task remove` needs an id"),
        ("The flag --no-verify skips the hook", "The flag --verify runs the hook"),
        ("Check a.is_some() first", "Check b.is_none() first"),
    ] {
        assert_eq!(found(&strategy(one), &strategy(other)), None, "{one:?} and {other:?}");
    }
}

#[test]
fn a_warning_that_says_what_to_do_agrees_with_what_says_the_same() {
    for (recommended, warned) in [
        ("Never use unwrap in the parser", "Using unwrap in the parser"),
        ("Never use unwrap in the parser", "Never use unwrap in the parser"),
        ("Always run the migrations first", "Always run the migrations first"),
        ("Clear the cache first", "The cache hides the fault: clear it first"),
        ("Build with -j 4", "Build with -j 16"),
    ] {
        assert_eq!(
            found(&strategy(recommended), &warning(warned)),
            None,
            "{recommended:?} and {warned:?}"
        );
    }
}

#[test]
fn what_has_other_tags_or_no_kind_of_advice_is_about_something_else() {
    let tagged = |tags: &[&str], content| lesson("success_pattern", tags, content);
    let (four, eight) = ("Use -j 4 for builds", "Use -j 8 for builds");
    assert_eq!(found(&tagged(&["make"], four), &tagged(&["ninja"], eight)), None);
    assert!(found(&tagged(&["make", "ci"], four), &tagged(&["CI"], eight)).is_some());
    assert!(found(&tagged(&[], four), &tagged(&["ninja"], eight)).is_some());
    // A word that the tags of the other one hold makes it no narrower.
    let narrower = "Run the cargo tests with -j 8";
    assert!(
        found(
            &tagged(&["cargo"], "Run the tests with -j 4"),
            &tagged(&["cargo"], narrower)
        )
        .is_some()
    );
    let estimate = |content| Learning {
        kind: LearningKind::Estimate,
        ..strategy(content)
    };
    assert_eq!(
        found(
            &estimate("Bug fixes take 3 iterations"),
            &estimate("Bug fixes take 5 iterations")
        ),
        None
    );
}

#[test]
fn files_that_changed_when_a_lesson_was_told_do_not_tell_what_it_is_about() {
    let tagged = |tags: &[&str], content| lesson("success_pattern", tags, content);
    let (parser, printer) = (&["src/parser.rs"], &["src/printer.rs", "Makefile", "notes.md"]);
    for (one, other, expected) in [
        (
            "Commit the lock file",
            "Do not commit the lock file",
            Contradiction::Negation,
        ),
        (
            "Use -j 4 for builds",
            "Use -j 8 for builds",
            Contradiction::Value {
                one: "4".to_owned(),
                other: "8".to_owned(),
            },
        ),
    ] {
        assert_eq!(found(&tagged(parser, one), &tagged(printer, other)), Some(expected));
        assert!(found(&tagged(&["ci", "src/parser.rs"], one), &tagged(printer, other)).is_some());
        // Whoever tags them otherwise has one file in common with the other.
        let shared = (&["ci", "src/parser.rs"], &["make", "src/parser.rs"]);
        assert!(found(&tagged(shared.0, one), &tagged(shared.1, other)).is_some());
    }
    let (one, other) = (
        "Run the migrations before the integration tests",
        "Before the integration tests, run the migrations",
    );
    assert!(nearly(&tagged(parser, one), &tagged(printer, other)));
    assert!(!nearly(
        &tagged(&["make", "src/parser.rs"], one),
        &tagged(&["ninja", "src/printer.rs"], other)
    ));
    // Files that a text names are what it is about.
    let (one, other) = (
        "Commit src/parser.rs.lock of the build",
        "Do not commit src/printer.rs.lock of the build",
    );
    assert_eq!(found(&tagged(parser, one), &tagged(printer, other)), None);
}

#[test]
fn a_denial_in_the_same_words_is_about_the_same_whatever_the_tags_are() {
    let tagged = |tags: &[&str], content| lesson("success_pattern", tags, content);
    let (alpha, beta) = (&["alpha"], &["beta"]);
    let lock = "Commit the lock file";
    assert_eq!(
        found(&tagged(alpha, lock), &tagged(beta, "Do not commit the lock file")),
        Some(Contradiction::Negation)
    );
    for other in [
        "Do not commit the lock file of the docs",
        "Never commit 2 lock files",
        "Commit the lock file",
    ] {
        assert_eq!(found(&tagged(alpha, lock), &tagged(beta, other)), None, "{other:?}");
    }
    assert_eq!(
        found(&tagged(alpha, "Use the cache"), &tagged(beta, "Do not use the cache")),
        None,
        "one word is too little to say so"
    );
}

/// Both are about the file that they are tagged with, whether their words say so or not.
#[test]
fn a_file_that_both_are_tagged_with_need_not_be_named_by_both() {
    let at = |tags: &[&str], content: &str| lesson("tool_usage", tags, content);
    let file = ["work.txt"].as_slice();
    for (one, other) in [
        ("Use 4 workers", "Use 8 workers in work.txt"),
        (
            "In work.txt, use 4 workers for the pool",
            "Use 8 workers for the pool, more deadlock",
        ),
        ("Sort the lines of work.txt", "Never sort the lines"),
    ] {
        assert!(
            found(&at(file, one), &at(file, other)).is_some(),
            "{one:?} and {other:?}"
        );
        for elsewhere in [["other.txt"].as_slice(), &[]] {
            let why = found(&at(file, one), &at(elsewhere, other));
            assert_eq!(why, None, "{one:?} and {other:?} of {elsewhere:?}");
        }
    }
    // What else only one of them is about still tells them apart.
    assert_eq!(
        found(
            &at(file, "Sort the lines of work.txt"),
            &at(file, "Never sort the lines of todo.txt")
        ),
        None
    );
}

#[test]
fn a_number_names_what_stands_right_before_it() {
    for (one, other) in [
        ("Run the tests with 4 workers", "Run tests with 8 workers"),
        (
            "Keep lines shorter than 80 characters",
            "Keep lines shorter than 120 characters",
        ),
    ] {
        let why = found(&strategy(one), &strategy(other));
        assert!(matches!(why, Some(Contradiction::Value { .. })), "{one:?}: {why:?}");
    }
    for (one, other) in [
        ("Run test 4 of the parser first", "Run test 8 of the parser first"),
        (
            "Read lines 4 to 8 of the parser's log",
            "Read lines 4 to 9 of the parser's log",
        ),
    ] {
        assert_eq!(found(&strategy(one), &strategy(other)), None, "{one:?} and {other:?}");
    }
}

/// Who says that something fails warns of it, whatever kind of lesson it is told as.
#[test]
fn what_is_said_to_fail_is_warned_of() {
    let (works, fails) = (
        "Writing the log line by line works",
        "Writing the log line by line fails",
    );
    let plain = "Write the log line by line";
    let denied = "Do not write the log line by line";
    for (one, other) in [(strategy(works), warning(fails)), (strategy(plain), warning(fails))] {
        let why = found(&one, &other);
        assert_eq!(
            why,
            Some(Contradiction::Kind),
            "{:?} and {:?}",
            one.content,
            other.content
        );
    }
    for (one, other) in [
        (strategy(fails), warning(fails)),
        (strategy(fails), warning(plain)),
        (strategy(fails), warning(denied)),
        (strategy(fails), strategy(denied)),
        (strategy(plain), strategy("Writing the log line by line never fails")),
        (
            warning(plain),
            strategy("Do not write the log line by line when the build breaks"),
        ),
    ] {
        assert_eq!(found(&one, &other), None, "{:?} and {:?}", one.content, other.content);
    }
    let opposite = found(&strategy(works), &strategy(fails));
    assert!(matches!(opposite, Some(Contradiction::Opposite { .. })), "{opposite:?}");
}

#[test]
fn a_further_instruction_or_a_scope_is_no_reason() {
    let migrations = "Run the migrations before the integration tests.";
    for (one, other) in [
        ("Seed the database with make seed.", "Clear the redis cache afterwards."),
        ("Seed the database with make seed.", "It takes a minute."),
    ] {
        let (one, other) = (format!("{migrations} {one}"), format!("{migrations} {other}"));
        assert!(!nearly(&strategy(&one), &strategy(&other)), "{one:?} and {other:?}");
    }
    let (ci, laptops) = (
        "Use 4 workers for the build. In CI this is the limit.",
        "Use 8 workers for the build. On laptops this is best.",
    );
    assert_eq!(found(&strategy(ci), &strategy(laptops)), None);
}

#[track_caller]
fn nearly(one: &Learning, other: &Learning) -> bool {
    let (one, other) = (Reading::of(one), Reading::of(other));
    assert_eq!(one.says_nearly(&other), other.says_nearly(&one));
    one.says_nearly(&other)
}

#[test]
fn what_is_said_in_other_words_is_nearly_the_same() {
    for (one, other) in [
        (
            "Run the migrations before the integration tests",
            "Always run migrations before running the integration tests.",
        ),
        (
            "Run the migrations before the integration tests",
            "Before the integration tests, the migrations must run!",
        ),
        ("Never use unwrap in the parser", "Avoid unwrap in the parser"),
        ("Build with -j 4", "Use -j4 to build"),
        (
            "Pin serde to v1.0.190 in Cargo.toml",
            "In Cargo.toml, pin serde to 1.0.190",
        ),
        // Reasons that only one of them gives, or that begin otherwise.
        (
            "Start the emulator before the integration suite, or every request hangs",
            "Start the emulator before running the integration suite, otherwise every request hangs",
        ),
        (
            "Start the emulator before the integration suite, or every request hangs",
            "Before the integration suite, start the emulator",
        ),
        (
            "Start the emulator before the integration suite because every request hangs",
            "Start the emulator before the integration suite, or the login times out",
        ),
    ] {
        assert!(nearly(&strategy(one), &strategy(other)), "{one:?} and {other:?}");
    }
    for (one, other) in [
        ("Build with -j 4", "Build with -j 8"),
        ("Build with -j 4", "Build it"),
        ("Use unwrap in the parser", "Never use unwrap in the parser"),
        (
            "Run the formatter before committing",
            "Run the formatter after committing",
        ),
        ("Run the formatter before committing", "Run the formatter, then commit"),
        (
            "Keep src/a.rs short and simple in every way",
            "Keep src/b.rs short and simple in every way",
        ),
        (
            "Run the slow integration tests of the parser against the `sqlite` backend",
            "Run the slow integration tests of the parser against the `postgres` backend",
        ),
        ("Do it", "Use it"),
        ("", ""),
        (
            "Start the emulator before the integration suite, or every request hangs",
            "Do not start the emulator before the integration suite, or every request hangs",
        ),
        (
            "Start the emulator before the suite, or 4 requests hang",
            "Start the emulator before the suite, or 8 requests hang",
        ),
    ] {
        assert!(!nearly(&strategy(one), &strategy(other)), "{one:?} and {other:?}");
    }
    let tagged = |tags: &[&str]| lesson("success_pattern", tags, "Build with -j 4");
    assert!(nearly(&tagged(&["make", "ci"]), &tagged(&["ci"])));
    assert!(!nearly(&tagged(&["make"]), &tagged(&["ninja"])));
    assert!(!nearly(&strategy("Build with -j 4"), &warning("Build with -j 4")));
}

proptest! {
    #[test]
    fn any_two_texts_can_be_compared_and_none_contradicts_itself(
        one in "([a-z]{1,6}|not|never|no|-j|[0-9]{1,3}|--x=1|`|before|src/a\\.rs|[ .,:;(’'\"ä→=-]){0,30}",
        other in "\\PC{0,60}",
    ) {
        let (one, other) = (strategy(&one), warning(&other));
        prop_assert_eq!(contradiction(&one, &one), None);
        prop_assert_eq!(contradiction(&other, &other), None);
        let (first, second) = (Reading::of(&one), Reading::of(&other));
        prop_assert_eq!(first.says_nearly(&second), second.says_nearly(&first));
        prop_assert!(!first.says_nearly(&second) || first.contradicts(&second).is_none());
        prop_assert_eq!(contradiction(&one, &other).is_some(), contradiction(&other, &one).is_some());
    }
}
