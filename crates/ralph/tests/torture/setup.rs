//! Tests of `ralph setup claude` and its hook with an error or a kill at every call that changes something on disk, and
//! with a user who saves the settings at that moment.

use ralph_testkit::TestEnv;

use super::{PROGRAM, under_fault};

const SETTINGS: &str = ".claude/settings.json";
const ADD: [&str; 3] = ["setup", "claude", "--yes"];
const REMOVE: [&str; 4] = ["setup", "claude", "--remove", "--yes"];

fn project(settings: Option<&str>) -> TestEnv {
    let env = TestEnv::new(PROGRAM);
    if let Some(settings) = settings {
        env.write(SETTINGS, settings);
    }
    env
}

fn settings(env: &TestEnv) -> Option<String> {
    env.path(SETTINGS).exists().then(|| env.read(SETTINGS))
}

/// Adds or removes the hook with the fault at every call. Afterwards the settings are the old or the new ones, and the
/// command can be run again.
fn at_every_call(fault: impl Fn(usize) -> String) {
    for before in [None, Some("{}"), Some("{\n  \"model\": \"opus\"\n}\n")] {
        for removes in [false, true] {
            let start = || {
                let env = project(before);
                if removes {
                    env.ok(ADD);
                }
                env
            };
            let arguments = if removes { &REMOVE[..] } else { &ADD };
            let done = start();
            let old = settings(&done);
            done.ok(arguments.iter().copied());
            let new = settings(&done);
            for call in 1.. {
                let env = start();
                let invocation = env.ralph(arguments.iter().copied());
                let (finished, came) = under_fault(&env, invocation, &fault(call));
                if !came {
                    assert!(call > 8, "only {call} calls were reached");
                    break;
                }
                let now = settings(&env);
                assert!(now == old || now == new, "call {call}: {now:?} {finished}");
                env.ok(arguments.iter().copied());
                assert_eq!(settings(&env), new, "call {call}");
                env.ok(ADD);
                env.ok(REMOVE);
                assert_eq!(settings(&env).as_deref(), before, "call {call}");
            }
        }
    }
}

#[test]
fn an_error_leaves_the_old_or_the_new_settings() {
    at_every_call(|call| format!("fail:{call}:{}", libc::EIO));
}

#[test]
fn a_kill_leaves_the_old_or_the_new_settings() {
    at_every_call(|call| format!("kill:{call}"));
}

#[test]
fn a_concurrent_save_is_kept() {
    const SAVED: &str = "{\"the person's\": \"own words\"}";
    for (before, arguments) in [(Some("{}"), &ADD[..]), (Some("{}"), &REMOVE), (None, &REMOVE)] {
        for call in 1.. {
            let env = project(before);
            if arguments == REMOVE {
                env.ok(ADD);
            }
            env.write("../save.json", SAVED);
            let invocation = env
                .ralph(arguments.iter().copied())
                .env("RALPH_FAULT_SAVE", env.beside("save.json"))
                .env("RALPH_FAULT_TARGET", env.path(SETTINGS));
            let (finished, came) = under_fault(&env, invocation, &format!("save:{call}"));
            if !came {
                assert!(call > 8, "only {call} calls were reached");
                break;
            }
            let somewhere = env.tree().into_iter().any(|(name, bytes)| {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                name.starts_with(SETTINGS) && text.contains("own words")
            });
            assert!(somewhere, "call {call}: the person's words are lost: {finished}");
        }
    }
}

#[test]
fn a_hook_is_silent_and_succeeds_at_any_failure() {
    let error = |call: usize| format!("fail:{call}:{}", libc::EIO);
    let full = |call: usize| format!("full:{call}");
    let cases: [(&str, &dyn Fn(usize) -> String); 3] = [("", &error), ("[memories\n", &error), ("[memories\n", &full)];
    for (config, fault) in cases {
        let env = TestEnv::new(PROGRAM);
        env.write(".agent/memories.md", "## Fixes\n\n### mem-1700000000-aaaa\n> kept\n");
        env.write(".ralph.toml", config);
        for call in 1.. {
            env.write(".ralph/hook-trouble.json", "{}");
            let (finished, came) = under_fault(&env, env.ralph(["hook", "session-start"]), &fault(call));
            assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished}");
            assert_eq!(finished.stdout.contains("> kept"), config.is_empty(), "{finished}");
            if !came {
                assert!(call > 1, "no call was reached");
                break;
            }
        }
    }
}
