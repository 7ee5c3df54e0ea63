//! Supervision of real, misbehaving children: nothing of them is left.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use ralph_process::{
    AfterReply, Ended, ExitReason, Input, ProcessEvent, RunLimits, Spec, StdinReply, StopHandle, Supervised,
    become_subreaper, host, is_alive, kill_leftovers, run_to_end, start, start_time,
};

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

/// A marker that is unique per script and test process.
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
        StdinReply::default()
    });
    (start(spec, sink).unwrap(), events)
}

/// All events until the sink is dropped, which shows that the end comes exactly once and last.
fn rest(events: &Receiver<ProcessEvent>) -> (Vec<String>, Ended) {
    let mut lines = Vec::new();
    let mut ended = None;
    for event in events {
        assert_eq!(ended, None, "{event:?} after the end");
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
    let events_and_end = rest(&events);
    assert_eq!(kill_leftovers(&marker, None), 0, "processes were left");
    assert_no_child_is_left();
    events_and_end
}

fn assert_no_child_is_left() {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    for task in tasks {
        // A thread may exit during the check.
        let children = std::fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default();
        assert_eq!(children, "");
    }
}

fn wait_for(events: &Receiver<ProcessEvent>, wanted: &str) {
    while events.recv().unwrap() != ProcessEvent::Line(wanted.to_owned()) {}
}

#[test]
fn child_output_is_read_line_by_line() {
    let (lines, ended) = run(spec("echo one; printf 'two\\nthree'; echo bad >&2; exit 3"));
    assert_eq!(lines, ["one", "two", "three"]);
    assert_eq!(
        ended,
        Ended {
            how: ExitReason::Exited(3),
            stderr_tail: "bad\n".into(),
            swept: 0,
            left: Vec::new(),
        }
    );
}

#[test]
fn child_gets_only_the_given_environment() {
    let (lines, _) = run(spec(
        "env | grep -v '^\\(_\\|PWD\\|SHLVL\\|OLDPWD\\)=' | cut -d= -f1 | sort",
    ));
    assert_eq!(lines, ["PATH", "RALPH_MARKER"]);
}

#[test]
fn long_input_is_delivered_and_may_be_ignored() {
    let long = Spec {
        stdin: Input::Whole(vec![b'x'; 5_000_000]),
        ..spec("wc -c")
    };
    assert_eq!(run(long).0, ["5000000"]);
    let unread = Spec {
        stdin: Input::Whole(vec![b'x'; 5_000_000]),
        ..spec("echo no")
    };
    assert_eq!(run(unread).1.how, ExitReason::Exited(0));
}

#[test]
fn signal_that_ends_a_child_is_reported() {
    assert_eq!(run(spec("kill -SEGV $$")).1.how, ExitReason::Signalled(11));
}

#[test]
fn missing_program_is_an_error_without_events() {
    let missing = Spec {
        program: "/nowhere/agent".into(),
        ..spec("")
    };
    let (sender, events) = mpsc::channel::<ProcessEvent>();
    let sink = Box::new(move |event| {
        sender.send(event).unwrap();
        StdinReply::default()
    });
    let error = start(missing, sink).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    assert!(events.recv().is_err());
}

/// Stops a child when it prints "up"; returns how it ended.
fn stop_when_up(spec: Spec) -> Ended {
    let marker = spec.marker.clone();
    let (child, events) = begin(spec);
    wait_for(&events, "up");
    child.stop();
    child.stop();
    let (_, ended) = rest(&events);
    let (pid, started) = child.process();
    assert!(!is_alive(pid, started));
    assert_eq!(kill_leftovers(&marker, None), 0, "processes were left");
    assert_no_child_is_left();
    ended
}

#[test]
fn fault_29_grandchildren_in_other_sessions_are_found_by_marker() {
    let ended = stop_when_up(spec(
        "setsid sh -c 'setsid sleep 600 & setsid sleep 601 & echo up; sleep 602' & sleep 603",
    ));
    assert_eq!(ended.how, ExitReason::Stopped);
    assert!(ended.swept >= 3, "{ended:?}");
}

#[test]
fn fault_29_daemon_without_marker_is_found_as_orphan() {
    let ended = stop_when_up(spec(
        "(env -i /usr/bin/setsid /bin/sh -c 'echo up; exec /bin/sleep 600' &) ; sleep 601",
    ));
    // A dying process of the child's own group may be counted too.
    assert_eq!(ended.how, ExitReason::Stopped);
    assert!(ended.swept >= 1, "{ended:?}");
}

#[test]
fn fault_29_open_pipe_of_grandchild_does_not_delay_the_end() {
    let (lines, ended) = run(spec("setsid sleep 600 & echo done"));
    assert_eq!(lines, ["done"]);
    assert_eq!((ended.how, ended.swept), (ExitReason::Exited(0), 1));
}

#[test]
fn fault_29_child_that_ignores_sigterm_is_killed() {
    let ended = stop_when_up(spec(
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 600' & echo up; while :; do sleep 600; done",
    ));
    assert_eq!(ended.how, ExitReason::Stopped);
}

#[test]
fn stopped_child_can_clean_up() {
    let (child, events) = begin(spec(
        "trap 'echo cleaned; exit 0' TERM; echo ready; while :; do sleep 0.05; done",
    ));
    wait_for(&events, "ready");
    child.stop();
    let (lines, ended) = rest(&events);
    assert_eq!((lines, ended.how), (vec!["cleaned".to_owned()], ExitReason::Stopped));
}

/// Git cleans up its lock files like this.
#[test]
fn tool_in_another_session_can_clean_up() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("index.lock");
    let tool = "trap 'sleep 0.1; rm \"$LOCK\"; exit 0' TERM; : > \"$LOCK\"; echo up; while :; do sleep 0.05; done";
    let mut agent = spec("setsid sh -c \"$TOOL\" & sleep 600");
    agent.environment.push(("TOOL".into(), tool.into()));
    agent.environment.push(("LOCK".into(), lock.clone().into()));
    let ended = stop_when_up(agent);
    assert_eq!(ended.how, ExitReason::Stopped);
    assert!(!lock.exists());
}

