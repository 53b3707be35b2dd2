//! Figures of several contestants as a table in markdown.
//!
//! It must not know how they were measured.

use std::fmt::Write as _;

use serde::Serialize;

/// Which columns a table has beside the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Columns {
    /// Median, least and most.
    Spread,
    /// The same, and each median as a share of the first.
    AgainstFirst,
    /// Every figure, in the order of the steps that they belong to.
    Steps,
    /// Median, the 99th of a hundred, and most.
    Tail,
}

/// A table.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Table {
    pub(crate) what: String,
    digits: usize,
    columns: Columns,
    rows: Vec<Row>,
}

/// The figures of one contestant.
#[derive(Clone, Debug, Serialize)]
struct Row {
    name: String,
    median: f64,
    least: f64,
    most: f64,
    p99: f64,
    /// All, in the order in which they were measured.
    figures: Vec<f64>,
}

impl Table {
    /// A table without rows, whose figures have so many digits behind the point.
    pub(crate) fn new(what: &str, digits: usize, columns: Columns) -> Self {
        Self { what: what.to_owned(), digits, columns, rows: Vec::new() }
    }

    /// Adds a contestant. One without figures has nothing to show.
    pub(crate) fn add(&mut self, name: &str, figures: Vec<f64>) {
        let mut sorted = figures.clone();
        sorted.sort_by(f64::total_cmp);
        let (Some(least), Some(most)) = (sorted.first().copied(), sorted.last().copied()) else { return };
        let median = sorted[sorted.len() / 2];
        // The smallest that 99 of a hundred do not exceed.
        let p99 = sorted[(sorted.len() * 99).div_ceil(100) - 1];
        self.rows.push(Row { name: name.to_owned(), median, least, most, p99, figures });
    }

    /// As markdown.
    pub(crate) fn markdown(&self) -> String {
        let heads: Vec<String> = match self.columns {
            Columns::Spread => ["median", "least", "most"].map(str::to_owned).into(),
            Columns::AgainstFirst => ["median", "least", "most", "of the first"].map(str::to_owned).into(),
            Columns::Tail => ["median", "99 of 100 within", "most"].map(str::to_owned).into(),
            Columns::Steps => (1..=self.rows.iter().map(|row| row.figures.len()).max().unwrap_or_default())
                .map(|step| step.to_string())
                .collect(),
        };
        let mut text = format!("| {} | {} |\n|{}\n", self.what, heads.join(" | "), " --- |".repeat(heads.len() + 1));
        let first = self.rows.first().map_or(0.0, |row| row.median);
        for row in &self.rows {
            let shown = |figure| grouped(figure, self.digits);
            let cells = match self.columns {
                Columns::Steps => row.figures.iter().copied().map(shown).collect(),
                Columns::Spread => vec![shown(row.median), shown(row.least), shown(row.most)],
                Columns::AgainstFirst => {
                    vec![shown(row.median), shown(row.least), shown(row.most), format!("{:.2}", row.median / first)]
                }
                Columns::Tail => vec![shown(row.median), shown(row.p99), shown(row.most)],
            };
            // Writing into a String cannot fail.
            let _ = writeln!(text, "| {} | {} |", row.name, cells.join(" | "));
        }
        text
    }
}

/// A number with commas between its thousands.
fn grouped(figure: f64, digits: usize) -> String {
    let text = format!("{figure:.digits$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}
