//! Aligned columns. On a terminal the last one is cut to what fits, or goes on below; elsewhere it is left alone.

use super::screen::{Screen, Style, fitted, one_line, width, wrapped};

const GAP: usize = 2;
/// Less than this is not worth a column that is cut.
const CUT_COLUMNS_MIN: usize = 4;
/// Less than this is not worth a column that goes on below; it then has lines of its own.
const WRAPPED_COLUMNS_MIN: usize = 24;
const WRAPPED_INDENT: usize = 4;

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
    headed: bool,
    /// The last column matters too much to be cut.
    wraps: bool,
}

impl Table {
    /// Headings are quiet.
    pub fn headed(headings: &[&str]) -> Table {
        let rows = vec![headings.iter().map(Cell::dim).collect()];
        Table { rows, headed: true, ..Table::default() }
    }

    pub fn wrapping(mut self) -> Table {
        self.wraps = true;
        self
    }

    pub fn indented(mut self, columns: usize) -> Table {
        self.indent = columns;
        self
    }

    pub fn row(&mut self, cells: Vec<Cell>) {
        if self.headed && self.rows.len() == 1 {
            self.rows[0].iter_mut().zip(&cells).for_each(|(heading, cell)| heading.right = cell.right);
        }
        self.rows.push(cells);
    }

    pub fn text(&self, screen: Screen) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for row in &self.rows {
            for line in self.lines(row, &widths, screen) {
                text.push_str(line.trim_end());
                text.push('\n');
            }
        }
        text
    }

    fn lines(&self, row: &[Cell], widths: &[usize], screen: Screen) -> Vec<String> {
        let is_whole = row.len() == widths.len();
        let (first, last) = match row.split_last() {
            Some((last, first)) if is_whole => (first, Some(last)),
            Some(_) | None => (row, None),
        };
        let mut begin = " ".repeat(self.indent);
        first.iter().zip(widths).for_each(|(cell, width)| begin.push_str(&padded(cell, *width, screen)));
        let Some(last) = last else { return vec![begin] };
        let used = self.indent + widths[..widths.len() - 1].iter().map(|width| width + GAP).sum::<usize>();
        let Some(columns) = screen.columns else { return vec![begin + &last.text] };
        let free = columns.saturating_sub(used);
        if self.wraps {
            return wrapped_lines(begin, used, free, columns, last, screen);
        }
        let text = if free < CUT_COLUMNS_MIN { String::new() } else { fitted(&last.text, free) };
        vec![begin + &screen.paint(last.style, &text)]
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

fn padded(cell: &Cell, columns: usize, screen: Screen) -> String {
    let padding = " ".repeat(columns.saturating_sub(width(&cell.text)));
    let painted = screen.paint(cell.style, &cell.text);
    let gap = " ".repeat(GAP);
    if cell.right { padding + &painted + &gap } else { painted + &padding + &gap }
}

fn wrapped_lines(
    begin: String,
    used: usize,
    free: usize,
    columns: usize,
    last: &Cell,
    screen: Screen,
) -> Vec<String> {
    let painted = |text: &String| screen.paint(last.style, text);
    if free < WRAPPED_COLUMNS_MIN {
        let below = wrapped(&last.text, columns.saturating_sub(WRAPPED_INDENT));
        let below = below.iter().map(|text| " ".repeat(WRAPPED_INDENT) + &painted(text));
        return std::iter::once(begin).chain(below).collect();
    }
    let texts = wrapped(&last.text, free);
    let Some((first, rest)) = texts.split_first() else { return vec![begin] };
    let rest = rest.iter().map(|text| " ".repeat(used) + &painted(text));
    std::iter::once(begin + &painted(first)).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(columns: Option<usize>) -> Screen {
        Screen::plain(columns)
    }

    fn sample() -> Table {
        let mut table = Table::headed(&["NAME", "TOOK", "WHY"]);
        table.row(vec![Cell::new("lint"), Cell::new("1.2s").right(), Cell::new("it was the last to go")]);
        table.row(vec![Cell::new("unité\x1b[2J"), Cell::new("12s").right(), Cell::new("")]);
        table
    }

    #[test]
    fn columns_are_aligned() {
        let expected = "\
NAME       TOOK  WHY
lint       1.2s  it was the last to go
unité [2J   12s
";
        assert_eq!(sample().text(screen(None)), expected);
    }

    #[test]
    fn a_narrow_terminal_cuts_or_wraps_the_last() {
        let cut = sample().text(screen(Some(28)));
        assert!(cut.contains("1.2s  it was the…\n"), "{cut}");
        let wrapped = sample().wrapping().text(screen(Some(28)));
        assert!(wrapped.contains("1.2s\n    it was the last to go\n"), "{wrapped}");
        let wrapped = sample().wrapping().text(screen(Some(41)));
        assert!(wrapped.contains("1.2s  it was the last to go\n"), "{wrapped}");
    }
}