#[test]
fn child_may_close_its_output_and_live() {
    let (lines, ended) = run(spec("echo last; exec >&- 2>&-; sleep 0.2; exit 5"));
    assert_eq!(lines, ["last"]);
    assert_eq!(ended.how, ExitReason::Exited(5));
}

#[test]
fn flood_on_stderr_is_drained_and_tail_kept() {
    let (_, ended) = run(spec("head -c 20000000 /dev/zero | tr '\\0' e >&2; echo end >&2"));
    // The incomplete first line of the tail is left out.
    let tail = ended.stderr_tail;
    assert!(
        tail == "end\n" || (tail.len() == 64 * 1024 && tail.ends_with("eeeend\n")),
        "{}",
        tail.len()
    );
}

#[test]
fn huge_line_is_cut_and_next_line_kept() {
    let (lines, ended) = run(spec(
        "head -c 20000000 /dev/zero | tr '\\0' x; echo; printf 'a\\000b\\377\\n'",
    ));
    assert_eq!(lines.len(), 2);
    assert!(lines[0].len() < 9_000_000 && lines[0].ends_with("more bytes of this line were left out]"));
    assert_eq!(lines[1], "a\0b\u{fffd}");
    assert_eq!(ended.how, ExitReason::Exited(0));
}

#[test]
fn child_over_output_limit_is_stopped() {
    let flood = Spec {
        output_limit: Some(10),
        ..spec("echo 12345; yes")
    };
    let (lines, ended) = run(flood);
    assert_eq!(lines.concat(), "12345yy");
    assert_eq!(ended.how, ExitReason::OutputLimit);
}

