//! Finds the existing entry that a new one is about: the same title, or a similar title and shared tags.

use std::cmp::Ordering;

use ralph_notes::{Knowledge, cleaned_tags, title_key};

/// The compared parts of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outline {
    pub(super) file: String,
    /// Normalised for comparison.
    pub(super) title: String,
    /// Normalised for comparison.
    tags: Vec<String>,
}

impl Outline {
    pub(super) fn new(file: &str, title: &str, tags: &[String]) -> Self {
        Self {
            file: file.to_owned(),
            title: title_key(title),
            tags: cleaned_tags(tags.iter().map(String::as_str)),
        }
    }

    /// The outline of a file; `None` without valid frontmatter.
    pub(super) fn read(file: &str, bytes: &[u8]) -> Option<Self> {
        let note = Knowledge::parse(bytes).ok()?;
        Some(Self::new(file, &note.title, &note.tags))
    }
}

/// The entry that a new one updates: the one with the same title, ignoring case; else one with a similar title and more
/// than half of the tags of the smaller set in common. Among several, the highest overlap wins, then the file name.
pub(super) fn same_note<'o>(new: &Outline, known: &'o [Outline]) -> Option<&'o Outline> {
    let by_title = known.iter().filter(|old| old.title == new.title);
    by_title.min_by_key(|old| &old.file).or_else(|| {
        known
            .iter()
            .filter(|old| similar_titles(&old.title, &new.title))
            .map(|old| (Overlap::of(&old.tags, &new.tags), old))
            .filter(|(overlap, _)| overlap.is_over_half())
            .max_by(|(a, one), (b, other)| a.order(*b).then_with(|| other.file.cmp(&one.file)))
            .map(|(_, old)| old)
    })
}

/// Whether one title contains the other as whole words that are at least half of its words.
fn similar_titles(one: &str, other: &str) -> bool {
    let (one, other) = (words(one), words(other));
    let (shorter, longer) = if one.len() <= other.len() {
        (one, other)
    } else {
        (other, one)
    };
    !shorter.is_empty()
        && shorter.len() * 2 >= longer.len()
        && longer.windows(shorter.len()).any(|part| part == shorter)
}

fn words(title: &str) -> Vec<&str> {
    title
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect()
}

/// The number of shared tags, and of tags in the smaller set.
#[derive(Debug, Clone, Copy)]
struct Overlap {
    shared: usize,
    fewer: usize,
}

impl Overlap {
    fn of(a: &[String], b: &[String]) -> Self {
        Self {
            shared: a.iter().filter(|tag| b.contains(tag)).count(),
            fewer: a.len().min(b.len()),
        }
    }

    fn is_over_half(self) -> bool {
        self.shared * 2 > self.fewer
    }

    /// Compares the shares exactly, without rounding.
    fn order(self, other: Self) -> Ordering {
        (self.shared * other.fewer).cmp(&(other.shared * self.fewer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(file: &str, title: &str, tags: &str) -> Outline {
        let tags: Vec<String> = tags.split(',').map(str::to_owned).collect();
        Outline::new(file, title, &tags)
    }

    #[track_caller]
    fn check(rule: &str, known: &[(&str, &str, &str)], (title, tags): (&str, &str), expected: Option<&str>) {
        let mut known: Vec<Outline> = known
            .iter()
            .map(|(file, title, tags)| outline(file, title, tags))
            .collect();
        for _ in 0..2 {
            let found = same_note(&outline("", title, tags), &known).map(|old| old.file.as_str());
            assert_eq!(found, expected, "{rule}");
            // The order of the known entries must not matter.
            known.reverse();
        }
    }

    #[test]
    fn same_title_in_any_case_matches() {
        let known = [
            ("a.md", "Cargo Bench", "x"),
            ("b.md", "cargo bench requires nightly", "y,z"),
        ];
        check("whatever the tags", &known, ("CARGO BENCH", "y,z"), Some("a.md"));
        check(
            "also in other scripts",
            &[("a.md", "ΜΝΉΜΗ Größe", "x")],
            ("μνήμη GRÖßE", "y"),
            Some("a.md"),
        );
        check(
            "blanks around it do not count",
            &known,
            ("  cargo bench ", "q"),
            Some("a.md"),
        );
        let copies = [("b.md", "One", "x"), ("a.md", "one", "x"), ("c.md", "ONE", "x")];
        check("of several the first by its file", &copies, ("one", "x"), Some("a.md"));
        let near = [("a.md", "One two", "x,y"), ("b.md", "One", "z")];
        check("the title comes before the tags", &near, ("one", "x,y"), Some("b.md"));
    }

    #[test]
    fn contained_title_and_half_of_the_tags_match() {
        let known = [("a.md", "SQLite WAL mode", "database,sqlite,wal")];
        let long = "sqlite wal mode for concurrency";
        for (rule, new, expected) in [
            (
                "two of three, and the new title contains the old one",
                (long, "sqlite,WAL,readers"),
                true,
            ),
            ("one of two is not more than half", (long, "sqlite,readers"), false),
            ("one of one is all of the smaller set", (long, "wal"), true),
            ("the new title is in the old one", ("WAL mode", "database,wal"), true),
            (
                "all tags, but neither title contains the other",
                ("WAL in SQLite", "database,sqlite,wal"),
                false,
            ),
            ("titles alone are not enough", (long, "readers,writers"), false),
            ("two of three in the smaller set", (long, "sqlite,wal,a,b"), true),
            ("one of three is less than half", (long, "wal,a,b,c"), false),
        ] {
            check(rule, &known, new, expected.then_some("a.md"));
        }
    }

    #[test]
    fn similar_titles_share_at_least_half_of_the_words() {
        let known = [("a.md", "Payments API versioning", "api,payments")];
        let tags = "api,payments";
        for (title, expected) in [
            ("API", false),
            ("Payments", false),
            ("Payments API", true),
            ("API versioning", true),
            ("api-versioning!", true),
            ("API version", false),
            ("Payments versioning", false),
            ("Payments API versioning for the partners", true),
            ("How payments API versioning works for partners", false),
            ("?", false),
        ] {
            check(title, &known, (title, tags), expected.then_some("a.md"));
        }
        check("no words", &[("a.md", "?", "x")], ("!", "x"), None);
    }

    #[test]
    fn highest_overlap_wins_then_the_file_name() {
        let known = [
            ("d.md", "Compose ports", "a,b,c"),
            ("c.md", "Docker compose", "a,b,c,d"),
            ("b.md", "Docker compose ports", "a,b,c,d"),
            ("z.md", "In docker compose ports in", "a,b,c"),
        ];
        check(
            "three of three before three of four",
            &known,
            ("docker compose ports in", "a,b,c,e"),
            Some("d.md"),
        );
        let known = &known[1..3];
        check(
            "the same overlap: the first by its file",
            known,
            ("docker compose ports in", "a,b,c,e"),
            Some("b.md"),
        );
        let thirds = [("a.md", "T u", "a,b,x"), ("b.md", "T u v w", "a,b,c,d,y,z")];
        check(
            "two of three is as much as four of six",
            &thirds,
            ("T u v", "a,b,c,d,e,f"),
            Some("a.md"),
        );
    }

    #[test]
    fn anything_else_is_a_new_entry() {
        check("nothing is known", &[], ("One", "a"), None);
        check("other titles, other tags", &[("a.md", "Two", "b")], ("One", "a"), None);
    }
}
