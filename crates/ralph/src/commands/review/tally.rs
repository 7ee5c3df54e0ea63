//! What a person has done in a review, counted.

use ralph_model::count;

/// What became of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    /// A task is to be tried again.
    Reset,
    /// A finished task is accepted.
    Accepted,
    /// The work of a task is undone.
    Undone,
    /// A lesson holds.
    Promoted,
    /// A lesson does not hold.
    Rejected,
    /// Of two lessons one holds, or both do.
    Settled,
    /// What an agent proposed was accepted.
    ProposalAccepted,
    /// What an agent proposed was rejected.
    Refused,
    /// A note is back.
    Restored,
    /// A note may stay gone.
    LetGo,
    /// It was left as it is.
    Left,
    /// What was answered before says what becomes of it; it was not asked about.
    SettledAlong,
    /// Somebody else has settled it meanwhile.
    Overtaken,
}

/// How often which deed was done.
#[derive(Debug, Default)]
pub(super) struct Tally(Vec<Deed>);

impl Tally {
    pub(super) fn add(&mut self, deed: Deed) {
        self.0.push(deed);
    }

    /// All of it in a sentence, with what is left of so many things.
    pub(super) fn sentence(&self, of: usize) -> String {
        let left = of - self.0.iter().filter(|deed| **deed != Deed::Left).count().min(of);
        let deeds = [
            (Deed::Reset, "task reset", "tasks reset"),
            (Deed::Accepted, "task accepted", "tasks accepted"),
            (Deed::Undone, "task undone", "tasks undone"),
            (Deed::Promoted, "lesson promoted", "lessons promoted"),
            (Deed::Rejected, "lesson rejected", "lessons rejected"),
            (Deed::Settled, "contradiction settled", "contradictions settled"),
            (Deed::ProposalAccepted, "proposal accepted", "proposals accepted"),
            (Deed::Refused, "proposal rejected", "proposals rejected"),
            (Deed::Restored, "note brought back", "notes brought back"),
            (Deed::LetGo, "note let go", "notes let go"),
            (Deed::Overtaken, "settled by somebody else", "settled by somebody else"),
        ];
        let said = deeds.into_iter().filter_map(|(deed, one, many)| {
            let done = self.0.iter().filter(|other| **other == deed).count();
            (done > 0).then(|| count(done, one, many))
        });
        let mut said: Vec<String> = said.collect();
        if said.is_empty() {
            said.push("Nothing has changed".to_owned());
        }
        let still = match left {
            0 => "nothing waits any more".to_owned(),
            left => format!("{left} still {}", if left == 1 { "waits" } else { "wait" }),
        };
        format!("{}; {still}.", said.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deeds_are_counted_in_a_sentence() {
        let mut tally = Tally::default();
        assert_eq!(tally.sentence(2), "Nothing has changed; 2 still wait.");
        for deed in [Deed::Promoted, Deed::Reset, Deed::Promoted, Deed::Left] {
            tally.add(deed);
        }
        assert_eq!(tally.sentence(4), "1 task reset, 2 lessons promoted; 1 still waits.");
        assert_eq!(
            tally.sentence(3),
            "1 task reset, 2 lessons promoted; nothing waits any more."
        );
        tally.add(Deed::SettledAlong);
        assert_eq!(tally.sentence(5), "1 task reset, 2 lessons promoted; 1 still waits.");
    }
}
