//! Aligned columns. On a terminal the last one is cut to what fits; elsewhere nothing is.

use super::screen::{Screen, Style, fitted, one_line, width};

const GAP: usize = 2;
/// What the last column keeps, however narrow the terminal.
const LAST_COLUMNS_MIN: usize = 16;

#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    style: Style,
    right: bool,
}

impl Cell {
    pub fn new(text: impl AsRef<str>) -> Cell {
        Cell::styled(Style::Plain, text)
    }

    pub fn dim(text: impl AsRef<str>) -> Cell {
        Cell::styled(Style::Dim, text)
    }

    pub fn styled(style: Style, text: impl AsRef<str>) -> Cell {
        Cell { text: one_line_kept(text.as_ref()), style, right: false }
    }

    pub fn right(mut self) -> Cell {
        self.right = true;
        self
    }
}

/// As [`one_line`], with the indentation that a tree has.
fn one_line_kept(text: &str) -> String {
    let indent: String = text.chars().take_while(|letter| *letter == ' ').collect();
    indent + &one_line(text)
}

#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<Cell>>,
    /// Columns that stay free on the left.
    indent: usize,
}

impl Table {
    /// Headings are quiet.
    pub fn headed(headings: &[&str]) -> Table {
        let mut table = Table::default();
        table.row(headings.iter().map(Cell::dim).collect());
        table
    }

    pub fn indented(mut self, columns: usize) -> Table {
        self.indent = columns;
        self
    }

    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    pub fn text(&self, screen: Screen) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for row in &self.rows {
            text.push_str(line(row, &widths, self.indent, screen).trim_end());
            text.push('\n');
        }
        text
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| width(&cell.text)).max()
        };
        (0..columns).map(|column| widest(column).unwrap_or(0)).collect()
    }
}

fn line(row: &[Cell], widths: &[usize], indent: usize, screen: Screen) -> String {
    let mut line = " ".repeat(indent);
    let mut used = indent;
    for (column, cell) in row.iter().enumerate() {
        let is_last = column + 1 == widths.len();
        let mut text = cell.text.clone();
        if let (true, Some(columns)) = (is_last, screen.columns) {
            text = fitted(&text, columns.saturating_sub(used).max(LAST_COLUMNS_MIN));
        }
        let padding = " ".repeat(widths[column].saturating_sub(width(&text)));
        let painted = screen.paint(cell.style, &text);
        let padded = if cell.right && !is_last { padding + &painted } else { painted + &padding };
        line.push_str(&padded);
        line.push_str(&" ".repeat(GAP));
        used += widths[column] + GAP;
    }
    line
}
