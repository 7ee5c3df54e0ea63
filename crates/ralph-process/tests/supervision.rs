//! Real children that misbehave, and that nothing of them is left.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use ralph_process::{
    Answer, Ended, HowEnded, Input, ProcessEvent, RunLimits, Spec, StopHandle, Supervised, Then, become_subreaper,
    host, is_alive, kill_leftovers, run_to_end, start, start_time,
};

/// A shell script as a child.
fn spec(script: &str) -> Spec {
    Spec {
        program: "sh".into(),
        arguments: vec!["-c".into(), script.into()],
        folder: "/".into(),
        environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        stdin: Input::Nothing,
        marker: marker(script),
        output_limit: None,
    }
}

/// A word of its own for each script and each process that tests.
fn marker(script: &str) -> String {
    let sum = script
        .bytes()
        .fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    format!("{sum:x}-{}", std::process::id())
}

fn begin(spec: Spec) -> (Supervised, Receiver<ProcessEvent>) {
    become_subreaper().unwrap();
    let (sender, events) = mpsc::channel();
    let sink = Box::new(move |event| {
        sender.send(event).unwrap();
        Answer::default()
    });
    (start(spec, sink).unwrap(), events)
}

/// Everything that is told, until the sink is dropped: that is how "exactly once, and last" is seen.
fn rest(events: &Receiver<ProcessEvent>) -> (Vec<String>, Ended) {
    let mut lines = Vec::new();
    let mut ended = None;
    for event in events {
        assert_eq!(ended, None, "{event:?} came after the end");
        match event {
            ProcessEvent::Line(line) => lines.push(line),
            ProcessEvent::Alive => {}
            ProcessEvent::Ended(end) => ended = Some(end),
        }
    }
    (lines, ended.unwrap())
}

fn run(spec: Spec) -> (Vec<String>, Ended) {
    let marker = spec.marker.clone();
    let (_child, events) = begin(spec);
    let told = rest(&events);
    assert_eq!(kill_leftovers(&marker, None), 0, "something was left");
    assert_no_child_is_left();
    told
}

/// No zombie either.
fn assert_no_child_is_left() {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    for task in tasks {
        // A thread may end while it is being looked at.
        let children = std::fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default();
        assert_eq!(children, "");
    }
}

/// Waits for a line.
fn wait_for(events: &Receiver<ProcessEvent>, wanted: &str) {
    while events.recv().unwrap() != ProcessEvent::Line(wanted.to_owned()) {}
}

#[test]
fn a_child_is_read_line_by_line_to_its_end() {
    let (lines, ended) = run(spec("echo one; printf 'two\\nthree'; echo bad >&2; exit 3"));
    assert_eq!(lines, ["one", "two", "three"]);
    assert_eq!(
        ended,
        Ended {
            how: HowEnded::Exited(3),
            stderr_tail: "bad\n".into(),
            swept: 0,
            left: Vec::new(),
        }
    );
}

#[test]
fn a_child_has_only_the_environment_that_it_is_given() {
    let (lines, _) = run(spec(
        "env | grep -v '^\\(_\\|PWD\\|SHLVL\\|OLDPWD\\)=' | cut -d= -f1 | sort",
    ));
    assert_eq!(lines, ["PATH", "RALPH_MARKER"]);
}

#[test]
fn a_child_gets_all_of_a_long_input_and_need_not_read_it() {
    let long = Spec {
        stdin: Input::Whole(vec![b'x'; 5_000_000]),
        ..spec("wc -c")
    };
    assert_eq!(run(long).0, ["5000000"]);
    let unread = Spec {
        stdin: Input::Whole(vec![b'x'; 5_000_000]),
        ..spec("echo no")
    };
    assert_eq!(run(unread).1.how, HowEnded::Exited(0));
}

#[test]
fn a_child_that_a_signal_ends_says_so() {
    assert_eq!(run(spec("kill -SEGV $$")).1.how, HowEnded::Signalled(11));
}

