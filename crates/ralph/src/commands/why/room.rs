//! Which setting left no room in a section of a prompt.

use ralph_memory::inject::prompt::KNOWLEDGE_BASE;
use ralph_model::config::Config;
use ralph_model::{EntryKind, Injection, InjectionReason, Tokens};

/// The setting that left no room in a section, as the configuration has it now. Which one it was is not on record: it is
/// the section's own, unless all sections together took more than they may.
pub(super) fn no_room(config: &Config, all: &[&Injection], section: &str) -> String {
    let of_reason = |reason| move |injection: &&&Injection| injection.reason == reason;
    let here = || all.iter().filter(|injection| injection.section == section);
    let shown_here = sum(here().filter(of_reason(InjectionReason::Shown)).copied());
    // What is written about a feature takes nothing of the memory's room.
    let memory = all.iter().filter(|injection| injection.kind.is_memory());
    let shown = sum(memory.filter(of_reason(InjectionReason::Shown)).copied());
    let left_out = here().filter(of_reason(InjectionReason::OverBudget));
    let smallest = left_out.map(|injection| injection.tokens.0).min().unwrap_or_default();
    let together = ("[context] budget", config.context.budget);
    let own = match here().next().map(|injection| injection.kind) {
        Some(EntryKind::Memory) => ("[memories] budget", config.memories.budget),
        Some(EntryKind::Guardrail) => ("[guardrails] budget", config.guardrails.budget),
        Some(EntryKind::Scratchpad) => ("[scratchpad] budget", config.scratchpad.budget),
        Some(EntryKind::Report) => ("[context] attempts", config.context.attempts),
        Some(EntryKind::Journal) => ("[context] journal", config.context.journal),
        Some(EntryKind::Knowledge) => ("[context] knowledge", config.context.knowledge),
        Some(EntryKind::Learning) if section == KNOWLEDGE_BASE => {
            ("[context] knowledge_base", config.context.knowledge_base)
        }
        Some(EntryKind::Learning) => ("[context] learnings", config.context.learnings),
        _ => together,
    };
    let is_over = |(_, budget): (&str, Tokens), shown: u32| budget.0 > 0 && shown.saturating_add(smallest) > budget.0;
    let is_own = is_over(own, shown_here) || (own.1.0 > 0 && !is_over(together, shown));
    let (key, budget) = if is_own { own } else { together };
    format!("no room: {key} = {budget}")
}

/// Whether a lesson of earlier runs would have had room: of its kind others fit the task better then.
pub(super) fn had_room(config: &Config, all: &[&Injection], lesson: &Injection) -> bool {
    let budget = config.context.knowledge_base.0;
    let shown = all
        .iter()
        .filter(|injection| injection.section == lesson.section && injection.reason == InjectionReason::Shown);
    lesson.section == KNOWLEDGE_BASE
        && (budget == 0
            || sum(shown.copied())
                .saturating_add(lesson.tokens.0)
                .saturating_add(AROUND)
                <= budget)
}

/// What stands around the lessons of a section, in tokens: headings, and what is said of those that were left out.
const AROUND: u32 = 80;

fn sum<'a>(injections: impl Iterator<Item = &'a Injection>) -> u32 {
    injections.fold(0, |sum, injection| sum.saturating_add(injection.tokens.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn injection(kind: EntryKind, tokens: u32, reason: InjectionReason) -> Injection {
        Injection {
            kind,
            id: String::new(),
            digest: 0,
            section: kind.word().to_owned(),
            rank: 1,
            tokens: Tokens(tokens),
            score: None,
            reason,
        }
    }

    #[test]
    fn the_setting_is_named_that_had_no_room() {
        let config = Config::default();
        let check = |all: &[Injection], section: EntryKind, expected: &str| {
            let all: Vec<&Injection> = all.iter().collect();
            assert_eq!(no_room(&config, &all, section.word()), expected);
        };
        let (shown, left_out) = (InjectionReason::Shown, InjectionReason::OverBudget);
        let memories = [
            injection(EntryKind::Memory, 1990, shown),
            injection(EntryKind::Memory, 20, left_out),
        ];
        check(&memories, EntryKind::Memory, "no room: [memories] budget = 2000");
        let reports = [
            injection(EntryKind::Report, 700, shown),
            injection(EntryKind::Report, 90, left_out),
        ];
        check(&reports, EntryKind::Report, "no room: [context] attempts = 750");
        let all = [
            injection(EntryKind::Guardrail, 7990, shown),
            injection(EntryKind::Journal, 20, left_out),
        ];
        check(&all, EntryKind::Journal, "no room: [context] budget = 8000");
        let mut known = [
            injection(EntryKind::Learning, 400, shown),
            injection(EntryKind::Learning, 20, left_out),
        ];
        known
            .iter_mut()
            .for_each(|it| KNOWLEDGE_BASE.clone_into(&mut it.section));
        let all: Vec<&Injection> = known.iter().collect();
        assert_eq!(
            no_room(&config, &all, KNOWLEDGE_BASE),
            "no room: [context] knowledge_base = 1000"
        );
        assert!(had_room(&config, &all, &known[1]));
        let long = Injection {
            tokens: Tokens(521),
            ..known[1].clone()
        };
        assert!(!had_room(&config, &all, &long));
        let unclear = [injection(EntryKind::Journal, 20, left_out)];
        check(&unclear, EntryKind::Journal, "no room: [context] journal = 3000");
    }
}
