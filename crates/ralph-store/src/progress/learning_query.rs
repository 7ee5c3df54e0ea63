//! Lessons that are asked for by what they are, as a few of many: which are wanted is decided before any is read whole.

use ralph_model::{LearningKind, TaskType};
use rusqlite::ToSql;

use super::Store;
use super::columns::{parsed, to_json};
use super::learning_lists::LearningFilter;
use super::learning_search::{LearningOutline, read_outline};
use crate::StoreError;

/// Which lessons are wanted of those that hold or wait for support.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LearningQuery {
    /// What they are. How far they have come and where they were learned is not asked.
    pub filter: LearningFilter,
    /// How sure they are at least.
    pub min_confidence: f64,
    /// How often what they say succeeds at least.
    pub min_success_rate: f64,
    /// Parts of paths, of which one has to stand among the files that show them.
    pub files: Vec<String>,
}

/// What decides how well a lesson is supported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearningStrength {
    /// Its number; later ones have higher numbers.
    pub number: i64,
    /// What kind of lesson it is.
    pub kind: LearningKind,
    /// How sure it is.
    pub confidence: f64,
    /// How often what it says succeeds.
    pub success_rate: f64,
    /// How often it was used.
    pub use_count: u32,
}

impl Store {
    /// What decides how well those lessons are supported that are wanted, in no order.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn learning_strengths(
        &self,
        query: &LearningQuery,
        visit: &mut dyn FnMut(LearningStrength),
    ) -> Result<(), StoreError> {
        let walked = (|| {
            let asked = Asked::of(query)?;
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

    /// The outlines of those of these lessons that are wanted, in the order of their numbers here.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn wanted_outlines(&self, numbers: &[i64], query: &LearningQuery) -> Result<Vec<LearningOutline>, StoreError> {
        let outlines = (|| {
            let asked = Asked::of(query)?;
            // Each by itself would take and leave the lock of the database.
            let moment = self.look()?;
            let mut statement = moment.prepare_cached(&format!(
                "SELECT seq, id, status, superseded_by, created_at, terms FROM learnings WHERE seq = :number AND {}",
                asked.condition
            ))?;
            let mut outlines = Vec::new();
            for number in numbers {
                let mut parameters = asked.parameters();
                parameters.push((":number", number));
                outlines.extend(self.passing_over(statement.query_row(parameters.as_slice(), read_outline))?);
            }
            Ok(outlines)
        })();
        self.sql(outlines)
    }
}

/// A question as a condition. It names only what is asked: all but categories, tags and files is in one index, and where they
/// are not asked no row has to be read to see which are wanted.
struct Asked {
    condition: String,
    parameters: Vec<(&'static str, Box<dyn ToSql>)>,
}

impl Asked {
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
