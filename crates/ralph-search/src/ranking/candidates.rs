//! Candidate retrieval: the documents that share the most distinctive words with a question.
//!
//! Reading the list of a word's documents costs as much as the list is long, and a task of two hundred words has many
//! common ones. So only the rarest words are read, up to a limit; the others count when the candidates are scored.

use super::numbers::NumberMap;
use super::question::Question;
use super::{Reach, Searcher};
use crate::index::{Doc, IndexError};

/// Words that are looked up however common they are.
const LEAST_WORDS: usize = 2;

impl Searcher<'_> {
    /// The accepted documents that share distinctive words with a question, those that share most first.
    ///
    /// # Errors
    /// When the index cannot be read, or a document cannot be checked.
    pub fn candidates<E: From<IndexError>>(
        &self,
        question: &Question,
        reach: Reach,
        accept: &mut dyn FnMut(&Doc) -> Result<bool, E>,
    ) -> Result<Vec<Doc>, E> {
        let mut ranked = self.sharing(question, reach)?;
        ranked.sort_unstable_by(|(number, weight), (later, heavier)| heavier.total_cmp(weight).then(later.cmp(number)));
        let most = match reach {
            Reach::Best(most) => most.max(self.limits.candidates),
            Reach::All => usize::MAX,
        };
        let mut chosen = Vec::new();
        for alike in ranked.chunk_by(|(_, one), (_, other)| one.total_cmp(other).is_eq()) {
            for batch in alike.chunks(self.limits.ties) {
                if chosen.len() >= most {
                    return Ok(chosen);
                }
                for doc in self.index.docs(batch.iter().map(|(number, _)| *number))? {
                    if accept(&doc)? {
                        chosen.push(doc);
                    }
                }
            }
        }
        Ok(chosen)
    }

    /// The numbers of the documents that share distinctive words with a question, with the summed weight of these
    /// words; unordered.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn sharing(&self, question: &Question, reach: Reach) -> Result<Vec<(i64, f64)>, IndexError> {
        let mut shared: NumberMap<i64, f64> = NumberMap::default();
        let mut read = 0;
        for (position, asked) in question.known.iter().filter(|asked| asked.distinctive).enumerate() {
            read += asked.known.docs;
            if reach != Reach::All && position >= LEAST_WORDS && read > self.limits.postings {
                break;
            }
            self.index.docs_with(&asked.known, self.kinds, &mut |number| {
                if self.among.is_none_or(|among| among.contains(&number)) {
                    *shared.entry(number).or_default() += asked.weight;
                }
            })?;
        }
        Ok(shared.into_iter().collect())
    }
}
