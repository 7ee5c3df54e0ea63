//! What an agent gets: its task, its prompt, its environment. All of it is on record before the agent starts.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use jiff::tz::TimeZone;
use ralph_agent::environment::{Told, environment_for};
use ralph_memory::capture::Scratchpad;
use ralph_memory::catalogue::Catalogue;
use ralph_memory::exchange::sha256;
use ralph_memory::inject::FeatureTexts;
use ralph_memory::inject::prompt::{BrokenGate, Circumstances, Materials, Prompt, Round, compose};
use ralph_memory::secrets::mask;
use ralph_model::config::Commit;
use ralph_model::{InjectionReason, Shelf};
use ralph_store::{ClaimAnswer, ClaimRequest, Heed, Scope, Standing, Start};

use super::before::{Asked, Before};
use super::{Role, RunError, Runner, Turn};
use crate::alive::is_alive;
use crate::basis::{EvidenceBasis, GitPrograms, changed_without_review};
use crate::changes::{ProjectFiles, commits_in, recorded_name};
use crate::checkout::Base;
use crate::heart::LEASE;
use crate::run_folder::{IterationFolder, program_folder, scratch_folder};
use crate::site::Site;
use crate::state::{Current, Happening, Pauses, Place};
use crate::strategy::{Past, Rule};
use crate::watch::News;

/// The folder of an iteration.
pub(super) fn folder_of(site: &Site<'_>, current: &Current) -> IterationFolder {
    IterationFolder::of(&site.runs, &current.run, current.iteration)
}

/// The environment of an iteration's agent.
pub(super) fn environment(site: &Site<'_>, current: &Current) -> Result<Vec<(OsString, OsString)>, RunError> {
    let told = Told {
        run: &current.run,
        iteration: current.iteration,
        total: site.config.limits.iterations,
        model: current.model.as_deref(),
        marker: &current.marker,
        programs: &program_folder(&site.runs, &current.run, &site.program)?,
    };
    Ok(environment_for(site.environment.clone(), site.config.agent.env, &told))
}

