//! The verifier: a second session, which looks at finished work and changes nothing, from its prompt to its word.

use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime};

use ralph_agent::{Access, EndOfTurn};
use ralph_memory::capture::{clean, read_verdict};
use ralph_memory::inject::prompt::{Finished, GateWord, verification_prompt};
use ralph_model::Tokens;

use super::before::Asked;
use super::prepare::{environment, folder_of};
use super::turn::{SESSION_CHARACTERS, cleaned, inside, not_ended, pass_on};
use super::{Look, Role, RunError, Runner, Turn};
use crate::basis::GitPrograms;
use crate::changes::{ProjectFiles, Refs, recorded_name};
use crate::gates::GateResult;
use crate::state::{Draft, Happening};
use crate::summary::Verification;
use crate::transcript::Transcript;
use crate::watch::News;

impl Runner<'_> {
    /// Starts the verifier, if there is still a task.
    pub(super) fn verify(&mut self, draft: &Draft) -> Result<Happening, RunError> {
        let site = self.site;
        let Some(prompt) = self.prompt_about(draft)? else {
            return Ok(Happening::TaskGone);
        };
        let folder = folder_of(site, &draft.current).of_verifier();
        folder.create()?;
        folder.write("prompt.md", &prompt)?;
        let files = self.project_files(&draft.current)?;
        let root = self.work_root(&draft.current);
        // The gates may have changed files, so this is not what the turn has left.
        let before = files.snapshot();
        let (refs, forgiven_before) = (Refs::of(&root), self.store.was_forgiven(&draft.current.task)?);
        let programs = self.programs(&draft.current);
        let is_whole = before.degraded.is_none() && before.without_git.is_none();
        if !is_whole && self.places().are_full() {
            return Err(RunError::no_room());
        }
        let Some(agent) = self.order.verifying_agent() else {
            return Err(RunError::Other("there is no verifier".to_owned()));
        };
        let mut current = (*draft.current).clone();
        if self.order.other_verifier().is_some() {
            // The models are those of the agent that works.
            current.model = None;
        }
        let (environment, sender) = (environment(site, &current)?, self.sender.clone());
        let started = agent.start(
            &ralph_agent::Turn {
                prompt: &prompt,
                prompt_file: &folder.prompt(),
                model: current.model.as_deref(),
                folder: &root,
                environment: &environment,
                also_writable: &[],
                access: Access::ReadOnly,
                allowed_commands: &[],
                marker: &current.marker,
                output_limit: site.config.limits.output_bytes.map(|bytes| bytes.0),
            },
            Box::new(move |event| pass_on(&sender, event)),
        );
        let running = match started {
            Ok(running) => running,
            Err(error) => return Ok(Happening::VerifierUnusable(error.to_string())),
        };
        let agent = agent.name().to_owned();
        self.watch.tell(&News::VerifierBegan {
            current: &current,
            agent: &agent,
            prompt: Tokens::of_characters(prompt.chars().count()),
        });
        let transcript = folder.transcript().inspect_err(|error| {
            let warning = format!("There will be no transcript of the verifier: {error}");
            self.watch.tell(&News::Warning(&warning));
        });
        self.turn = Some(Turn {
            current,
            role: Role::Looks(Box::new(Look {
                agent,
                files,
                before,
                refs,
                programs,
                forgiven_before,
            })),
            prompt,
            transcript: transcript.ok(),
            lines_missing: false,
            running: Some(running),
            started: Instant::now(),
        });
        Ok(Happening::Spawned)
    }

    /// What the verifier is told: the task, what was done, what the gates say; nothing of what the agent said about it. None
    /// when the task is gone.
    fn prompt_about(&self, draft: &Draft) -> Result<Option<String>, RunError> {
        let Some(mut task) = self.store.task(&draft.current.task)? else {
            return Ok(None);
        };
        let mut parent = match &task.parent {
            Some(parent) => self.store.task(parent)?,
            None => None,
        };
        let asked = Asked::on_record(draft.current.before.as_deref());
        let is_rewritten = asked.is_some_and(|asked| asked.put_into(&mut task, parent.as_mut()));
        let feature = match &draft.current.feature {
            Some(feature) => self.store.feature_of_id(feature)?,
            None => None,
        };
        let feature = feature.map(|feature| self.site.features.read(&feature.name));
        let history = self.store.journal_of_task(&task.id)?;
        let earlier: BTreeSet<String> = history.into_iter().flat_map(|row| row.row.files_modified).collect();
        let (of_both, earlier): (Vec<String>, Vec<String>) =
            earlier.into_iter().partition(|file| draft.files.contains(file));
        let diff = folder_of(self.site, &draft.current).read("diff.patch");
        let gates: Vec<GateWord<'_>> = draft.gates.iter().map(word_of).collect();
        Ok(Some(verification_prompt(&Finished {
            task: &task,
            is_rewritten,
            parent: parent.as_ref(),
            feature: feature.as_ref(),
            files: &draft.files,
            earlier_files: &earlier,
            files_of_both: &of_both,
            diff: diff.as_deref(),
            gates: &gates,
        })))
    }

    /// What came of the verifier's session; nothing where the disk is full and it did not pass.
    pub(super) fn verification_of(&mut self, end: EndOfTurn) -> Happening {
        if let Some(warning) = not_ended(&end.left_running) {
            self.watch.tell(&News::Warning(&warning));
        }
        let verification = self.look_back(end);
        if (!verification.passes() || verification.unseen.is_some()) && self.places().are_full() {
            return Happening::LookedWithoutRoom(Box::new(verification));
        }
        if let Some(reason) = &verification.unseen {
            let warning = format!("Not all that the verifier may have changed was seen: {reason}");
            self.watch.tell(&News::Warning(&warning));
        }
        self.watch.tell(&News::Verified(&verification));
        Happening::Verified(Box::new(verification))
    }

    fn look_back(&mut self, end: EndOfTurn) -> Verification {
        let (mut agent, mut seen, mut duration) = (String::new(), SeenSince::default(), Duration::ZERO);
        let (mut prompt, mut forgiven_before) = ("", false);
        let current = self.turn.as_ref().map(|turn| turn.current.clone());
        let (root, programs) = match &current {
            Some(current) => (self.work_root(current), self.programs(current)),
            None => (self.site.root.clone(), GitPrograms::default()),
        };
        if let Some(turn) = &mut self.turn {
            turn.running = None;
            duration = turn.started.elapsed();
            // One that cannot be closed now is joined with the settlement, which says so where it cannot either.
            let _closed = turn.transcript.take().map(Transcript::close);
            prompt = &turn.prompt;
            if let Role::Looks(look) = &turn.role {
                agent.clone_from(&look.agent);
                forgiven_before = look.forgiven_before;
                let writes: Vec<String> = end.writes.iter().filter_map(|path| inside(&root, path)).collect();
                let begun = folder_of(self.site, &turn.current).of_verifier().prompt();
                let begun = std::fs::metadata(begun).and_then(|metadata| metadata.modified());
                seen = changed_since(look, &writes, begun.ok());
                seen.changed.extend(look.programs.changed(&programs));
                seen.look_at_refs(look.refs.as_ref(), Refs::of(&root));
                seen.changed = seen.changed.iter().map(|name| recorded_name(name)).collect();
            }
        }
        let verdict = read_verdict(end.final_messages(), prompt);
        Verification {
            agent,
            end: cleaned(end.end),
            cause: None,
            limit: None,
            verdict,
            changed: seen.changed.into_iter().collect(),
            wrote: seen.wrote,
            forgiven_before,
            unseen: seen.unseen,
            usage: end.usage,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            session: end.session.map(|session| clean(&session, SESSION_CHARACTERS)),
        }
    }
}

