//! Which lessons are parts of others. One that was merged into another is; one that another merely took the place of says
//! something else, and is not.

use ralph_model::Learning;

/// What is true where the row `member`, which `survivor` stands in the place of, was merged into it.
pub(super) const IS_PART: &str = "(member.status = 'pruned' AND (survivor.content = member.content
     OR json_valid(survivor.examples)
        AND EXISTS (SELECT 1 FROM json_each(survivor.examples) WHERE value = member.content)))";

/// Whether a pruned lesson was merged into the one that stands in its place: whoever takes in another keeps its words.
pub(super) fn is_part_of(member: &Learning, survivor: &Learning) -> bool {
    survivor.content == member.content || survivor.examples.contains(&member.content)
}