#[test]
fn slow_reader_loses_nothing() {
    become_subreaper().unwrap();
    let (sender, events) = mpsc::sync_channel(0);
    let sink = Box::new(move |event| {
        sender.send(event).unwrap();
        StdinReply::default()
    });
    let child = start(spec("seq 1 50000"), sink).unwrap();
    let (pid, started) = child.process();
    let mut lines = 0;
    for event in events {
        match event {
            ProcessEvent::Line(_) => lines += 1,
            ProcessEvent::Alive => {}
            ProcessEvent::Ended(ended) => assert_eq!(ended.how, ExitReason::Exited(0)),
        }
    }
    assert_eq!(lines, 50_000);
    assert!(!is_alive(pid, started));
}

#[test]
fn fault_29_leftovers_are_killed_only_on_exact_match() {
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

    // A supervised child of this process is not a leftover; its descendants are.
    assert!(kill_leftovers(&mark, None) > 0);
    let (_, ended) = rest(&events);
    assert_ne!(ended.how, ExitReason::Stopped);
    assert!(!is_alive(pid, started));
}

#[test]
fn gate_output_is_ordered_and_exit_reported() {
    let gate = spec("echo one; echo two >&2; echo three; exit 4");
    let finished = run_to_end(gate, RunLimits::default(), &StopHandle::default()).unwrap();
    assert_eq!(finished.how, ExitReason::Exited(4));
    assert_eq!(finished.output, "one\ntwo\nthree\n");
}

#[test]
fn timed_out_gate_is_ended_with_its_children() {
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
        (ExitReason::TimedOut, "before\n")
    );
    assert_eq!(kill_leftovers(&mark, None), 0);
    assert_no_child_is_left();
}

#[test]
fn gate_is_stopped_from_another_thread() {
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
    // If the gate ended by itself, the other thread would wait forever.
    assert_eq!(finished.how, ExitReason::Stopped);
    other.join().unwrap();

    let never = run_to_end(spec("touch /nowhere/at/all; echo ran"), RunLimits::default(), &stop).unwrap();
    assert_eq!((never.how, never.output.as_str()), (ExitReason::Stopped, ""));
}

