//! Queries for a few of many learnings: filters are applied before a row is read whole.

use ralph_model::{LearningKind, TaskType};
use rusqlite::ToSql;

use super::Store;
use super::columns::{parsed, to_json};
use super::learning_lists::LearningFilter;
use crate::StoreError;

/// Filter for learnings that are active or proposed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LearningQuery {
    /// Status and task are ignored.
    pub filter: LearningFilter,
    pub min_confidence: f64,
    pub min_success_rate: f64,
    /// Substrings of paths, one of which must occur in the files of its evidence.
    pub files: Vec<String>,
}

/// The fields that decide how well a learning is supported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearningStrength {
    /// Row number; later learnings have higher ones.
    pub number: i64,
    pub kind: LearningKind,
    pub confidence: f64,
    pub success_rate: f64,
    pub use_count: u32,
}

impl Store {
    /// Returns the strengths of the learnings that match, in no order.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learning_strengths(
        &self,
        query: &LearningQuery,
        visit: &mut dyn FnMut(LearningStrength),
    ) -> Result<(), StoreError> {
        let walked = (|| {
            let asked = QueryCondition::of(query)?;
            let mut statement = self.connection.prepare_cached(&format!(
                "SELECT seq, kind, confidence, success_rate, use_count FROM learnings INDEXED BY learnings_ranked
                 WHERE {}",
                asked.condition
            ))?;
            let mut rows = statement.query(asked.parameters().as_slice())?;
            while let Some(row) = rows.next()? {
                visit(LearningStrength {
                    number: row.get(0)?,
                    kind: parsed(row.get_ref(1)?.as_str()?, "kind", LearningKind::parse)?,
                    confidence: row.get(2)?,
                    success_rate: row.get(3)?,
                    use_count: row.get(4)?,
                });
            }
            Ok(())
        })();
        self.sql(walked)
    }

    /// Whether a learning matches.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn matches_query(&self, number: i64, query: &LearningQuery) -> Result<bool, StoreError> {
        let asked = self.sql(QueryCondition::of(query))?;
        let question = format!("SELECT 1 FROM learnings WHERE seq = :number AND {}", asked.condition);
        let mut parameters = asked.parameters();
        parameters.push((":number", &number));
        self.learning_exists(&question, parameters.as_slice())
    }
}

/// A query as an SQL condition that names only the fields it sets. One index covers all of them but categories, tags
/// and files; without these no row has to be read to see whether it matches.
struct QueryCondition {
    condition: String,
    parameters: Vec<(&'static str, Box<dyn ToSql>)>,
}

impl QueryCondition {
    fn of(query: &LearningQuery) -> rusqlite::Result<Self> {
        let filter = &query.filter;
        let mut asked = Self {
            condition: "status IN ('promoted', 'validated') AND superseded_by IS NULL
                        AND confidence >= :confidence AND success_rate >= :success"
                .to_owned(),
            parameters: vec![
                (":confidence", Box::new(query.min_confidence)),
                (":success", Box::new(query.min_success_rate)),
            ],
        };
        asked.and("kind = :kind", ":kind", filter.kind.map(LearningKind::word));
        asked.and("task_type = :type", ":type", filter.task_type.map(TaskType::word));
        asked.and("category = :category", ":category", filter.category.clone());
        let tagged = "EXISTS (SELECT 1 FROM json_each(tags) WHERE value = :tag)";
        asked.and(tagged, ":tag", filter.tag.clone());
        let files = Some(&query.files).filter(|files| !files.is_empty());
        asked.and(
            "EXISTS (SELECT 1 FROM json_each(:files) WHERE instr(coalesce(facts, '') || examples, value) > 0)",
            ":files",
            files.map(to_json).transpose()?,
        );
        Ok(asked)
    }

    fn and<T: ToSql + 'static>(&mut self, condition: &str, name: &'static str, value: Option<T>) {
        if let Some(value) = value {
            self.condition.push_str(" AND ");
            self.condition.push_str(condition);
            self.parameters.push((name, Box::new(value)));
        }
    }

    fn parameters(&self) -> Vec<(&'static str, &dyn ToSql)> {
        self.parameters
            .iter()
            .map(|(name, value)| (*name, value.as_ref()))
            .collect()
    }
}