#[test]
fn a_program_that_is_not_there_is_an_error_and_nothing_is_told() {
    let missing = Spec {
        program: "/nowhere/agent".into(),
        ..spec("")
    };
    let (sender, events) = mpsc::channel::<ProcessEvent>();
    let sink = Box::new(move |event| {
        sender.send(event).unwrap();
        Answer::default()
    });
    let error = start(missing, sink).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    assert!(events.recv().is_err());
}

/// Stops a child when it says that it is up, and returns how it ended.
fn stop_when_up(spec: Spec) -> Ended {
    let marker = spec.marker.clone();
    let (child, events) = begin(spec);
    wait_for(&events, "up");
    child.stop();
    child.stop();
    let (_, ended) = rest(&events);
    let (pid, started) = child.process();
    assert!(!is_alive(pid, started));
    assert_eq!(kill_leftovers(&marker, None), 0, "something was left");
    assert_no_child_is_left();
    ended
}

#[test]
fn fault_29_grandchildren_in_sessions_of_their_own_are_found_by_their_marker() {
    let ended = stop_when_up(spec(
        "setsid sh -c 'setsid sleep 600 & setsid sleep 601 & echo up; sleep 602' & sleep 603",
    ));
    assert_eq!(ended.how, HowEnded::Stopped);
    assert!(ended.swept >= 3, "{ended:?}");
}

#[test]
fn fault_29_a_daemon_without_the_marker_is_known_as_an_orphan() {
    let ended = stop_when_up(spec(
        "(env -i /usr/bin/setsid /bin/sh -c 'echo up; exec /bin/sleep 600' &) ; sleep 601",
    ));
    // One of the child's own group may still be dying, and counts too then.
    assert_eq!(ended.how, HowEnded::Stopped);
    assert!(ended.swept >= 1, "{ended:?}");
}

#[test]
fn fault_29_a_grandchild_that_holds_the_pipe_does_not_hold_up_the_end() {
    let (lines, ended) = run(spec("setsid sleep 600 & echo done"));
    assert_eq!(lines, ["done"]);
    assert_eq!((ended.how, ended.swept), (HowEnded::Exited(0), 1));
}

#[test]
fn fault_29_a_child_that_ignores_the_request_to_end_is_killed() {
    let ended = stop_when_up(spec(
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 600' & echo up; while :; do sleep 600; done",
    ));
    assert_eq!(ended.how, HowEnded::Stopped);
}

#[test]
fn a_child_that_is_stopped_can_clean_up() {
    let (child, events) = begin(spec(
        "trap 'echo cleaned; exit 0' TERM; echo ready; while :; do sleep 0.05; done",
    ));
    wait_for(&events, "ready");
    child.stop();
    let (lines, ended) = rest(&events);
    assert_eq!((lines, ended.how), (vec!["cleaned".to_owned()], HowEnded::Stopped));
}

/// As git does with its locks.
#[test]
fn a_tool_in_a_session_of_its_own_can_clean_up_too() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("index.lock");
    let tool = "trap 'sleep 0.1; rm \"$LOCK\"; exit 0' TERM; : > \"$LOCK\"; echo up; while :; do sleep 0.05; done";
    let mut agent = spec("setsid sh -c \"$TOOL\" & sleep 600");
    agent.environment.push(("TOOL".into(), tool.into()));
    agent.environment.push(("LOCK".into(), lock.clone().into()));
    let ended = stop_when_up(agent);
    assert_eq!(ended.how, HowEnded::Stopped);
    assert!(!lock.exists());
}

#[test]
fn a_child_may_close_its_output_and_live() {
    let (lines, ended) = run(spec("echo last; exec >&- 2>&-; sleep 0.2; exit 5"));
    assert_eq!(lines, ["last"]);
    assert_eq!(ended.how, HowEnded::Exited(5));
}

