//! Sections of a report: a table, plots and a few words; as CSV and as one HTML page that needs nothing else.

use std::fmt::Write;

use super::machine::Machine;
use super::plot::Plot;

/// Rows of text under a header.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Names of the columns.
    pub header: Vec<String>,
    /// Rows, each with one text per column.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these columns.
    pub fn new(header: &[&str]) -> Self {
        Table { header: header.iter().map(ToString::to_string).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn add(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.header.len(), "a text for every column");
        self.rows.push(row);
    }

    /// Comma-separated values, with a header.
    pub fn csv(&self) -> String {
        let mut text = String::new();
        for row in std::iter::once(&self.header).chain(&self.rows) {
            let cells: Vec<String> = row.iter().map(|cell| csv_cell(cell)).collect();
            text.push_str(&cells.join(","));
            text.push('\n');
        }
        text
    }

    fn html(&self) -> String {
        let cells = |tag: &str, row: &[String]| -> String {
            row.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect()
        };
        let mut text = format!("<table><thead><tr>{}</tr></thead><tbody>\n", cells("th", &self.header));
        for row in &self.rows {
            let _ = writeln!(text, "<tr>{}</tr>", cells("td", row));
        }
        text.push_str("</tbody></table>\n");
        text
    }
}

fn csv_cell(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

/// One measurement of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Name of its files, without an extension.
    pub name: String,
    /// Title of the section.
    pub title: String,
    /// How it was measured and how to read it, a paragraph each.
    pub words: Vec<String>,
    /// Table of the measured numbers.
    pub table: Table,
    /// Plots of the measured numbers.
    pub plots: Vec<Plot>,
    /// What was measured: a row per repetition, a number or a name in each cell. The file has these rows if there are any,
    /// else those of the table.
    pub runs: Table,
}

impl Section {
    /// Comma-separated values for programs.
    pub fn csv(&self) -> String {
        if self.runs.rows.is_empty() { self.table.csv() } else { self.runs.csv() }
    }

    fn html(&self) -> String {
        let mut text = format!("<section><h2>{}</h2>\n", escape(&self.title));
        for words in &self.words {
            let _ = writeln!(text, "<p>{}</p>", escape(words));
        }
        for plot in &self.plots {
            text.push_str(&plot.svg());
        }
        text.push_str(&self.table.html());
        text.push_str("</section>\n");
        text
    }
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222}\
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}\
th,td{padding:.2rem .7rem;text-align:right;border-bottom:1px solid #ddd}\
th:first-child,td:first-child{text-align:left}\
thead th{border-bottom:2px solid #888;font-weight:600}\
section{margin-top:3rem}svg{max-width:100%;height:auto;margin:.5rem 0}p{max-width:46rem}";

/// One HTML page with all sections.
pub fn html_page(machine: &Machine, sections: &[Section]) -> String {
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>anachron bench</title>\
         <style>{STYLE}</style></head><body>\n<h1>anachron bench</h1>\n<p>{}</p>\n",
        escape(&machine.text())
    );
    for section in sections {
        text.push_str(&section.html());
    }
    text.push_str("</body></html>\n");
    text
}

/// Escapes text for HTML and SVG.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_commas_are_quoted() {
        let mut table = Table::new(&["a", "b"]);
        table.add(vec!["1,5".into(), "say \"x\"".into()]);
        assert_eq!(table.csv(), "a,b\n\"1,5\",\"say \"\"x\"\"\"\n");
    }

    #[test]
    fn a_page_is_complete_and_loads_nothing() {
        let mut table = Table::new(&["cores", "<s>"]);
        table.add(vec!["1".into(), "2 & 3".into()]);
        let section = Section {
            name: "x".into(),
            title: "Speed".into(),
            words: vec!["how".into()],
            table,
            plots: vec![Plot::lines("t", "x", "y")],
            runs: Table::default(),
        };
        let page = html_page(&Machine::here(), &[section]);
        for part in ["<h2>Speed</h2>", "&lt;s&gt;", "2 &amp; 3", "<svg", "</html>"] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("<script") && !page.contains("src="), "the page needs no other file");
    }
}
