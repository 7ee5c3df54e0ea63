//! What was measured, beside what was wanted: a table for people and a document for programs.

use serde_json::{Value, json};

use super::table::{Side, table};

/// What a figure should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Target {
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
    /// It is there to be known, and has no target.
    None,
}

/// One figure.
#[derive(Debug, Clone)]
pub(super) struct Figure {
    /// What was measured.
    pub(super) name: String,
    /// Among how many, of what its benchmark counts.
    pub(super) size: usize,
    /// How much it is.
    pub(super) value: f64,
    /// Of what.
    pub(super) unit: &'static str,
    /// How much it may be.
    pub(super) target: Target,
}

impl Figure {
    fn verdict(&self) -> &'static str {
        match self.target {
            Target::None => "",
            // A target has as many digits as it is written with: 4.004 times is 4.00 times.
            Target::AtMost(most) if hundredths(self.value) <= hundredths(most) => "met",
            Target::AtLeast(least) if hundredths(self.value) >= hundredths(least) => "met",
            Target::AtMost(_) | Target::AtLeast(_) => "MISSED",
        }
    }

    fn cells(&self) -> [String; 5] {
        let target = match self.target {
            Target::AtMost(most) => format!("≤ {most} {}", self.unit),
            Target::AtLeast(least) => format!("≥ {least:.2} {}", self.unit),
            Target::None => String::new(),
        };
        [
            self.size.to_string(),
            self.name.clone(),
            format!("{:.2} {}", self.value, self.unit),
            target,
            self.verdict().to_owned(),
        ]
    }

    fn json(&self, counted: &str) -> Value {
        json!({
            "figure": self.name,
            counted: self.size,
            "value": (self.value * 1000.0).round() / 1000.0,
            "unit": self.unit,
            "target": match self.target {
                Target::AtMost(bound) | Target::AtLeast(bound) => json!(bound),
                Target::None => Value::Null,
            },
            "verdict": match self.target {
                Target::AtMost(_) | Target::AtLeast(_) => json!(self.verdict().to_lowercase()),
                Target::None => Value::Null,
            },
        })
    }
}

fn hundredths(value: f64) -> f64 {
    (value * 100.0).round()
}

/// The figures of a benchmark, as they come.
#[derive(Debug)]
pub(super) struct Figures {
    /// What the benchmark has more and less of.
    counted: &'static str,
    figures: Vec<Figure>,
    remarks: Vec<String>,
}

impl Figures {
    /// No figures yet; they will be among so and so many of these.
    pub(super) fn among(counted: &'static str) -> Self {
        Self {
            counted,
            figures: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Takes a figure in.
    pub(super) fn add(&mut self, figure: Figure) {
        self.figures.push(figure);
    }

    /// Takes in something that no number says, once.
    pub(super) fn remark(&mut self, remark: String) {
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    /// The table.
    pub(super) fn table(&self) -> String {
        let titles = [self.counted, "figure", "measured", "target", "verdict"].map(str::to_owned);
        let rows: Vec<[String; 5]> = std::iter::once(titles)
            .chain(self.figures.iter().map(Figure::cells))
            .collect();
        let mut table = table([Side::Right, Side::Left, Side::Right, Side::Left, Side::Left], &rows);
        for remark in &self.remarks {
            table.push_str(remark);
            table.push('\n');
        }
        let with_target = self.figures.iter().filter(|figure| figure.target != Target::None);
        let missed = with_target.clone().filter(|figure| figure.verdict() != "met").count();
        table.push_str(&format!("{} targets, {missed} missed\n", with_target.count()));
        table
    }

    /// The document.
    pub(super) fn json(&self, benchmark: &str, runs: usize) -> Value {
        json!({
            "benchmark": benchmark,
            "runs": runs,
            "figures": self.figures.iter().map(|figure| figure.json(self.counted)).collect::<Vec<_>>(),
            "remarks": self.remarks,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        let figure = |name: &str, value, target| Figure {
            name: name.to_owned(),
            size: 100,
            value,
            unit: "×",
            target,
        };
        let mut figures = Figures::among("memories");
        figures.add(figure("show", 4.004, Target::AtMost(4.0)));
        figures.add(figure("list", 14.5, Target::AtMost(4.0)));
        figures.add(figure("found", 48.999, Target::AtLeast(48.996)));
        figures.add(figure("lost", 48.98, Target::AtLeast(48.99)));
        figures.add(figure("floor", 1.0, Target::None));
        figures.remark("strace not found".to_owned());
        figures
    }

    #[test]
    fn the_table_says_what_was_missed() {
        let expected = "\
memories  figure  measured  target     verdict
     100  show      4.00 ×  ≤ 4 ×      met
     100  list     14.50 ×  ≤ 4 ×      MISSED
     100  found    49.00 ×  ≥ 49.00 ×  met
     100  lost     48.98 ×  ≥ 48.99 ×  MISSED
     100  floor     1.00 ×
strace not found
4 targets, 2 missed
";
        assert_eq!(figures().table(), expected);
    }

    #[test]
    fn the_document_says_the_same() {
        let document = figures().json("notes", 30);
        assert_eq!(document["figures"][1]["verdict"], "missed");
        assert_eq!(document["figures"][0]["value"], 4.004);
        assert_eq!(document["figures"][0]["memories"], 100);
        assert_eq!(document["figures"][4]["target"], Value::Null);
        assert_eq!(document["remarks"][0], "strace not found");
    }
}