/// Starts a child whose lines are answered by this function.
fn talk(
    script: &str,
    mut answer: impl FnMut(&str) -> StdinReply + Send + 'static,
) -> (Supervised, Receiver<ProcessEvent>) {
    become_subreaper().unwrap();
    let (sender, events) = mpsc::channel();
    let sink = Box::new(move |event| {
        let answer = match &event {
            ProcessEvent::Line(line) => answer(line),
            ProcessEvent::Alive | ProcessEvent::Ended(_) => StdinReply::default(),
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

fn says(words: &str) -> StdinReply {
    StdinReply {
        write: words.as_bytes().to_vec(),
        ..StdinReply::default()
    }
}

#[test]
fn replies_are_sent_before_input_closes() {
    let (_child, events) = talk(
        "while read word; do echo \"$word!\"; done; echo over",
        |line| match line {
            "first!" => says("second\n"),
            "second!" => StdinReply {
                then: AfterReply::HangUp,
                ..says("third\n")
            },
            _ => StdinReply::default(),
        },
    );
    let (lines, ended) = rest(&events);
    assert_eq!(lines, ["first!", "second!", "third!", "over"]);
    assert_eq!(ended.how, ExitReason::Exited(0));
}

#[test]
fn child_that_stays_after_hang_up_is_ended() {
    let (child, events) = talk(
        "trap '' TERM; exec 3<&0; read word; echo done; setsid sleep 600 & while :; do sleep 601; done",
        |_| StdinReply {
            then: AfterReply::HangUp,
            ..StdinReply::default()
        },
    );
    let (lines, ended) = rest(&events);
    assert_eq!((lines, ended.how), (vec!["done".to_owned()], ExitReason::Signalled(9)));
    let (pid, started) = child.process();
    assert!(!is_alive(pid, started));
}

#[test]
fn cancel_message_is_sent_before_signals() {
    let (child, events) = talk(
        "trap 'echo asked by a signal' TERM; read word; echo ready; echo up; read word; echo \"$word\"; read word; echo over",
        |line| match line {
            "ready" => StdinReply {
                cancel_message: Some(b"cancel\n".to_vec()),
                ..StdinReply::default()
            },
            "cancel" => StdinReply {
                then: AfterReply::HangUp,
                ..StdinReply::default()
            },
            _ => StdinReply::default(),
        },
    );
    // The reply to a line is sent before the next line is reported.
    wait_for(&events, "up");
    child.stop();
    let (lines, ended) = rest(&events);
    assert_eq!(
        (lines, ended.how),
        (vec!["cancel".to_owned(), "over".to_owned()], ExitReason::Stopped)
    );
}

#[test]
fn child_that_ignores_cancel_message_is_ended() {
    let (child, events) = talk("echo ready; echo up; exec sleep 600", |_| StdinReply {
        cancel_message: Some(b"cancel\n".to_vec()),
        ..says(&"x".repeat(1_000_000))
    });
    wait_for(&events, "up");
    child.stop();
    let (_, ended) = rest(&events);
    assert_eq!(ended.how, ExitReason::Stopped);
}

#[test]
fn suspended_child_receives_sigterm() {
    let (child, events) = begin(spec(
        "trap 'echo cleaned; exit 0' TERM; echo ready; kill -STOP $$; while :; do sleep 0.05; done",
    ));
    wait_for(&events, "ready");
    child.stop();
    let (lines, ended) = rest(&events);
    assert_eq!((lines, ended.how), (vec!["cleaned".to_owned()], ExitReason::Stopped));
}

/// The number of threads and descriptors of this process.
fn belongings() -> (usize, usize) {
    let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
    (count("/proc/self/task"), count("/proc/self/fd"))
}

/// The holder of the pipes cannot be killed: it is the test itself.
#[test]
fn pipes_held_by_another_process_do_not_block() {
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
    assert_eq!(ended.how, ExitReason::Stopped);
    let with_the_pipes = (before.0, before.1 + 3);
    let begun = std::time::Instant::now();
    while belongings() != with_the_pipes && begun.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    assert_eq!(belongings(), with_the_pipes);
    drop((input, outputs));
}

/// The writer cannot be killed either, and prints until the pipe is closed.
#[test]
fn endless_output_of_another_process_does_not_delay_the_end() {
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
    assert_eq!(ended.how, ExitReason::Stopped);
    assert_eq!(printers.map(|printer| printer.join().unwrap()), [false, false]);
}

#[test]
fn end_is_reported_after_sink_panic() {
    become_subreaper().unwrap();
    let (sender, events) = mpsc::channel();
    let sink = Box::new(move |event| match event {
        ProcessEvent::Line(line) => panic!("unexpected line {line}"),
        event => {
            sender.send(event).unwrap();
            StdinReply::default()
        }
    });
    let _child = start(spec("echo one; exit 3"), sink).unwrap();
    let ended = std::iter::repeat_with(|| events.recv_timeout(Duration::from_secs(20)).unwrap())
        .find(|event| *event != ProcessEvent::Alive);
    let Some(ProcessEvent::Ended(ended)) = ended else {
        panic!("unexpected event {ended:?}");
    };
    assert_eq!(ended.how, ExitReason::Exited(3));
}

#[test]
fn host_has_machine_boot_and_pid_namespace() {
    let read = |path: &str| std::fs::read_to_string(Path::new(path)).unwrap().trim_end().to_owned();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let expected = [
        read("/proc/sys/kernel/hostname"),
        read("/proc/sys/kernel/random/boot_id"),
        namespace.to_string_lossy().into_owned(),
    ];
    assert_eq!(host(), expected.join(" "));
}
