//! Candidate retrieval: the entries that share the most distinctive words with a question.
//!
//! Reading a term's postings costs as much as the list is long, and a task of two hundred words has many common terms.
//! So only the rarest terms are read, up to a limit; the others count when the candidates are scored.

use ralph_store::index::DocFeatures;

use super::Reach;
use super::corpus::Corpus;
use super::numbers::NumberMap;
use super::question::Terms;

/// Terms that are looked up however common they are.
const LEAST_TERMS: usize = 2;

/// The candidates for a question, those that share most with it first.
pub(super) fn candidates<C: Corpus>(corpus: &C, reach: Reach, terms: &Terms) -> Result<Vec<DocFeatures>, C::Error> {
    let shared = sharing(corpus, reach, terms)?;
    let mut ranked: Vec<(i64, f64)> = shared.into_iter().collect();
    ranked.sort_unstable_by(|(number, weight), (later, heavier)| heavier.total_cmp(weight).then(later.cmp(number)));
    let most = match reach {
        Reach::Best(most) => most.max(C::MAX_CANDIDATES),
        Reach::All => usize::MAX,
    };
    let mut chosen = Vec::new();
    // Ties are taken together where entry numbers carry no meaning: which of them is best is known only after scoring.
    for alike in ranked.chunk_by(|(_, one), (_, other)| one.total_cmp(other).is_eq()) {
        for batch in alike.chunks(C::TIE_BATCH) {
            if chosen.len() >= most {
                return Ok(chosen);
            }
            let numbers: Vec<i64> = batch.iter().map(|(number, _)| *number).collect();
            chosen.extend(corpus.outlines(&numbers)?);
        }
    }
    Ok(chosen)
}

/// The entries that share distinctive words with a question, with the summed weight of these words.
pub(super) fn sharing<C: Corpus>(corpus: &C, reach: Reach, terms: &Terms) -> Result<NumberMap<i64, f64>, C::Error> {
    let mut shared: NumberMap<i64, f64> = NumberMap::default();
    let mut places = 0;
    for (position, asked) in terms.known.iter().filter(|asked| asked.distinctive).enumerate() {
        places += asked.known.entries;
        if reach != Reach::All && position >= LEAST_TERMS && places > C::MAX_POSTINGS {
            break;
        }
        corpus.entries_with(&asked.known, &mut |entry| {
            *shared.entry(entry).or_default() += asked.weight;
        })?;
    }
    Ok(shared)
}
