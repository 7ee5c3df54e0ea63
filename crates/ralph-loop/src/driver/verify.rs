//! Runs the verifier, a read-only second session, from its prompt to its verdict.

use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime};

use ralph_agent::{Access, EndOfTurn};
use ralph_memory::capture::{TranscriptCleaner, clean, read_verdict};
use ralph_memory::inject::prompt::{Finished, GateReport, verification_prompt};
use ralph_model::Tokens;

use super::before::TaskTexts;
use super::prepare::{environment, folder_of};
use super::turn::{SESSION_CHARACTERS, cleaned, forward, inside, survivors_warning};
use super::{Role, RunError, Runner, Turn, VerifierSession};
use crate::basis::GitPrograms;
use crate::changes::{ProjectFiles, Refs, recorded_name};
use crate::gates::GateResult;
use crate::run_folder::IterationFolder;
use crate::state::{Input, PendingSettlement};
use crate::summary::Verification;
use crate::transcript::Transcript;
use crate::watch::RunEvent;

impl Runner<'_> {
    /// Starts the verifier, if the task still exists.
    pub(super) fn verify(&mut self, draft: &PendingSettlement) -> Result<Input, RunError> {
        let site = self.site;
        let Some(prompt) = self.prompt_about(draft)? else {
            return Ok(Input::TaskDeleted);
        };
        let folder = folder_of(site, &draft.current).of_verifier();
        folder.create()?;
        folder.write("prompt.md", &prompt)?;
        let files = self.project_files(&draft.current)?;
        let root = self.work_root(&draft.current);
        // The gates may have changed files, so this differs from the state after the turn.
        let before = files.snapshot();
        let (refs, forgiven_before) = (Refs::of(&root), self.store.had_excused_attempt(&draft.current.task)?);
        let programs = self.programs(&draft.current);
        let is_whole = before.degraded.is_none() && before.without_git.is_none();
        if !is_whole && self.volumes().are_full() {
            return Err(RunError::disk_full());
        }
        let Some(agent) = self.order.verifying_agent() else {
            return Err(RunError::Other("there is no verifier".to_owned()));
        };
        let mut current = (*draft.current).clone();
        if self.order.other_verifier().is_some() {
            // The configured models belong to the working agent.
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
            Box::new(move |event| forward(&sender, event)),
        );
        let running = match started {
            Ok(running) => running,
            Err(error) => return Ok(Input::VerifierUnusable(error.to_string())),
        };
        let agent = agent.name().to_owned();
        self.watch.tell(&RunEvent::VerifierBegan {
            agent: &agent,
            iteration: current.iteration,
            task: &current.task,
            prompt_tokens: Tokens::of_characters(prompt.chars().count()),
            folder: site.shown(folder.path()),
        });
        let transcript = self.transcript_of_verifier(&folder);
        self.turn = Some(Turn {
            current,
            role: Role::Verifier(Box::new(VerifierSession {
                agent,
                files,
                before,
                refs,
                programs,
                forgiven_before,
            })),
            prompt,
            transcript,
            cleaner: TranscriptCleaner::default(),
            lines_missing: false,
            running: Some(running),
            started: Instant::now(),
        });
        Ok(Input::Spawned)
    }

    fn transcript_of_verifier(&mut self, folder: &IterationFolder) -> Option<Transcript> {
        let opened = folder.transcript().inspect_err(|error| {
            let warning = format!("Cannot write a transcript of the verifier: {error}");
            self.watch.tell(&RunEvent::Warning(&warning));
        });
        opened.ok()
    }

    /// The verifier's prompt: the task, the changes and the gate results, but nothing that the agent said about them.
    /// `None` if the task was deleted.
    fn prompt_about(&self, draft: &PendingSettlement) -> Result<Option<String>, RunError> {
        let Some(mut task) = self.store.task(&draft.current.task)? else {
            return Ok(None);
        };
        let mut parent = match &task.parent {
            Some(parent) => self.store.task(parent)?,
            None => None,
        };
        let asked = TaskTexts::on_record(draft.current.before.as_deref());
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
        let gates: Vec<GateReport<'_>> = draft.gates.iter().map(word_of).collect();
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

    /// The result of the verifier's session, which is discarded if the disk is full and it did not pass.
    pub(super) fn verification_of(&mut self, end: EndOfTurn) -> Input {
        if let Some(warning) = survivors_warning(&end.left_running) {
            self.watch.tell(&RunEvent::Warning(&warning));
        }
        let verification = self.verification_after(end);
        if (!verification.passes() || verification.unseen.is_some()) && self.volumes().are_full() {
            return Input::VerifiedOnFullDisk(Box::new(verification));
        }
        if let Some(reason) = &verification.unseen {
            let warning = format!("Some changes during verification may have been missed: {reason}");
            self.watch.tell(&RunEvent::Warning(&warning));
        }
        self.watch.tell(&RunEvent::Verified(&verification));
        Input::Verified(Box::new(verification))
    }

    fn verification_after(&mut self, end: EndOfTurn) -> Verification {
        let (mut agent, mut seen, mut duration) = (String::new(), ObservedChanges::default(), Duration::ZERO);
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
            if let Role::Verifier(session) = &turn.role {
                agent.clone_from(&session.agent);
                forgiven_before = session.forgiven_before;
                let writes: Vec<String> = end.writes.iter().filter_map(|path| inside(&root, path)).collect();
                let begun = folder_of(self.site, &turn.current).of_verifier().prompt();
                let begun = std::fs::metadata(begun).and_then(|metadata| metadata.modified());
                seen = changed_since(session, &writes, begun.ok());
                seen.changed.extend(session.programs.changed(&programs));
                seen.add_changed_refs(session.refs.as_ref(), Refs::of(&root));
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

/// What changed while a verifier ran.
#[derive(Default)]
struct ObservedChanges {
    changed: BTreeSet<String>,
    /// Whether its write calls named one of these files.
    wrote: bool,
    /// Why changes may be missing.
    unseen: Option<String>,
}

impl ObservedChanges {
    /// Adds the branches and tags that moved.
    fn add_changed_refs(&mut self, before: Result<&Refs, &String>, after: Result<Refs, String>) {
        match (before, after) {
            (Ok(before), Ok(after)) => self.changed.extend(before.changed(&after)),
            (Err(reason), _) => drop(self.unseen.get_or_insert(reason.clone())),
            (_, Err(reason)) => drop(self.unseen.get_or_insert(reason)),
        }
    }
}

/// The project files that changed, including notes, and written files that no snapshot shows. Ralph's own files do not
/// count.
fn changed_since(session: &VerifierSession, writes: &[String], begun: Option<SystemTime>) -> ObservedChanges {
    let VerifierSession { files, before, .. } = session;
    let mut after = files.snapshot();
    if ProjectFiles::differ_in_kind(before, &after) {
        // Whatever blocked git may be over now.
        after = files.snapshot();
    }
    let changes = files.changes(before, &after);
    let mut changed: BTreeSet<String> = changes.files.into_iter().collect();
    changed.extend(begun.map(|begun| files.unseen(writes, begun)).unwrap_or_default());
    ObservedChanges {
        wrote: writes.iter().any(|file| changed.contains(file)),
        changed,
        unseen: changes.degraded,
    }
}

fn word_of(gate: &GateResult) -> GateReport<'_> {
    GateReport {
        command: &gate.command,
        is_green: gate.is_green(),
        output: &gate.output,
    }
}
