//! What is printed: results on stdout, everything for people on stderr. Never prints a token, and colours only where a
//! terminal wants them.

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use weightless_control::Fault;

const RED: Style = AnsiColor::Red.on_default().bold();
const DIM: Style = Style::new().dimmed();

/// How a verb gives its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Format {
    /// As `--json` says.
    pub(crate) fn of(json: bool) -> Self {
        if json { Format::Json } else { Format::Text }
    }
}

/// Text of a result, for people: what could drive a terminal is taken out of it.
pub(crate) fn line(text: impl std::fmt::Display) {
    print(&plain_lines(&text.to_string()));
}

/// A result that programs take as it is, such as a path: exact, but for a terminal, which it could drive.
pub(crate) fn exact(text: impl std::fmt::Display) {
    match std::io::stdout().is_terminal() {
        true => line(text),
        false => print(&text.to_string()),
    }
}

fn print(text: &str) {
    match writeln!(std::io::stdout(), "{text}") {
        Ok(()) => {}
        // Whoever read has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        Err(error) => {
            note(format_args!("weightless: the result cannot be written: {error}"));
            std::process::exit(1);
        }
    }
}

/// A line for the person at the terminal, beside the result.
pub(crate) fn note(text: impl std::fmt::Display) {
    styled(&plain_lines(&text.to_string()));
}

/// The same with colours, where the terminal wants them; the rest of the text must be plain.
fn styled(text: &str) {
    anstream::eprintln!("{text}");
}

/// A result for programs.
pub(crate) fn json(value: &impl Serialize) {
    match serde_json::to_string_pretty(value) {
        // JSON has its own way to write what drives a terminal.
        Ok(text) => print(&text),
        Err(error) => note(format_args!("weightless: the result cannot be written as JSON: {error}")),
    }
}

/// A fault, for people on stderr and, where JSON was asked for, for programs on stdout.
pub(crate) fn fault(fault: &Fault, format: Format) {
    styled(&words(fault));
    if format == Format::Json {
        json(&serde_json::json!({ "error": fault }));
    }
}

/// `weightless: SENTENCE`, then holders and advice on lines of their own.
fn words(fault: &Fault) -> String {
    let mut text = format!("{RED}weightless:{RED:#} {}", plain(&fault.sentence));
    for holder in &fault.holders {
        let _ = write!(text, "\n  {}", plain(&holder.to_string()));
    }
    if !fault.advice.is_empty() {
        let _ = write!(text, "\n{DIM}{}{DIM:#}", plain_lines(&fault.advice));
    }
    text
}

/// A size as the Hub's pages print it: decimal units, three digits.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    // 999.5 would round to 1000.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// How many files, in words.
pub(crate) fn files(number: u64) -> String {
    if number == 1 { "1 file".to_owned() } else { format!("{} files", count(number)) }
}

/// A number with its thousands apart.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A spinner for what may take a while: appears after a moment, on a terminal only.
pub(crate) struct Waiting(indicatif::ProgressBar);

impl Waiting {
    /// Shows `what` is being done.
    pub(crate) fn start(what: String) -> Self {
        // On stderr, and by itself nowhere but on a terminal.
        let bar = indicatif::ProgressBar::new_spinner().with_message(plain(&what));
        bar.enable_steady_tick(std::time::Duration::from_millis(SPINNER_MS));
        Waiting(bar)
    }

    /// A line for the person at the terminal meanwhile.
    pub(crate) fn note(&self, text: impl std::fmt::Display) {
        self.0.suspend(|| note(text));
    }

    /// It is done, one way or the other.
    pub(crate) fn end(self) {
        self.0.finish_and_clear();
    }
}

/// Between two pictures of the spinner.
const SPINNER_MS: u64 = 120;

/// Columns padded to their widest cell, those in `right` to the left.
pub(crate) fn table(rows: &[Vec<String>], right: &[usize]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| chars(cell)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let padded = |row: &Vec<String>| {
        let mut text = String::new();
        for (column, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column] - chars(cell));
            let gap = if column == 0 { "" } else { "  " };
            let _ = match right.contains(&column) {
                true => write!(text, "{gap}{pad}{cell}"),
                false => write!(text, "{gap}{cell}{pad}"),
            };
        }
        text.truncate(text.trim_end().len());
        text
    };
    rows.iter().map(padded).collect()
}

fn chars(cell: &str) -> usize {
    cell.chars().count()
}

/// A name or a sentence for a terminal: control characters, which could move the cursor or change colours, become `?`.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The same for text of several lines, such as a log.
fn plain_lines(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_on_the_hub() {
        for (bytes, expected) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.00 kB"),
            (9_994, "9.99 kB"),
            (9_996, "10.0 kB"),
            (99_960, "100 kB"),
            (999_499, "999 kB"),
            (999_500, "1.00 MB"),
            (90_868_376, "90.9 MB"),
            (5_368_709_120, "5.37 GB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }

    #[test]
    fn thousands_stand_apart() {
        for (number, expected) in
            [(0, "0"), (999, "999"), (1000, "1\u{202f}000"), (1_234_567, "1\u{202f}234\u{202f}567")]
        {
            assert_eq!(count(number), expected);
        }
    }

    #[test]
    fn columns_line_up_and_lines_do_not_trail() {
        let rows = [vec!["1 B".into(), "a".into()], vec!["90.9 MB".into(), "éé".into()]];
        assert_eq!(table(&rows, &[0]), ["    1 B  a", "90.9 MB  éé"]);
        assert!(table(&[], &[]).is_empty());
    }

    #[test]
    fn a_fault_gives_sentence_holders_and_advice_a_line_each() {
        let mut fault = Fault::new("mount_point_busy", "/m: the mount point is in use").advise("Close it.");
        fault.holders.push(weightless_control::Holder { pid: 7, program: "vi".into(), path: "/m/a".into() });
        let text = anstream::adapter::strip_str(&words(&fault)).to_string();
        assert_eq!(text, "weightless: /m: the mount point is in use\n  vi (pid 7) has /m/a\nClose it.");
    }

    #[test]
    fn names_cannot_drive_the_terminal() {
        assert_eq!(plain("a\x1b[31mb\n"), "a?[31mb?");
        assert_eq!(plain_lines("a\x1b[31m\r\tb\n"), "a?[31m?\tb\n");
        let mut fault = Fault::new("x", "\x1b[2J: \u{9b}1m").advise("a\x07\nb");
        fault.holders.push(weightless_control::Holder { pid: 7, program: "\x1b]0;".into(), path: "/\n".into() });
        let words = words(&fault).replace(&RED.to_string(), "").replace(&DIM.to_string(), "");
        let words = words.replace(&format!("{RED:#}"), "");
        assert_eq!(words, "weightless: ?[2J: ?1m\n  ?]0; (pid 7) has /?\na?\nb");
    }
}