#[test]
fn a_flood_of_errors_is_drained_and_its_end_is_kept() {
    let (_, ended) = run(spec("head -c 20000000 /dev/zero | tr '\\0' e >&2; echo end >&2"));
    // The line that was cut is left out when another follows.
    let tail = ended.stderr_tail;
    assert!(
        tail == "end\n" || (tail.len() == 64 * 1024 && tail.ends_with("eeeend\n")),
        "{}",
        tail.len()
    );
}

#[test]
fn a_line_of_20_megabytes_is_cut_and_the_next_one_is_whole() {
    let (lines, ended) = run(spec(
        "head -c 20000000 /dev/zero | tr '\\0' x; echo; printf 'a\\000b\\377\\n'",
    ));
    assert_eq!(lines.len(), 2);
    assert!(lines[0].len() < 9_000_000 && lines[0].ends_with("more bytes of this line were left out]"));
    assert_eq!(lines[1], "a\0b\u{fffd}");
    assert_eq!(ended.how, HowEnded::Exited(0));
}

#[test]
fn a_child_that_prints_more_than_it_may_is_stopped() {
    let flood = Spec {
        output_limit: Some(10),
        ..spec("echo 12345; yes")
    };
    let (lines, ended) = run(flood);
    assert_eq!(lines.concat(), "12345yy");
    assert_eq!(ended.how, HowEnded::OutputLimit);
}

#[test]
fn a_reader_that_is_slow_loses_nothing() {
    become_subreaper().unwrap();
    let (sender, events) = mpsc::sync_channel(0);
    let sink = Box::new(move |event| {
        sender.send(event).unwrap();
        Answer::default()
    });
    let child = start(spec("seq 1 50000"), sink).unwrap();
    let (pid, started) = child.process();
    let mut lines = 0;
    for event in events {
        match event {
            ProcessEvent::Line(_) => lines += 1,
            ProcessEvent::Alive => {}
            ProcessEvent::Ended(ended) => assert_eq!(ended.how, HowEnded::Exited(0)),
        }
    }
    assert_eq!(lines, 50_000);
    assert!(!is_alive(pid, started));
}

#[test]
fn fault_29_leftovers_of_a_dead_run_are_killed_by_exact_match_alone() {
    let leftover = spec("echo up; setsid sleep 600 & sleep 601");
    let mark = leftover.marker.clone();
    let (child, events) = begin(leftover);
    wait_for(&events, "up");
    let (pid, started) = child.process();
    assert_eq!(start_time(pid), Some(started));

    let beginning: String = mark.chars().take(4).collect();
    assert_eq!(kill_leftovers(&beginning, Some((pid, started + 1))), 0);
    assert_eq!(kill_leftovers("", None), 0);
    assert!(is_alive(pid, started));

    // A child under supervision here is no leftover; those that it started are.
    assert!(kill_leftovers(&mark, None) > 0);
    let (_, ended) = rest(&events);
    assert_ne!(ended.how, HowEnded::Stopped);
    assert!(!is_alive(pid, started));
}

#[test]
fn a_gate_says_what_it_printed_in_order_and_how_it_ended() {
    let gate = spec("echo one; echo two >&2; echo three; exit 4");
    let finished = run_to_end(gate, RunLimits::default(), &StopHandle::default()).unwrap();
    assert_eq!(finished.how, HowEnded::Exited(4));
    assert_eq!(finished.output, "one\ntwo\nthree\n");
}

#[test]
fn a_gate_that_takes_too_long_is_ended_with_all_that_it_started() {
    let gate = spec("trap '' TERM; setsid sleep 600 & echo before; sleep 601; sleep 602");
    let mark = gate.marker.clone();
    let limits = RunLimits {
        time: Some(Duration::from_millis(300)),
        ..RunLimits::default()
    };
    become_subreaper().unwrap();
    let finished = run_to_end(gate, limits, &StopHandle::default()).unwrap();
    assert_eq!(
        (finished.how, finished.output.as_str()),
        (HowEnded::TimedOut, "before\n")
    );
    assert_eq!(kill_leftovers(&mark, None), 0);
    assert_no_child_is_left();
}