impl Runner<'_> {
    /// The files that the agent works on, with what snapshots need kept in the run's scratch folder.
    pub(super) fn project_files(&self, current: &Current) -> Result<ProjectFiles, RunError> {
        let site = self.site;
        let scratch = scratch_folder(&site.runs, &current.run)?;
        let root = self.work_root(current);
        Ok(match self.checkout(current)? {
            Some(checkout) => ProjectFiles::of_checkout(&root, &scratch, site.own.clone(), checkout.repository()),
            None => ProjectFiles::new(&root, &scratch, site.own.clone()),
        })
    }

    /// The scratchpad of an iteration: each checkout has its own.
    pub(super) fn scratchpad(&self, current: &Current) -> Scratchpad<'_> {
        let path = self.work_root(current).join(self.site.scratchpad_path());
        self.site.scratchpad.at(path)
    }

    /// What git runs by itself for the work of an iteration.
    pub(super) fn programs(&self, current: &Current) -> GitPrograms {
        match current.place {
            Place::Project => GitPrograms::of(&self.site.root),
            Place::Checkout => GitPrograms::of_checkout(&self.site.root, &self.work_root(current)),
        }
    }

    /// The configuration that evidence rests on: in a checkout also the file there, which lands with the work.
    pub(super) fn config_files(&self, current: &Current) -> Vec<PathBuf> {
        let mut files = self.site.config_files.clone();
        if current.place == Place::Checkout {
            let in_checkout = files.iter().filter_map(|file| file.strip_prefix(&self.site.root).ok());
            let in_checkout: Vec<PathBuf> = in_checkout.map(|file| self.work_root(current).join(file)).collect();
            files.extend(in_checkout);
        }
        files
    }

    /// Frees the claims of dead runs, claims the next task, and looks at what came before it.
    pub(super) fn claim(&mut self, iteration: u32, pauses: &Pauses) -> Result<Happening, RunError> {
        let site = self.site;
        let now = site.clock.now();
        self.store
            .free_dead_claims(&|process| is_alive(process, &site.process.host), now)?;
        let commits_here = self.commits_here()?;
        // With the process in it, no other run has the same, however random the bits are.
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
            heed: match pauses {
                Pauses::Heeded => Heed::Pauses,
                Pauses::HeededBut(waited) => Heed::But(waited),
                Pauses::Ignored => Heed::Nothing,
            },
            now,
        })?;
        let past = match &answer {
            ClaimAnswer::Claimed(claim) => {
                let rule = Rule::of(site.config, self.order.model.as_deref());
                match Past::gather(&self.store, &claim.task, &rule) {
                    Ok(past) => past,
                    Err(error) => {
                        // Whoever tries it again claims again.
                        self.store.abandon_claim(&self.run, now)?;
                        return Err(error.into());
                    }
                }
            }
            ClaimAnswer::Busy { .. } | ClaimAnswer::Paused(_) | ClaimAnswer::Nothing(_) => Past::default(),
        };
        Ok(Happening::Answered { answer, past })
    }

    /// How the tasks stand.
    pub(super) fn count(&mut self) -> Result<Happening, RunError> {
        Ok(Happening::Counted(self.standing(&self.order.scope)?))
    }

    /// How the tasks of a scope stand.
    pub(super) fn standing(&self, scope: &Scope) -> Result<Standing, RunError> {
        let commits_here = self.commits_here()?;
        Ok(self.store.standing(scope, &self.site.worktree, &commits_here)?)
    }

    /// Commits of other worktrees' tasks that are here too. git is asked only when there are such tasks.
    fn commits_here(&self) -> Result<BTreeSet<String>, RunError> {
        let elsewhere = self.store.commits_of_other_worktrees(&self.site.worktree)?;
        if elsewhere.is_empty() {
            return Ok(elsewhere);
        }
        let revision = self.base.as_ref().map_or("HEAD", Base::reference);
        commits_in(&self.site.root, revision, &elsewhere).map_err(|error| RunError::Other(error.to_string()))
    }

    /// Warns of lessons that were passed over because they cannot be read; of each once.
    pub(super) fn tell_unreadable(&mut self) {
        for lesson in self.store.newly_unreadable_learnings() {
            self.watch.tell(&News::Warning(&lesson.passed_over()));
        }
    }

    /// Compares the note files with their log, so that a direct edit is credited to the right iteration. Where that fails, the
    /// next command that changes a note finds it.
    pub(super) fn take_stock_of_notes(&mut self) {
        for notebook in &self.site.notes {
            if let Err(error) = notebook.take_stock() {
                let warning = format!("Direct edits of {} are not recorded: {error}", notebook.path.display());
                self.watch.tell(&News::Warning(&warning));
            }
        }
        let now = self.site.clock.now();
        if let Err(error) = self.site.knowledge.take_stock(&mut self.store, now) {
            let warning = format!("Direct edits of knowledge entries are not recorded: {error}");
            self.watch.tell(&News::Warning(&warning));
        }
    }

    /// Looks at the files, writes the prompt, puts both on record.
    pub(super) fn prepare(
        &mut self,
        current: &Current,
        gates: (&[String], &[BrokenGate]),
    ) -> Result<Happening, RunError> {
        let Some(task) = self.store.task(&current.task)? else {
            return Err(RunError::Other(format!("the task {} is gone", current.task)));
        };
        self.copy_notes(current)?;
        self.take_stock_of_notes();
        let materials = Materials::gather(&self.store, task, Some(&self.run), self.site.clock.now())?;
        self.tell_unreadable();
        let overflowed_before = materials.overflowed_before();
        let feature = materials
            .feature()
            .map(|feature| self.site.features.read(&feature.name));
        for problem in feature.iter().flat_map(|feature| &feature.problems) {
            self.watch.tell(&News::Warning(problem));
        }
        let prompt = self.compose(&materials, feature.as_ref(), current, gates)?;
        let folder = folder_of(self.site, current);
        folder.create()?;
        folder.write("prompt.md", &prompt.text)?;
        let files = self.project_files(current)?;
        let before = files.snapshot();
        let is_whole = before.degraded.is_none() && before.without_git.is_none();
        if !is_whole && self.places().are_full() {
            return Err(RunError::no_room());
        }
        if let Some(reason) = &before.degraded {
            self.watch
                .tell(&News::Warning(&format!("Not every change will be seen: {reason}")));
        }
        let basis = self.evidence_basis(current);
        let dirty = self.dirty_files(&files, current, &basis.git)?;
        let before = serde_json::to_string(&Before {
            files: &before,
            place: current.place,
            asked: Asked::of(materials.task(), materials.parent()),
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
            role: Role::Works {
                attempt: materials.attempt(self.site.config),
                shown: prompt.injections.iter().filter(shown).count(),
            },
            current: current.clone(),
            prompt: prompt.text,
            transcript: None,
            lines_missing: false,
            running: None,
            started: std::time::Instant::now(),
        });
        Ok(Happening::Prepared {
            before,
            overflowed_before,
            spent_before: self.store.spent_on(&current.task)?,
        })
    }

    /// What the evidence of an iteration rests on now.
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

    /// The files that have changes already, where those of the first attempt must not be committed with the task.
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
            // Git would run filters that no person has reviewed.
            Err(changed_without_review(&changed))
        };
        Ok(match dirty {
            Ok(dirty) => Some(dirty.iter().map(|file| recorded_name(file)).collect()),
            Err(reason) => {
                let warning = format!("The files of this task will not be committed: {reason}");
                self.watch.tell(&News::Warning(&warning));
                None
            }
        })
    }

    fn compose(
        &self,
        materials: &Materials,
        feature: Option<&FeatureTexts>,
        current: &Current,
        (red_gates, broken_gates): (&[String], &[BrokenGate]),
    ) -> Result<Prompt, RunError> {
        let site = self.site;
        let scratchpad = self.scratchpad(current).read();
        let scratchpad = scratchpad.map_err(|error| RunError::Other(error.to_string()))?;
        let request = materials.request(&Circumstances {
            round: Some(Round {
                iteration: current.iteration,
                of: site.config.limits.iterations,
                model: current.model.as_deref(),
                rationale: &current.rationale,
            }),
            feature,
            red_gates,
            broken_gates,
            in_checkout: current.place == Place::Checkout,
            scratchpad: &scratchpad,
            config: site.config,
            today: site.clock.now().to_zoned(TimeZone::UTC).date(),
            share: self.order.share,
        });
        // A shelf that is switched off is no matter of the prompt, also when its file cannot be read.
        let shelves = Shelf::in_prompts(site.config);
        Ok(Catalogue::ask_knowledge(&site.catalogue, &shelves, |catalogue| {
            compose(catalogue, &request)
        })?)
    }
}
