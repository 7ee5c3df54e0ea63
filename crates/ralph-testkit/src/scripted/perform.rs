//! The scripted agent's program: plays the next turn of its script.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::acp::Client;
use super::installed::{SessionKind, call_file, prompt_file, replace};
use super::speech::{Speech, print_in_chunks};
use super::{Action, Call, Dialect, Script, misdeeds};
use crate::assigned::assigned_task;

/// Plays the next turn of the script in the folder named by the first argument, then exits.
pub fn perform() -> ! {
    let mut arguments = std::env::args().skip(1);
    let first = arguments.next().expect("the first argument is the folder of a script");
    if first == misdeeds::FLAG {
        misdeeds::play(arguments);
    }
    let folder = PathBuf::from(first);
    let arguments: Vec<String> = arguments.collect();
    let script: Script = serde_json::from_slice(&std::fs::read(folder.join("script.json")).unwrap()).unwrap();
    let mut client = (script.dialect == Dialect::Acp).then(Client::new);
    let file = arguments.iter().skip_while(|word| *word != "--prompt-file").nth(1);
    let prompt = match (&mut client, file) {
        (Some(client), _) => client.prompt(&script).into_bytes(),
        (None, Some(file)) => std::fs::read(file).unwrap(),
        (None, None) => {
            let mut input = Vec::new();
            std::io::stdin().read_to_end(&mut input).unwrap();
            input
        }
    };
    let kind = SessionKind::of(&prompt);
    let turn = record_turn(&folder, kind, &prompt, arguments);
    let passes = vec![Action::Say("<verify-pass/>".to_owned())];
    let actions = match kind {
        SessionKind::Turn => script.turns.get(turn - 1).or(script.turns.last()),
        SessionKind::Verification => {
            let all = &script.verifications;
            all.get(turn - 1).or(all.last()).or(Some(&passes))
        }
    };
    let prompt = String::from_utf8_lossy(&prompt).into_owned();
    let mut actor = Actor {
        task: assigned_task(&prompt).map_or_else(|| "t-none".to_owned(), |task| task.to_string()),
        turn: turn.to_string(),
        prompt,
        speech: Speech::begin(script.dialect, client),
    };
    for action in actions.into_iter().flatten() {
        actor.play(action);
    }
    actor.speech.end();
    end_with(0)
}

/// Assigns the number of this turn and records its prompt and call, under a lock.
fn record_turn(folder: &Path, kind: SessionKind, prompt: &[u8], arguments: Vec<String>) -> usize {
    let lock = File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let turn = (1..).find(|turn| !prompt_file(folder, kind, *turn).exists()).unwrap();
    let call = Call {
        arguments,
        folder: working_folder(),
        environment: environment(),
    };
    replace(
        &call_file(folder, kind, turn),
        &serde_json::to_vec_pretty(&call).unwrap(),
    );
    replace(&prompt_file(folder, kind, turn), prompt);
    turn
}

#[expect(clippy::disallowed_methods, reason = "this is a program's entry point")]
fn working_folder() -> PathBuf {
    std::env::current_dir().unwrap()
}

#[expect(clippy::disallowed_methods, reason = "this is a program's entry point")]
fn environment() -> std::collections::BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

struct Actor {
    prompt: String,
    task: String,
    turn: String,
    speech: Speech,
}

