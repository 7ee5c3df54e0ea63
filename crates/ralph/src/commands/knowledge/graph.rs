//! `knowledge graph`: prints the links between knowledge entries for graph tools.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use ralph_notes::title_key;

use super::library::Library;
use crate::context::Context;
use crate::error::CommandError;

/// Print the links between entries as a graph
///
/// Titles that are linked to but have no entry are dashed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph knowledge graph | dot -Tsvg > knowledge.svg
  ralph knowledge graph --format mermaid")]
pub(crate) struct GraphArgs {
    /// Graph language
    #[arg(long, value_enum, default_value_t = GraphFormat::Dot)]
    format: GraphFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GraphFormat {
    /// Graphviz
    Dot,
    /// Mermaid, as rendered by GitHub and many editors
    Mermaid,
}

pub(super) fn cmd_graph(context: &Context<'_>, args: &GraphArgs) -> Result<(), CommandError> {
    let library = Library::read(context)?;
    library.report_skipped(context);
    let graph = Graph::of(&library);
    context.ui.text(&match args.format {
        GraphFormat::Dot => dot(&graph),
        GraphFormat::Mermaid => mermaid(&graph),
    })
}

/// Nodes and links in a deterministic order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Graph {
    /// Titles of entries in file order, then titles that have no entry.
    nodes: Vec<(String, Kind)>,
    /// Source and target node of each link.
    links: Vec<(usize, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Note,
    Missing,
}

impl Graph {
    fn of(library: &Library) -> Self {
        let mut graph = Self::default();
        let titles = library.notes.iter().map(|note| (note.title.clone(), Kind::Note));
        graph.nodes.extend(titles);
        let mut missing: BTreeMap<String, &str> = BTreeMap::new();
        for title in library.notes.iter().flat_map(|note| &note.links) {
            if library.place_of(title).is_none() {
                missing.entry(title_key(title)).or_insert(title);
            }
        }
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (key, title) in missing {
            places.insert(key, graph.nodes.len());
            graph.nodes.push((title.to_owned(), Kind::Missing));
        }
        let place_of = |title: &String| {
            let place = library.place_of(title);
            place.or_else(|| places.get(&title_key(title)).copied())
        };
        for (place, note) in library.notes.iter().enumerate() {
            let targets = note.links.iter().filter_map(place_of);
            graph.links.extend(targets.map(|target| (place, target)));
        }
        graph
    }
}

fn dot(graph: &Graph) -> String {
    let mut text = "digraph knowledge {\n  rankdir=LR;\n  node [shape=box];\n".to_owned();
    for (place, (title, kind)) in graph.nodes.iter().enumerate() {
        let style = match kind {
            Kind::Note => "",
            Kind::Missing => ", style=dashed",
        };
        text.push_str(&format!("  n{place} [label=\"{}\"{style}];\n", dot_label(title)));
    }
    for (from, to) in &graph.links {
        text.push_str(&format!("  n{from} -> n{to};\n"));
    }
    text.push_str("}\n");
    text
}

/// Escapes a title for a quoted DOT string, in which `\` starts an escape and `&` an entity.
fn dot_label(title: &str) -> String {
    let mut label = String::with_capacity(title.len());
    for c in title.chars() {
        match c {
            '"' => label.push_str("\\\""),
            '\\' => label.push_str("\\\\"),
            '&' => label.push_str("&amp;"),
            c if c.is_control() => label.push(' '),
            c => label.push(c),
        }
    }
    label
}

fn mermaid(graph: &Graph) -> String {
    let mut text = "flowchart LR\n".to_owned();
    for (place, (title, _)) in graph.nodes.iter().enumerate() {
        text.push_str(&format!("  n{place}[\"{}\"]\n", mermaid_label(title)));
    }
    for (from, to) in &graph.links {
        text.push_str(&format!("  n{from} --> n{to}\n"));
    }
    let missing: Vec<String> = (graph.nodes.iter().enumerate())
        .filter(|(_, (_, kind))| *kind == Kind::Missing)
        .map(|(place, _)| format!("n{place}"))
        .collect();
    if !missing.is_empty() {
        text.push_str("  classDef missing stroke-dasharray: 4 4\n");
        text.push_str(&format!("  class {} missing\n", missing.join(",")));
    }
    text
}

/// Escapes a title for a quoted Mermaid string. Characters with a meaning in Mermaid, Markdown or HTML, and those that
/// would start a list at the beginning of the title, become numeric entities.
fn mermaid_label(title: &str) -> String {
    let mut label = String::with_capacity(title.len());
    let mut begins_a_list = true;
    for c in title.trim_start().chars() {
        let is_sign = matches!(
            c,
            '"' | '#' | '&' | '<' | '>' | '`' | '\\' | '*' | '_' | '~' | '$' | '[' | ']' | '{' | '}' | '|' | ';'
        );
        if is_sign || (begins_a_list && matches!(c, '-' | '+' | '.' | ')')) {
            label.push_str(&format!("#{};", u32::from(c)));
        } else if c.is_control() {
            label.push(' ');
        } else {
            label.push(c);
        }
        begins_a_list &= c.is_ascii_digit();
    }
    label
}

#[cfg(test)]
mod tests {
    use ralph_search::KnowledgeMetadata;

