//! Prepares an agent: its task, prompt and environment. All of it is recorded before the agent starts.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use jiff::tz::TimeZone;
use ralph_agent::environment::{IterationVariables, environment_for};
use ralph_memory::capture::{Scratchpad, TranscriptCleaner};
use ralph_memory::exchange::sha256;
use ralph_memory::inject::prompt::{BrokenGate, IterationInfo, Materials, Prompt, PromptContext, compose};
use ralph_memory::secrets::mask;
use ralph_model::config::Commit;
use ralph_model::{InjectionReason, NoteFileKind, Task};
use ralph_search::{SearchIndex, Sources};
use ralph_store::{ClaimAnswer, ClaimRequest, PausePolicy, RunProcess, Scope, ScopeCounts, Start};

use super::before::{Before, TaskTexts};
use super::{Role, RunError, Runner, Turn};
use crate::basis::{EvidenceBasis, GitPrograms, changed_without_review};
use crate::changes::{ProjectFiles, commits_in, recorded_name};
use crate::checkout::Base;
use crate::heartbeat::LEASE;
use crate::run_folder::{IterationFolder, program_folder, scratch_folder};
use crate::site::Site;
use crate::state::{Current, Input, Pauses, Place};
use crate::strategy::{Past, Rule};
use crate::watch::RunEvent;

pub(super) fn folder_of(site: &Site<'_>, current: &Current) -> IterationFolder {
    IterationFolder::of(&site.runs, &current.run, current.iteration)
}

pub(super) fn environment(site: &Site<'_>, current: &Current) -> Result<Vec<(OsString, OsString)>, RunError> {
    let variables = IterationVariables {
        run: &current.run,
        iteration: current.iteration,
        total: site.config.limits.iterations,
        model: current.model.as_deref(),
        marker: &current.marker,
        programs: &program_folder(&site.runs, &current.run, &site.program)?,
    };
    Ok(environment_for(
        site.environment.clone(),
        site.config.agent.env,
        &variables,
    ))
}

