//! Data sets for recall: documents, queries, and graded answers.
//!
//! A set is a folder with three files: `docs.jsonl` and `queries.jsonl` have one object per line, `qrels.tsv` has
//! query, document and grade. No set is part of this repository.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::measures::Relevant;
use super::systems::Allowed;

const DOCUMENTS: &str = "docs.jsonl";
const QUERIES: &str = "queries.jsonl";
const GRADES: &str = "qrels.tsv";

#[derive(Debug)]
pub(super) struct Set {
    /// The folder name.
    pub(super) name: String,
    /// Separate projects: no query finds documents of another one.
    pub(super) projects: Vec<Project>,
    /// The number of queries, including those without answers.
    pub(super) queries: usize,
}

/// The documents and queries of one scope.
#[derive(Debug, Default)]
pub(super) struct Project {
    pub(super) documents: Vec<Document>,
    /// Only queries with answers.
    pub(super) queries: Vec<Query>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Document {
    pub(super) text: String,
    pub(super) created: Timestamp,
    id: String,
}

#[derive(Debug)]
pub(super) struct Query {
    pub(super) text: String,
    /// The allowed documents that answer the query.
    pub(super) relevant: Relevant,
    before: Option<Timestamp>,
    exclude: HashSet<String>,
}

impl Set {
    pub(super) fn documents(&self) -> usize {
        self.projects.iter().map(|project| project.documents.len()).sum()
    }
}

impl Query {
    /// Whether a document may be returned.
    fn allows(&self, document: &Document) -> bool {
        self.before.is_none_or(|before| document.created < before) && !self.exclude.contains(&document.id)
    }

    /// The documents of the project that may be returned.
    pub(super) fn allowed<'d>(&self, documents: &'d [Document]) -> Allowed<'d> {
        let excluded = |(place, document): (usize, &Document)| self.exclude.contains(&document.id).then_some(place);
        Allowed {
            documents,
            before: self.before,
            except: documents.iter().enumerate().filter_map(excluded).collect(),
        }
    }
}

/// The sets in a folder: the folder itself, or its subfolders, sorted by name.
pub(super) fn folders(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let is_set = |path: &Path| path.join(DOCUMENTS).is_file();
    if is_set(folder) {
        return Ok(vec![folder.to_owned()]);
    }
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    let inside = std::fs::read_dir(folder).map_err(failed)?;
    let mut folders = inside
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    folders.retain(|path| is_set(path));
    folders.sort();
    if folders.is_empty() {
        let folder = folder.display();
        return Err(format!("neither {folder} nor a folder in it contains {DOCUMENTS}"));
    }
    Ok(folders)
}

pub(super) fn load(folder: &Path) -> Result<Set, String> {
    let read = |name: &str| {
        let path = folder.join(name);
        let text = std::fs::read_to_string(&path);
        text.map_err(|error| format!("cannot read {}: {error}", path.display()))
    };
    let at = |name: &str, (line, what): (usize, String)| format!("{}:{line}: {what}", folder.join(name).display());
    let mut reader = Reader::default();
    each_line(&read(DOCUMENTS)?, |line| reader.document(line)).map_err(|error| at(DOCUMENTS, error))?;
    each_line(&read(QUERIES)?, |line| reader.query(line)).map_err(|error| at(QUERIES, error))?;
    each_line(&read(GRADES)?, |line| reader.grade(line)).map_err(|error| at(GRADES, error))?;
    let name = folder.file_name().unwrap_or(folder.as_os_str());
    Ok(reader.finish(name.to_string_lossy().into_owned()))
}

/// Passes every non-blank line to a reader, and adds the line number to errors.
fn each_line(text: &str, mut read: impl FnMut(&str) -> Result<(), String>) -> Result<(), (usize, String)> {
    for (number, line) in (1..).zip(text.lines()) {
        if !line.trim().is_empty() {
            read(line).map_err(|what| (number, what))?;
        }
    }
    Ok(())
}

/// A set while it is read.
#[derive(Debug, Default)]
struct Reader {
    scopes: BTreeMap<String, Project>,
    /// The scope and index of each document.
    documents: HashMap<String, (String, usize)>,
    queries: HashMap<String, (String, usize)>,
}

impl Reader {
    fn document(&mut self, line: &str) -> Result<(), String> {
        let object = Object::parse(line)?;
        let id = object.required("id")?;
        let document = Document {
            text: object.title_and_text()?,
            created: parse_time("created", object.required("created")?)?,
            id: id.to_owned(),
        };
        let scope = object.text("scope")?.unwrap_or_default();
        let documents = &mut self.scopes.entry(scope.to_owned()).or_default().documents;
        let place = (scope.to_owned(), documents.len());
        if self.documents.insert(id.to_owned(), place).is_some() {
            return Err(format!("duplicate document {id:?}"));
        }
        documents.push(document);
        Ok(())
    }