#[test]
fn a_gate_is_stopped_from_another_thread() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("ready");
    let made = ralph_process::command("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let stop = StopHandle::default();
    let gate = spec(&format!("echo up > {}; sleep 600", pipe.display()));
    let other = std::thread::spawn({
        let stop = stop.clone();
        move || {
            std::fs::read(pipe).unwrap();
            stop.stop();
        }
    });
    let finished = run_to_end(gate, RunLimits::default(), &stop).unwrap();
    // Had the gate ended by itself, the other thread would wait for ever.
    assert_eq!(finished.how, HowEnded::Stopped);
    other.join().unwrap();

    let never = run_to_end(spec("touch /nowhere/at/all; echo ran"), RunLimits::default(), &stop).unwrap();
    assert_eq!((never.how, never.output.as_str()), (HowEnded::Stopped, ""));
}

/// A child that is answered: each of its lines by what this says.
fn talk(script: &str, mut answer: impl FnMut(&str) -> Answer + Send + 'static) -> (Supervised, Receiver<ProcessEvent>) {
    become_subreaper().unwrap();
    let (sender, events) = mpsc::channel();
    let sink = Box::new(move |event| {
        let answer = match &event {
            ProcessEvent::Line(line) => answer(line),
            ProcessEvent::Alive | ProcessEvent::Ended(_) => Answer::default(),
        };
        sender.send(event).unwrap();
        answer
    });
    let open = Spec {
        stdin: Input::Open(b"first\n".to_vec()),
        ..spec(script)
    };
    (start(open, sink).unwrap(), events)
}

fn says(words: &str) -> Answer {
    Answer {
        say: words.as_bytes().to_vec(),
        ..Answer::default()
    }
}

#[test]
fn a_child_is_answered_and_its_input_ends_when_all_is_said() {
    let (_child, events) = talk(
        "while read word; do echo \"$word!\"; done; echo over",
        |line| match line {
            "first!" => says("second\n"),
            "second!" => Answer {
                then: Then::HangUp,
                ..says("third\n")
            },
            _ => Answer::default(),
        },
    );
    let (lines, ended) = rest(&events);
    assert_eq!(lines, ["first!", "second!", "third!", "over"]);
    assert_eq!(ended.how, HowEnded::Exited(0));
}

#[test]
fn a_child_that_stays_after_its_work_is_ended() {
    let (child, events) = talk(
        "trap '' TERM; exec 3<&0; read word; echo done; setsid sleep 600 & while :; do sleep 601; done",
        |_| Answer {
            then: Then::HangUp,
            ..Answer::default()
        },
    );
    let (lines, ended) = rest(&events);
    assert_eq!((lines, ended.how), (vec!["done".to_owned()], HowEnded::Signalled(9)));
    let (pid, started) = child.process();
    assert!(!is_alive(pid, started));
}

#[test]
fn a_child_is_told_to_end_in_its_own_words_before_anything_else() {
    let (child, events) = talk(
        "trap 'echo asked by a signal' TERM; read word; echo ready; echo up; read word; echo \"$word\"; read word; echo over",
        |line| match line {
            "ready" => Answer {
                farewell: Some(b"cancel\n".to_vec()),
                ..Answer::default()
            },
            "cancel" => Answer {
                then: Then::HangUp,
                ..Answer::default()
            },
            _ => Answer::default(),
        },
    );
    // The answer to a line is on its way when the next line is told.
    wait_for(&events, "up");
    child.stop();
    let (lines, ended) = rest(&events);
    assert_eq!(
        (lines, ended.how),
        (vec!["cancel".to_owned(), "over".to_owned()], HowEnded::Stopped)
    );
}

#[test]
fn a_child_that_does_not_listen_is_ended_all_the_same() {
    let (child, events) = talk("echo ready; echo up; exec sleep 600", |_| Answer {
        farewell: Some(b"cancel\n".to_vec()),
        ..says(&"x".repeat(1_000_000))
    });
    wait_for(&events, "up");
    child.stop();
    let (_, ended) = rest(&events);
    assert_eq!(ended.how, HowEnded::Stopped);
}