impl Runner<'_> {
    /// The files that the agent works on; snapshot data goes to the run's scratch folder.
    pub(super) fn project_files(&self, current: &Current) -> Result<ProjectFiles, RunError> {
        let site = self.site;
        let scratch = scratch_folder(&site.runs, &current.run)?;
        let root = self.work_root(current);
        Ok(match self.checkout(current)? {
            Some(checkout) => ProjectFiles::of_checkout(&root, &scratch, site.own.clone(), checkout.repository()),
            None => ProjectFiles::new(&root, &scratch, site.own.clone()),
        })
    }

    /// The scratchpad of an iteration; each checkout has its own.
    pub(super) fn scratchpad(&self, current: &Current) -> Scratchpad<'_> {
        let path = self.work_root(current).join(self.site.scratchpad_path());
        self.site.scratchpad.at(path)
    }

    /// The programs that git runs automatically for the work of an iteration.
    pub(super) fn programs(&self, current: &Current) -> GitPrograms {
        match current.place {
            Place::Project => GitPrograms::of(&self.site.root),
            Place::Checkout => GitPrograms::of_checkout(&self.site.root, &self.work_root(current)),
        }
    }

    /// The configuration files that evidence depends on. In a checkout this includes its own copy, which lands with the
    /// work.
    pub(super) fn config_files(&self, current: &Current) -> Vec<PathBuf> {
        let mut files = self.site.config_files.clone();
        if current.place == Place::Checkout {
            let in_checkout = files.iter().filter_map(|file| file.strip_prefix(&self.site.root).ok());
            let in_checkout: Vec<PathBuf> = in_checkout.map(|file| self.work_root(current).join(file)).collect();
            files.extend(in_checkout);
        }
        files
    }

    /// Frees the claims of dead runs, claims the next task and loads its history.
    pub(super) fn claim(&mut self, iteration: u32, pauses: &Pauses) -> Result<Input, RunError> {
        let site = self.site;
        let now = site.clock.now();
        self.store.free_dead_claims(&RunProcess::is_alive, now)?;
        let commits_here = self.commits_here()?;
        // The pid makes the marker unique across runs.
        let marker = format!("{:016x}-{}", self.entropy.next_bits(), site.process.pid);
        let answer = self.store.claim_next(&ClaimRequest {
            run: &self.run,
            iteration,
            scope: &self.order.scope,
            worktree: &site.worktree,
            commits_here: &commits_here,
            marker: &marker,
            lease: LEASE,
            verifier: self.order.other_verifier(),
            pause_policy: match pauses {
                Pauses::Heeded => PausePolicy::Respect,
                Pauses::HeededBut(waited) => PausePolicy::Except(waited),
                Pauses::Ignored => PausePolicy::Ignore,
            },
            now,
        })?;
        let past = match &answer {
            ClaimAnswer::Claimed(claim) => {
                let rule = Rule::of(site.config, self.order.model.as_deref());
                match Past::gather(&self.store, &claim.task, &rule) {
                    Ok(past) => past,
                    Err(error) => {
                        // A retry claims again.
                        self.store.abandon_claim(&self.run, now)?;
                        return Err(error.into());
                    }
                }
            }
            ClaimAnswer::Busy { .. } | ClaimAnswer::Paused(_) | ClaimAnswer::Nothing(_) => Past::default(),
        };
        Ok(Input::ClaimAnswered { answer, past })
    }

    pub(super) fn count(&mut self) -> Result<Input, RunError> {
        Ok(Input::Counted(self.standing(&self.order.scope)?))
    }

    /// Counts the tasks of a scope by status.
    pub(super) fn standing(&self, scope: &Scope) -> Result<ScopeCounts, RunError> {
        let commits_here = self.commits_here()?;
        Ok(self.store.scope_counts(scope, &self.site.worktree, &commits_here)?)
    }

    /// The commits of other worktrees' tasks that are also here. Git runs only if there are such tasks.
    fn commits_here(&self) -> Result<BTreeSet<String>, RunError> {
        let elsewhere = self.store.commits_of_other_worktrees(&self.site.worktree)?;
        if elsewhere.is_empty() {
            return Ok(elsewhere);
        }
        let revision = self.base.as_ref().map_or("HEAD", Base::reference);
        commits_in(&self.site.root, revision, &elsewhere).map_err(|error| RunError::Other(error.to_string()))
    }

    /// Compares the note files with their log, so that a direct edit is credited to the right iteration. If that fails,
    /// the next command that changes a note does it.
    pub(super) fn record_note_edits(&mut self) {
        for note_repository in &self.site.notes {
            if let Err(error) = note_repository.sync_log() {
                let warning = format!(
                    "Could not record direct edits of {}: {error}",
                    note_repository.path.display()
                );
                self.watch.tell(&RunEvent::Warning(&warning));
            }
        }
        let now = self.site.clock.now();
        if let Err(error) = self.site.knowledge.sync_log(&mut self.store, now) {
            let warning = format!("Could not record direct edits of knowledge entries: {error}");
            self.watch.tell(&RunEvent::Warning(&warning));
        }
    }

    /// Takes a snapshot, writes the prompt and records both.
    pub(super) fn prepare(&mut self, current: &Current, gates: (&[String], &[BrokenGate])) -> Result<Input, RunError> {
        let Some(task) = self.store.task(&current.task)? else {
            return Err(RunError::Other(format!("the task {} was deleted", current.task)));
        };
        self.copy_notes(current)?;
        self.record_note_edits();
        let Composed {
            materials,
            problems,
            prompt,
        } = self.compose(&task, current, gates)?;
        let overflowed_before = materials.overflowed_before();
        for problem in &problems {
            self.watch.tell(&RunEvent::Warning(problem));
        }
        let folder = folder_of(self.site, current);
        folder.create()?;
        folder.write("prompt.md", &prompt.text)?;
        let files = self.project_files(current)?;
        let before = files.snapshot();
        let is_whole = before.degraded.is_none() && before.without_git.is_none();
        if !is_whole && self.volumes().are_full() {
            return Err(RunError::disk_full());
        }
        if let Some(reason) = &before.degraded {
            self.watch
                .tell(&RunEvent::Warning(&format!("Some changes may be missed: {reason}")));
        }
        let basis = self.evidence_basis(current);
        let dirty = self.dirty_files(&files, current, &basis.git)?;
        let before = serde_json::to_string(&Before {
            files: &before,
            place: current.place,
            asked: TaskTexts::of(materials.task(), materials.parent()),
            basis,
        })?;
        self.store.record_start(
            &self.run,
            &Start {
                model: current.model.as_deref(),
                rationale: &current.rationale,
                before: &before,
                dirty: dirty.as_deref(),
                prompt_sha256: Some(&sha256(&prompt.text)),
                injections: &prompt.injections,
                at: self.site.clock.now(),
            },
        )?;
        let shown = |injection: &&ralph_model::Injection| {
            injection.reason == InjectionReason::Shown && injection.kind.is_memory()
        };
        self.turn = Some(Turn {
            role: Role::Worker {
                attempt: materials.attempt(self.site.config),
                shown: prompt.injections.iter().filter(shown).count(),
            },
            current: current.clone(),
            prompt: prompt.text,
            transcript: None,
            cleaner: TranscriptCleaner::default(),
            lines_missing: false,
            running: None,
            started: std::time::Instant::now(),
        });
        Ok(Input::Prepared {
            before,
            overflowed_before,
            spent_before: self.store.spent_on(&current.task)?,
        })
    }

    /// The current evidence basis of an iteration.
    fn evidence_basis(&self, current: &Current) -> EvidenceBasis {
        let commands = self.site.config.verify.commands.iter().chain(&current.checks);
        let commands: Vec<String> = commands.map(|command| mask(command).into_owned()).collect();
        EvidenceBasis::of(
            &self.work_root(current),
            self.programs(current),
            self.site.home(),
            &self.config_files(current),
            &commands,
        )
    }

    /// The files with uncommitted changes before the first attempt, which must not be committed with the task.
    fn dirty_files(
        &mut self,
        files: &ProjectFiles,
        current: &Current,
        programs: &GitPrograms,
    ) -> Result<Option<Vec<String>>, RunError> {
        if self.site.config.git.commit != Commit::Task || current.place == Place::Checkout {
            return Ok(None);
        }
        let changed = self.unreviewed_programs(&current.task, programs)?;
        let dirty = if changed.is_empty() {
            files.dirty_files()
        } else {
            // Git would run filters that no one has reviewed.
            Err(changed_without_review(&changed))
        };
        Ok(match dirty {
            Ok(dirty) => Some(dirty.iter().map(|file| recorded_name(file)).collect()),
            Err(reason) => {
                let warning = format!("The files of this task will not be committed: {reason}");
                self.watch.tell(&RunEvent::Warning(&warning));
                None
            }
        })
    }

    fn compose(
        &self,
        task: &Task,
        current: &Current,
        (red_gates, broken_gates): (&[String], &[BrokenGate]),
    ) -> Result<Composed, RunError> {
        let site = self.site;
        let scratchpad = self.scratchpad(current).read();
        let scratchpad = scratchpad.map_err(|error| RunError::Other(error.to_string()))?;
        let now = site.clock.now();
        // Kinds of notes that are switched off stay out of the prompt, even if their files cannot be read.
        let kinds = NoteFileKind::injected(site.config);
        let sources = Sources::KNOWLEDGE.and_facts(&self.store);
        Ok(SearchIndex::ask(&site.index, (&kinds, sources), |index| {
            let materials = Materials::gather((index, &self.store), task.clone(), Some(&self.run), now)?;
            let feature = materials.feature().map(|feature| site.features.read(&feature.name));
            let request = materials.request(&PromptContext {
                iteration_info: Some(IterationInfo {
                    iteration: current.iteration,
                    of: site.config.limits.iterations,
                    model: current.model.as_deref(),
                    rationale: &current.rationale,
                }),
                feature: feature.as_ref(),
                red_gates,
                broken_gates,
                in_checkout: current.place == Place::Checkout,
                scratchpad: &scratchpad,
                config: site.config,
                today: now.to_zoned(TimeZone::UTC).date(),
                share: self.order.share,
            });
            let prompt = compose(index, &request)?;
            Ok(Composed {
                problems: feature.map(|feature| feature.problems).unwrap_or_default(),
                materials,
                prompt,
            })
        })?)
    }
}

/// The prompt of an iteration and what it was made of.
struct Composed {
    materials: Materials,
    /// Why texts of the feature are missing.
    problems: Vec<String>,
    prompt: Prompt,
}
