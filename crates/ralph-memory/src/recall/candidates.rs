//! Candidates: the entries that share the most telling words with a question.
//!
//! Walking through the list of a term costs as much as the list is long, and a task of two hundred words has many common
//! ones. So the rarest terms are walked through, up to a limit; the others are counted when the candidates are weighed.

use ralph_store::index::Outline;

use super::Reach;
use super::corpus::Corpus;
use super::numbers::NumberMap;
use super::question::Terms;

/// So many terms are looked for however common they are.
const LEAST_TERMS: usize = 2;

/// The entries that may fit a question, those first that share most.
pub(super) fn candidates<C: Corpus>(corpus: &C, reach: Reach, terms: &Terms) -> Result<Vec<Outline>, C::Error> {
    let shared = sharing(corpus, reach, terms)?;
    let mut ranked: Vec<(i64, f64)> = shared.into_iter().collect();
    ranked.sort_unstable_by(|(number, weight), (later, heavier)| heavier.total_cmp(weight).then(later.cmp(number)));
    let most = match reach {
        Reach::Best(most) => most.max(C::MOST_CANDIDATES),
        Reach::All => usize::MAX,
    };
    let mut chosen = Vec::new();
    // Those that share the same terms are taken together, as far as the corpus says that their numbers mean nothing: which
    // of them is the best is seen only when they are weighed.
    for alike in ranked.chunk_by(|(_, one), (_, other)| one.total_cmp(other).is_eq()) {
        for batch in alike.chunks(C::ALIKE) {
            if chosen.len() >= most {
                return Ok(chosen);
            }
            let numbers: Vec<i64> = batch.iter().map(|(number, _)| *number).collect();
            chosen.extend(corpus.outlines(&numbers)?);
        }
    }
    Ok(chosen)
}

/// The numbers of the entries that share telling words with a question, each with what these tell together.
pub(super) fn sharing<C: Corpus>(corpus: &C, reach: Reach, terms: &Terms) -> Result<NumberMap<i64, f64>, C::Error> {
    let mut shared: NumberMap<i64, f64> = NumberMap::default();
    let mut places = 0;
    for (position, asked) in terms.known.iter().filter(|asked| asked.telling).enumerate() {
        places += asked.known.entries;
        if reach != Reach::All && position >= LEAST_TERMS && places > C::MOST_PLACES {
            break;
        }
        corpus.entries_with(&asked.known, &mut |entry| {
            *shared.entry(entry).or_default() += asked.weight;
        })?;
    }
    Ok(shared)
}
