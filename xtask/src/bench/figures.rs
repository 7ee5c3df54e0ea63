//! Measured figures and their targets, as a table for people and JSON for programs.

use serde_json::{Value, json};

use super::table::{Side, table};

/// The target of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Target {
    AtMost(f64),
    AtLeast(f64),
    /// For information only.
    None,
}

#[derive(Debug, Clone)]
pub(super) struct Figure {
    pub(super) name: String,
    /// The size of the project, in the benchmark's unit.
    pub(super) size: usize,
    pub(super) value: f64,
    pub(super) unit: &'static str,
    pub(super) target: Target,
}

impl Figure {
    fn verdict(&self) -> &'static str {
        match self.target {
            Target::None => "",
            // Compare what is printed: 4.004 is shown as 4.00.
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

/// The figures of a benchmark.
#[derive(Debug)]
pub(super) struct Figures {
    /// The unit of the sizes.
    counted: &'static str,
    figures: Vec<Figure>,
    remarks: Vec<String>,
}

impl Figures {
    /// Creates an empty list whose sizes have this unit.
    pub(super) fn new(counted: &'static str) -> Self {
        Self {
            counted,
            figures: Vec::new(),
            remarks: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, figure: Figure) {
        self.figures.push(figure);
    }

    /// Adds a remark, once.
    pub(super) fn add_remark(&mut self, remark: String) {
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

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
        let mut figures = Figures::new("memories");
        figures.add(figure("show", 4.004, Target::AtMost(4.0)));
        figures.add(figure("list", 14.5, Target::AtMost(4.0)));
        figures.add(figure("found", 48.999, Target::AtLeast(48.996)));
        figures.add(figure("lost", 48.98, Target::AtLeast(48.99)));
        figures.add(figure("floor", 1.0, Target::None));
        figures.add_remark("strace not found".to_owned());
        figures
    }

    #[test]
    fn table_marks_missed_targets() {
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
    fn json_has_the_same_verdicts() {
        let document = figures().json("notes", 30);
        assert_eq!(document["figures"][1]["verdict"], "missed");
        assert_eq!(document["figures"][0]["value"], 4.004);
        assert_eq!(document["figures"][0]["memories"], 100);
        assert_eq!(document["figures"][4]["target"], Value::Null);
        assert_eq!(document["remarks"][0], "strace not found");
    }
}