    fn query(&mut self, line: &str) -> Result<(), String> {
        let object = Object::parse(line)?;
        let id = object.required("id")?;
        let before = object.text("before")?;
        let query = Query {
            text: object.title_and_text()?,
            relevant: Vec::new(),
            before: before.map(|text| parse_time("before", text)).transpose()?,
            exclude: object.texts("exclude")?,
        };
        let scope = object.text("scope")?.unwrap_or_default();
        let queries = &mut self.scopes.entry(scope.to_owned()).or_default().queries;
        let place = (scope.to_owned(), queries.len());
        if self.queries.insert(id.to_owned(), place).is_some() {
            return Err(format!("duplicate query {id:?}"));
        }
        queries.push(query);
        Ok(())
    }

    fn grade(&mut self, line: &str) -> Result<(), String> {
        let parts: Vec<&str> = line.trim_end().split('\t').collect();
        let [query, document, grade] = parts.as_slice() else {
            return Err("expected a query, a document and a grade, separated by tabs".to_owned());
        };
        let grade: u32 = grade
            .trim()
            .parse()
            .map_err(|error| format!("the grade {grade:?} is not a whole number: {error}"))?;
        let (scope, at) = self
            .queries
            .get(*query)
            .ok_or_else(|| format!("unknown query {query:?}"))?;
        let (home, place) = self
            .documents
            .get(*document)
            .ok_or_else(|| format!("unknown document {document:?}"))?;
        let Some(Project { documents, queries }) = self.scopes.get_mut(scope) else {
            return Ok(());
        };
        let (Some(query), Some(answer)) = (queries.get_mut(*at), documents.get(*place)) else {
            return Ok(());
        };
        if home == scope && grade > 0 && query.allows(answer) {
            if query.relevant.iter().any(|(known, _)| known == place) {
                return Err("duplicate grade for this query and document".to_owned());
            }
            query.relevant.push((*place, grade));
        }
        Ok(())
    }

    fn finish(self, name: String) -> Set {
        let mut projects: Vec<Project> = self.scopes.into_values().collect();
        for project in &mut projects {
            project.queries.retain(|query| !query.relevant.is_empty());
        }
        projects.retain(|project| !project.documents.is_empty());
        Set {
            name,
            projects,
            queries: self.queries.len(),
        }
    }
}

/// One line of a JSON Lines file.
struct Object(Map<String, Value>);

impl Object {
    fn parse(line: &str) -> Result<Self, String> {
        match serde_json::from_str(line) {
            Ok(Value::Object(map)) => Ok(Self(map)),
            Ok(_) => Err("expected a JSON object".to_owned()),
            Err(error) => Err(format!("this is not JSON: {error}")),
        }
    }

    /// A string, or none if it is missing or null.
    fn text(&self, key: &str) -> Result<Option<&str>, String> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(format!("{key:?} must be a string, not {other}")),
        }
    }

    fn required(&self, key: &str) -> Result<&str, String> {
        self.text(key)?.ok_or_else(|| format!("{key:?} is missing"))
    }

    /// A string or a list of strings.
    fn texts(&self, key: &str) -> Result<HashSet<String>, String> {
        let Some(Value::Array(list)) = self.0.get(key) else {
            return Ok(self.text(key)?.into_iter().map(str::to_owned).collect());
        };
        list.iter()
            .map(|text| match text {
                Value::String(text) => Ok(text.clone()),
                other => Err(format!("{key:?} must be a list of strings, but has {other}")),
            })
            .collect()
    }

    fn title_and_text(&self) -> Result<String, String> {
        let text = self.required("text")?;
        Ok(match self.text("title")? {
            Some(title) if !title.is_empty() => format!("{title}\n\n{text}"),
            Some(_) | None => text.to_owned(),
        })
    }
}

