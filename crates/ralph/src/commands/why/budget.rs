//! Finds the setting that limited a section of a prompt.

use ralph_memory::inject::prompt::KNOWLEDGE_BASE;
use ralph_model::config::Config;
use ralph_model::{EntryKind, Injection, InjectionReason, Tokens};

/// The current setting that limited a section. It is not recorded: it is the section's own budget, unless the total
/// budget was exceeded.
pub(super) fn over_budget(config: &Config, all: &[&Injection], section: &str) -> String {
    let of_reason = |reason| move |injection: &&&Injection| injection.reason == reason;
    let here = || all.iter().filter(|injection| injection.section == section);
    let shown_here = sum(here().filter(of_reason(InjectionReason::Shown)).copied());
    // Text about a feature does not count against the memory budget.
    let memory = all.iter().filter(|injection| injection.kind.is_memory());
    let shown = sum(memory.filter(of_reason(InjectionReason::Shown)).copied());
    let left_out = here().filter(of_reason(InjectionReason::OverBudget));
    let smallest = left_out.map(|injection| injection.tokens.0).min().unwrap_or_default();
    let total = ("[context] budget", config.context.budget);
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
        _ => total,
    };
    let is_over = |(_, budget): (&str, Tokens), shown: u32| budget.0 > 0 && shown.saturating_add(smallest) > budget.0;
    let is_own = is_over(own, shown_here) || (own.1.0 > 0 && !is_over(total, shown));
    let (key, budget) = if is_own { own } else { total };
    format!("over budget: {key} = {budget}")
}

/// Whether a learning of earlier runs was within budget, so that it was left out because others match better.
pub(super) fn had_budget(config: &Config, all: &[&Injection], learning: &Injection) -> bool {
    let budget = config.context.knowledge_base.0;
    let shown = all
        .iter()
        .filter(|injection| injection.section == learning.section && injection.reason == InjectionReason::Shown);
    learning.section == KNOWLEDGE_BASE
        && (budget == 0
            || sum(shown.copied())
                .saturating_add(learning.tokens.0)
                .saturating_add(SECTION_OVERHEAD)
                <= budget)
}

/// The tokens of headings and of the line about learnings left out.
const SECTION_OVERHEAD: u32 = 80;

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
    fn over_budget_names_the_limiting_setting() {
        let config = Config::default();
        let check = |all: &[Injection], section: EntryKind, expected: &str| {
            let all: Vec<&Injection> = all.iter().collect();
            assert_eq!(over_budget(&config, &all, section.word()), expected);
        };
        let (shown, left_out) = (InjectionReason::Shown, InjectionReason::OverBudget);
        let memories = [
            injection(EntryKind::Memory, 1990, shown),
            injection(EntryKind::Memory, 20, left_out),
        ];
        check(&memories, EntryKind::Memory, "over budget: [memories] budget = 2000");
        let reports = [
            injection(EntryKind::Report, 700, shown),
            injection(EntryKind::Report, 90, left_out),
        ];
        check(&reports, EntryKind::Report, "over budget: [context] attempts = 750");
        let all = [
            injection(EntryKind::Guardrail, 7990, shown),
            injection(EntryKind::Journal, 20, left_out),
        ];
        check(&all, EntryKind::Journal, "over budget: [context] budget = 8000");
        let mut known = [
            injection(EntryKind::Learning, 400, shown),
            injection(EntryKind::Learning, 20, left_out),
        ];
        known
            .iter_mut()
            .for_each(|it| KNOWLEDGE_BASE.clone_into(&mut it.section));
        let all: Vec<&Injection> = known.iter().collect();
        assert_eq!(
            over_budget(&config, &all, KNOWLEDGE_BASE),
            "over budget: [context] knowledge_base = 1000"
        );
        assert!(had_budget(&config, &all, &known[1]));
        let long = Injection {
            tokens: Tokens(521),
            ..known[1].clone()
        };
        assert!(!had_budget(&config, &all, &long));
        let unclear = [injection(EntryKind::Journal, 20, left_out)];
        check(&unclear, EntryKind::Journal, "over budget: [context] journal = 3000");
    }
}