impl Actor {
    fn play(&mut self, action: &Action) {
        match action {
            Action::Say(text) => self.say(text, 1),
            Action::SayInChunks(text, chunks) => self.say(text, *chunks),
            Action::Think(text) => self.speech.think(&self.expand(text)),
            Action::SayError(text) => print_error(format!("{}\n", self.expand(text)).as_bytes()),
            Action::Write(file, text) => self.write(file, text, Mode::Replace),
            Action::Append(file, text) => self.write(file, text, Mode::Append),
            Action::Run(line) => self.run(line),
            Action::Sleep(milliseconds) => std::thread::sleep(std::time::Duration::from_millis(*milliseconds)),
            Action::Hang => loop {
                std::thread::park();
            },
            Action::Exit(code) => end_with(*code),
            Action::Kill(signal) => kill_self(*signal),
            Action::Daemon => start_daemon(),
            Action::Flood(bytes) => write_lines(*bytes, |lines| print_in_chunks(lines, 1)),
            Action::FloodErrors(bytes) => write_lines(*bytes, print_error),
            Action::LongLine(bytes) => print_line(*bytes),
            Action::Misbehave(misdeed) => misdeed.commit(),
            Action::Garbage => print_in_chunks(b"\xff\xfe{\"type\":\0 <not json>\n", 1),
            Action::Raw(line) => self.speech.raw(&self.expand(line)),
            Action::Ask(method) => {
                let answer = self.speech.client().ask(method, &json!({}));
                print_error(format!("{answer}\n").as_bytes());
            }
            Action::IfAllowed(kind, title, then, otherwise) => {
                let title = self.expand(title);
                let is_allowed = self.speech.client().request_permission(kind, &title);
                self.play_all(if is_allowed { then } else { otherwise });
            }
            Action::IgnoreCancel => self.speech.client().ignore_cancel(),
            Action::IfPromptContains(text, then, otherwise) => {
                let is_contained = self.prompt.contains(&self.expand(text));
                self.play_all(if is_contained { then } else { otherwise });
            }
        }
    }

    fn play_all(&mut self, actions: &[Action]) {
        for action in actions {
            self.play(action);
        }
    }

    fn expand(&self, text: &str) -> String {
        text.replace("{task}", &self.task).replace("{turn}", &self.turn)
    }

    fn say(&mut self, text: &str, chunks: usize) {
        let text = self.expand(text);
        self.speech.say(&text, chunks);
    }

    fn write(&mut self, file: &str, text: &str, mode: Mode) {
        let path = working_folder().join(self.expand(file));
        let text = self.expand(text);
        let input = json!({"file_path": path, "content": text});
        self.speech.use_tool("Write", &input, || {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let mut options = File::options();
            options.create(true).write(true);
            match mode {
                Mode::Replace => options.truncate(true),
                Mode::Append => options.append(true),
            };
            options.open(&path).unwrap().write_all(text.as_bytes()).unwrap();
            "written".to_owned()
        });
    }

    fn run(&mut self, line: &str) {
        let line = self.expand(line);
        let input = json!({"command": line});
        self.speech.use_tool("Bash", &input, || {
            let output = ralph_process::command("sh").args(["-c", &line]).output().unwrap();
            let printed = [output.stdout, output.stderr].concat();
            let printed = String::from_utf8_lossy(&printed).into_owned();
            if !output.status.success() {
                print_error(format!("{line}: {}\n{printed}", output.status).as_bytes());
                end_with(98);
            }
            printed
        });
    }
}

#[derive(Clone, Copy)]
enum Mode {
    Replace,
    Append,
}

fn start_daemon() {
    let daemon = ralph_process::command("setsid").args(["sleep", "600"]).spawn();
    drop(daemon.unwrap());
}

fn kill_self(signal: i32) -> ! {
    let sent = ralph_process::command("kill")
        .arg(format!("-{signal}"))
        .arg(std::process::id().to_string())
        .status();
    drop(sent);
    loop {
        std::thread::park();
    }
}

/// Writes this many bytes of lines, in blocks.
fn write_lines(bytes: usize, mut write: impl FnMut(&[u8])) {
    let line = [&[b'x'; 99][..], b"\n"].concat().repeat(100);
    let mut left = bytes;
    while left > 0 {
        let now = left.min(line.len());
        write(line.get(line.len() - now..).unwrap());
        left -= now;
    }
}

/// Prints one line of this many bytes.
fn print_line(bytes: usize) {
    let piece = [b'x'; 1 << 16];
    let mut left = bytes;
    while left > 0 {
        let now = left.min(piece.len());
        print_in_chunks(piece.get(..now).unwrap(), 1);
        left -= now;
    }
    print_in_chunks(b"\n", 1);
}

fn print_error(bytes: &[u8]) {
    let _written: bool = std::io::stderr().write_all(bytes).is_ok();
}

#[expect(clippy::exit, reason = "this is a program's exit")]
pub(super) fn end_with(code: i32) -> ! {
    std::process::exit(code)
}