/// What is not as it was when a verifier began.
#[derive(Default)]
struct SeenSince {
    changed: BTreeSet<String>,
    /// Whether its write calls named a file of these.
    wrote: bool,
    /// Why there may be more.
    unseen: Option<String>,
}

impl SeenSince {
    /// Adds the branches and tags that were moved.
    fn look_at_refs(&mut self, before: Result<&Refs, &String>, after: Result<Refs, String>) {
        match (before, after) {
            (Ok(before), Ok(after)) => self.changed.extend(before.changed(&after)),
            (Err(reason), _) => drop(self.unseen.get_or_insert(reason.clone())),
            (_, Err(reason)) => drop(self.unseen.get_or_insert(reason)),
        }
    }
}

/// The files of the project that are not what they were before, notes among them, and those that write calls named and no
/// snapshot shows. What is ralph's own does not count.
fn changed_since(look: &Look, writes: &[String], begun: Option<SystemTime>) -> SeenSince {
    let Look { files, before, .. } = look;
    let mut after = files.snapshot();
    if ProjectFiles::differ_in_kind(before, &after) {
        // What kept git from it may be over.
        after = files.snapshot();
    }
    let changes = files.changes(before, &after);
    let mut changed: BTreeSet<String> = changes.files.into_iter().collect();
    changed.extend(begun.map(|begun| files.unseen(writes, begun)).unwrap_or_default());
    SeenSince {
        wrote: writes.iter().any(|file| changed.contains(file)),
        changed,
        unseen: changes.degraded,
    }
}

fn word_of(gate: &GateResult) -> GateWord<'_> {
    GateWord {
        command: &gate.command,
        is_green: gate.is_green(),
        output: &gate.output,
    }
}