    use super::*;

    fn library(notes: &[(&str, &str, &[&str])]) -> Library {
        let note = |(file, title, links): &(&str, &str, &[&str])| KnowledgeMetadata {
            file: (*file).to_owned(),
            title: (*title).to_owned(),
            tags: vec!["a".to_owned()],
            feature: None,
            created_at: None,
            links: links.iter().map(|link| (*link).to_owned()).collect(),
        };
        Library::of(notes.iter().map(note).collect(), Vec::new())
    }

    #[test]
    fn graph_order_is_deterministic() {
        let graph = Graph::of(&library(&[
            ("a.md", "Alpha", &["beta", "Zeta", "gamma"]),
            ("b.md", "Beta", &["ALPHA", "Beta", "GAMMA"]),
            ("c.md", "beta", &[]),
        ]));
        insta::assert_snapshot!(dot(&graph), @r#"
        digraph knowledge {
          rankdir=LR;
          node [shape=box];
          n0 [label="Alpha"];
          n1 [label="Beta"];
          n2 [label="beta"];
          n3 [label="gamma", style=dashed];
          n4 [label="Zeta", style=dashed];
          n0 -> n1;
          n0 -> n4;
          n0 -> n3;
          n1 -> n0;
          n1 -> n1;
          n1 -> n3;
        }
        "#);
        insta::assert_snapshot!(mermaid(&graph), @r#"
        flowchart LR
          n0["Alpha"]
          n1["Beta"]
          n2["beta"]
          n3["gamma"]
          n4["Zeta"]
          n0 --> n1
          n0 --> n4
          n0 --> n3
          n1 --> n0
          n1 --> n1
          n1 --> n3
          classDef missing stroke-dasharray: 4 4
          class n3,n4 missing
        "#);
        let empty = Graph::of(&library(&[]));
        assert_eq!(
            dot(&empty),
            "digraph knowledge {\n  rankdir=LR;\n  node [shape=box];\n}\n"
        );
        assert_eq!(mermaid(&empty), "flowchart LR\n");
    }

    #[test]
    fn titles_are_escaped() {
        for (title, in_dot, in_mermaid) in [
            ("say \"x\"", r#"say \"x\""#, "say #34;x#34;"),
            (r"C:\new\N", r"C:\\new\\N", "C:#92;new#92;N"),
            ("a\nb\u{1b}[0m", "a b [0m", "a b #91;0m"),
            ("R&D &amp; #1;", "R&amp;D &amp;amp; #1;", "R#38;D #38;amp#59; #35;1#59;"),
            ("<b>`x`</b>", "<b>`x`</b>", "#60;b#62;#96;x#96;#60;/b#62;"),
            ("1. first", "1. first", "1#46; first"),
            ("- item", "- item", "#45; item"),
            ("v1.2 - a_b", "v1.2 - a_b", "v1.2 - a#95;b"),
            ("end]; x[\"", "end]; x[\\\"", "end#93;#59; x#91;#34;"),
            ("日本語 🚀", "日本語 🚀", "日本語 🚀"),
        ] {
            assert_eq!(dot_label(title), in_dot, "{title}");
            assert_eq!(mermaid_label(title), in_mermaid, "{title}");
        }
    }
}