fn parse_time(key: &str, text: &str) -> Result<Timestamp, String> {
    let day = || format!("{text}T00:00:00Z").parse().ok();
    let time: Result<Timestamp, jiff::Error> = text.parse();
    time.or_else(|error| day().ok_or(error))
        .map_err(|error| format!("{key:?} is {text:?}, which is neither an RFC 3339 time nor a date: {error}"))
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// A document from a day in January 2024.
    pub(in crate::bench::recall) fn document(text: &str, day: u32) -> Document {
        Document {
            text: text.to_owned(),
            created: parse_time("created", &format!("2024-01-{day:02}")).unwrap(),
            id: format!("{day}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes and loads a set.
    fn check(documents: &str, queries: &str, grades: &str) -> Result<Set, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [(DOCUMENTS, documents), (QUERIES, queries), (GRADES, grades)] {
            let mut file = std::fs::File::create(folder.path().join(name)).unwrap();
            std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        }
        load(folder.path()).map_err(|error| error.replace(&format!("{}/", folder.path().display()), ""))
    }

    const THREE: &str = r#"{"id":"a","title":"One","text":"first","created":"2024-01-01T00:00:00Z"}
{"id":"b","text":"second","created":"2024-01-02","scope":"s"}

{"id":"c","text":"third","created":"2024-01-03T00:00:00Z","scope":"s","title":null}
"#;

    #[test]
    fn set_is_split_into_scopes() {
        let queries = r#"{"id":"1","text":"who"}
{"id":"2","text":"what","title":"Say","scope":"s","before":"2024-01-03T00:00:00Z"}
{"id":"3","text":"when","scope":"s","exclude":"b"}
{"id":"4","text":"where","scope":"s","exclude":["b","c","unknown"]}
{"id":"5","text":"why","scope":"empty"}
"#;
        let grades = "1\ta\t1\n1\tb\t1\n2\tb\t3\n2\tc\t1\n3\tc\t2\n4\tb\t1\n2\ta\t0\n";
        let set = check(THREE, queries, grades).unwrap();
        assert_eq!((set.documents(), set.queries, set.projects.len()), (3, 5, 2));
        let [alone, scope] = set.projects.as_slice() else {
            panic!("{set:?}")
        };
        assert_eq!(alone.documents[0].text, "One\n\nfirst");
        assert_eq!(alone.queries[0].relevant, [(0, 1)], "b is in another scope");
        let asked: Vec<(&str, &Relevant)> = scope
            .queries
            .iter()
            .map(|query| (query.text.as_str(), &query.relevant))
            .collect();
        assert_eq!(asked, [("Say\n\nwhat", &vec![(0, 3)]), ("when", &vec![(1, 2)])]);
        let allowed = |query: usize| {
            let allows = |document| scope.queries[query].allows(document);
            scope.documents.iter().map(allows).collect::<Vec<_>>()
        };
        assert_eq!(allowed(0), [true, false]);
        assert_eq!(allowed(1), [false, true]);
    }

    #[test]
    fn errors_name_the_line() {
        let wrong = |documents: &str, queries: &str, grades: &str, expected: &str| {
            assert_eq!(check(documents, queries, grades).unwrap_err(), expected);
        };
        let query = r#"{"id":"1","text":"who"}"#;
        let twice = format!("{THREE}{}\n", r#"{"id":"b","text":"x","created":"2024-01-01"}"#);
        wrong(&twice, query, "", "docs.jsonl:5: duplicate document \"b\"");
        wrong("[1]", query, "", "docs.jsonl:1: expected a JSON object");
        wrong(r#"{"id":1}"#, query, "", "docs.jsonl:1: \"id\" must be a string, not 1");
        wrong(
            r#"{"id":"a","text":"x"}"#,
            query,
            "",
            "docs.jsonl:1: \"created\" is missing",
        );
        wrong(
            THREE,
            &format!("{query}\n{query}"),
            "",
            "queries.jsonl:2: duplicate query \"1\"",
        );
        wrong(
            THREE,
            r#"{"id":"1","text":"x","exclude":[1]}"#,
            "",
            "queries.jsonl:1: \"exclude\" must be a list of strings, but has 1",
        );
        wrong(
            THREE,
            query,
            "1\ta\t1\n1 a 1",
            "qrels.tsv:2: expected a query, a document and a grade, separated by tabs",
        );
        wrong(THREE, query, "1\tx\t1", "qrels.tsv:1: unknown document \"x\"");
        wrong(THREE, query, "2\ta\t1", "qrels.tsv:1: unknown query \"2\"");
        wrong(
            THREE,
            query,
            "1\ta\t1\n1\ta\t2",
            "qrels.tsv:2: duplicate grade for this query and document",
        );
        let grade = check(THREE, query, "1\ta\tgood").unwrap_err();
        assert!(
            grade.starts_with("qrels.tsv:1: the grade \"good\" is not a whole number: "),
            "{grade}"
        );
        let day = check(r#"{"id":"a","text":"x","created":"today"}"#, query, "").unwrap_err();
        let expected = "docs.jsonl:1: \"created\" is \"today\", which is neither an RFC 3339 time nor a date: ";
        assert!(day.starts_with(expected), "{day}");
    }

    #[test]
    fn folder_is_a_set_or_contains_sets() {
        let folder = tempfile::tempdir().unwrap();
        let message = folders(folder.path()).unwrap_err();
        assert!(message.starts_with("neither "), "{message}");
        for name in ["b", "a", "other"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        for name in ["b", "a"] {
            std::fs::File::create(folder.path().join(name).join(DOCUMENTS)).unwrap();
        }
        let inside = [folder.path().join("a"), folder.path().join("b")];
        assert_eq!(folders(folder.path()).unwrap(), inside);
        assert_eq!(folders(&inside[1]).unwrap(), [inside[1].clone()]);
    }
}
