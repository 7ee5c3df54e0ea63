//! Distinguishes merged from superseded learnings: a merged one is part of another, a superseded one has other content.

use ralph_model::Learning;

/// SQL condition: the row `member` was merged into `survivor`, which supersedes it.
pub(super) const IS_PART: &str = "(member.status = 'pruned' AND (survivor.content = member.content
     OR EXISTS (SELECT 1 FROM json_each(survivor.examples) WHERE value = member.content)))";

/// Whether a pruned learning was merged into the one that supersedes it: a merge keeps the words of both.
pub(super) fn is_part_of(member: &Learning, survivor: &Learning) -> bool {
    survivor.content == member.content || survivor.examples.contains(&member.content)
}