#[test]
fn a_child_that_has_stopped_hears_that_it_is_to_end() {
    let (child, events) = begin(spec(
        "trap 'echo cleaned; exit 0' TERM; echo ready; kill -STOP $$; while :; do sleep 0.05; done",
    ));
    wait_for(&events, "ready");
    child.stop();
    let (lines, ended) = rest(&events);
    assert_eq!((lines, ended.how), (vec!["cleaned".to_owned()], HowEnded::Stopped));
}

/// How many threads this process has, and how many descriptors.
fn belongings() -> (usize, usize) {
    let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
    (count("/proc/self/task"), count("/proc/self/fd"))
}

/// Nobody may kill whoever holds the pipes here: it is the test itself.
#[test]
fn pipes_that_a_stranger_holds_keep_nobody_waiting_for_ever() {
    let before = belongings();
    let unread = Spec {
        stdin: Input::Whole(vec![b'x'; 5_000_000]),
        ..spec("trap '' PIPE; echo up; exec sleep 600")
    };
    let (child, events) = begin(unread);
    wait_for(&events, "up");
    let its = |descriptor: u32| format!("/proc/{}/fd/{descriptor}", child.process().0);
    let input = std::fs::File::open(its(0)).unwrap();
    let outputs = [1, 2].map(|descriptor| std::fs::File::options().write(true).open(its(descriptor)).unwrap());
    child.stop();
    let (_, ended) = rest(&events);
    assert_eq!(ended.how, HowEnded::Stopped);
    let with_the_pipes = (before.0, before.1 + 3);
    let begun = std::time::Instant::now();
    while belongings() != with_the_pipes && begun.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    assert_eq!(belongings(), with_the_pipes);
    drop((input, outputs));
}

/// Nor may anybody kill the one who prints here, and it does so until nobody listens.
#[test]
fn a_stranger_who_prints_without_end_into_the_pipes_does_not_hold_up_the_end() {
    let (child, events) = begin(spec("echo up; exec sleep 600"));
    wait_for(&events, "up");
    let printers = [1, 2].map(|descriptor| {
        let its = format!("/proc/{}/fd/{descriptor}", child.process().0);
        let mut output = std::fs::File::options().write(true).open(its).unwrap();
        std::thread::spawn(move || {
            let begun = std::time::Instant::now();
            let mut is_heard = true;
            while is_heard && begun.elapsed() < Duration::from_secs(20) {
                is_heard = output.write_all(b"noise\n").is_ok();
            }
            is_heard
        })
    });
    child.stop();
    let (_, ended) = rest(&events);
    assert_eq!(ended.how, HowEnded::Stopped);
    assert_eq!(printers.map(|printer| printer.join().unwrap()), [false, false]);
}

#[test]
fn the_end_is_told_also_to_one_who_panicked() {
    become_subreaper().unwrap();
    let (sender, events) = mpsc::channel();
    let sink = Box::new(move |event| match event {
        ProcessEvent::Line(line) => panic!("{line} is too much"),
        event => {
            sender.send(event).unwrap();
            Answer::default()
        }
    });
    let _child = start(spec("echo one; exit 3"), sink).unwrap();
    let ended = std::iter::repeat_with(|| events.recv_timeout(Duration::from_secs(20)).unwrap())
        .find(|event| *event != ProcessEvent::Alive);
    let Some(ProcessEvent::Ended(ended)) = ended else {
        panic!("{ended:?} is no end");
    };
    assert_eq!(ended.how, HowEnded::Exited(3));
}

#[test]
fn the_host_names_the_machine_its_boot_and_the_pid_namespace() {
    let read = |path: &str| std::fs::read_to_string(Path::new(path)).unwrap().trim_end().to_owned();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let expected = [
        read("/proc/sys/kernel/hostname"),
        read("/proc/sys/kernel/random/boot_id"),
        namespace.to_string_lossy().into_owned(),
    ];
    assert_eq!(host(), expected.join(" "));
}
