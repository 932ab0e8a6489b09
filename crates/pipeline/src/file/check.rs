//! Holds a file to the table of keys: what is unknown, missing, of the wrong type or out of bounds.

use decisions::failures::FailureClass;

use super::formats::Format;
use super::keys::{Empty, Key, List, Named, Shape};
use super::nearest::nearest;
use crate::problem::{Code, Place, Problem, Problems, short};
use crate::yaml::{Entry, Kind, Node};

/// Whose value is looked at: for sentences, and to point at where the value itself has no good place.
#[derive(Clone, Copy)]
struct Owner<'a> {
    name: &'a str,
    place: Place,
}

pub fn check(root: &Node, shape: &Shape, problems: &mut Problems) {
    let owner = Owner { name: "the file", place: root.place };
    Checker { problems }.value(root, shape, owner);
}

struct Checker<'a> {
    problems: &'a mut Problems,
}

impl Checker<'_> {
    /// As deep as the table of keys, which is not deep.
    fn value(&mut self, node: &Node, shape: &Shape, owner: Owner<'_>) {
        if self.problems.is_full() {
            return;
        }
        let kind = node.kind();
        match (shape, kind) {
            (Shape::Version, Kind::Whole(Some(1))) | (Shape::Flag, Kind::Flag(_)) => {}
            (Shape::Version, _) => self.version(node, owner),
            (Shape::Whole { least, most }, Kind::Whole(number)) => {
                self.bounds(number, *least, *most, node.place, owner);
            }
            (Shape::Text(format), _) if is_text(kind) => self.text(node, *format),
            (Shape::OneOf(words), _) if is_text(kind) => self.word(node, words, owner),
            (Shape::Class, _) if is_text(kind) => self.class(node),
            (Shape::List(list) | Shape::TextOrList(list), Kind::List) => self.list(node, list, owner),
            (Shape::TextOrList(list), _) if is_text(kind) => self.value(node, list.of, owner),
            (Shape::Table(keys), Kind::Table) => self.table(node, keys, owner),
            (Shape::Named(named), Kind::Table) => self.named(node, named, owner),
            // What is listed above and has another kind.
            (Shape::Flag | Shape::Whole { .. } | Shape::Text(_) | Shape::OneOf(_) | Shape::Class, _)
            | (Shape::List(_) | Shape::TextOrList(_) | Shape::Table(_) | Shape::Named(_), _) => {
                self.problems.add(wrong_type(node, shape, kind, owner));
            }
        }
    }

    fn version(&mut self, node: &Node, owner: Owner<'_>) {
        let place = if node.place.length > 0 { node.place } else { owner.place };
        let message = "`version` is not 1, the only version of this format there is";
        let hint = "write `version: 1`; a file for a newer Delta CI needs a newer Delta CI";
        self.problems.add(Problem::new(Code::UnknownVersion, place, message, "not known", hint));
    }

    fn bounds(&mut self, number: Option<i64>, least: i64, most: i64, place: Place, owner: Owner<'_>) {
        if number.is_some_and(|number| (least..=most).contains(&number)) {
            return;
        }
        let message = format!("`{}` goes from {least} to {most}", owner.name);
        let label = if number.is_some_and(|number| number < least) { "too small" } else { "too large" };
        let hint = format!("write a whole number from {least} to {most}");
        self.problems.add(Problem::new(Code::OutOfRange, place, message, label, hint));
    }

    fn text(&mut self, node: &Node, format: Format) {
        let text = node.text().unwrap_or_default();
        // A placeholder is looked at when it is filled in.
        if format == Format::Word && text.contains('{') {
            return;
        }
        if let Err(problem) = format.check(text, node.place) {
            self.problems.add(problem);
        }
    }

    fn word(&mut self, node: &Node, words: &[&str], owner: Owner<'_>) {
        let text = node.text().unwrap_or_default();
        if words.contains(&text) {
            return;
        }
        let message = format!("`{}` is nothing that `{}` can be", short(text), owner.name);
        let hint = match nearest(text, words.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("write {}", either(words)),
        };
        self.problems.add(Problem::new(Code::UnknownWord, node.place, message, "not known", hint));
    }

    fn class(&mut self, node: &Node) {
        let text = node.text().unwrap_or_default();
        let retried: Vec<&str> = retried_classes().collect();
        let known = format!("classes that can be retried: {}", retried.join(", "));
        match FailureClass::parse(text) {
            Some(class) if class.may_retry() => {}
            Some(_) => self.problems.add(Problem::new(
                Code::NeverRetried,
                node.place,
                format!("failures of class `{text}` are never retried"),
                "it would fail again",
                known,
            )),
            None => {
                let hint = match nearest(text, retried.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`? {known}"),
                    None => known,
                };
                let message = format!("`{}` is no class of failures", short(text));
                self.problems.add(Problem::new(Code::UnknownWord, node.place, message, "not known", hint));
            }
        }
    }

    fn list(&mut self, node: &Node, list: &List, owner: Owner<'_>) {
        let items = node.items();
        self.count(items.len(), list.most, &list.empty, owner);
        for item in items.iter().take(list.most) {
            // A list within a list has no better place than its own.
            let place = if item.place.length > 0 { item.place } else { owner.place };
            self.value(item, list.of, Owner { place, ..owner });
        }
    }

    fn named(&mut self, node: &Node, named: &Named, owner: Owner<'_>) {
        let entries = node.entries();
        self.count(entries.len(), named.most, &named.empty, owner);
        for Entry { key, place, value } in entries.iter().take(named.most) {
            if let Err(problem) = named.name.check(key, *place) {
                self.problems.add(problem);
            }
            self.value(value, named.of, Owner { name: key, place: *place });
        }
    }

    fn count(&mut self, count: usize, most: usize, empty: &Empty, owner: Owner<'_>) {
        let Owner { name, place } = owner;
        let name = short(name);
        if count > most {
            let message = format!("`{name}` has {count} entries; at most {most} are allowed");
            let hint = "take some out";
            self.problems.add(Problem::new(Code::TooMany, place, message, "too many", hint));
        }
        if let (0, Empty::Refused { code, hint }) = (count, empty) {
            let message = format!("`{name}` is empty");
            self.problems.add(Problem::new(*code, place, message, "nothing in it", *hint));
        }
    }

    fn table(&mut self, node: &Node, keys: &[Key], owner: Owner<'_>) {
        for Entry { key, place, value } in node.entries() {
            if self.problems.is_full() {
                return;
            }
            match keys.iter().find(|known| known.name == &**key) {
                Some(known) => self.value(value, &known.shape, Owner { name: known.name, place: *place }),
                None => self.problems.add(unknown_key(key, *place, keys, owner)),
            }
        }
        for known in keys.iter().filter(|known| !known.missing.is_empty()) {
            if node.get(known.name).is_none() {
                let message = format!("`{}` is missing in {}", known.name, owner_of(owner));
                let label = format!("no `{}`", known.name);
                let problem = Problem::new(Code::MissingKey, owner.place, message, label, known.missing);
                self.problems.add(problem);
            }
        }
    }
}

/// What a text may be written as: `1.10` and `true` are texts too, where one is wanted.
fn is_text(kind: Kind) -> bool {
    match kind {
        Kind::Text | Kind::Flag(_) | Kind::Whole(_) | Kind::Decimal => true,
        Kind::Null | Kind::List | Kind::Table => false,
    }
}

pub fn retried_classes() -> impl Iterator<Item = &'static str> {
    FailureClass::ALL.into_iter().filter(|class| class.may_retry()).map(FailureClass::as_str)
}

fn owner_of(owner: Owner<'_>) -> String {
    if owner.name == "the file" { owner.name.into() } else { format!("`{}`", short(owner.name)) }
}

fn either(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or ")
}

fn unknown_key(key: &str, place: Place, keys: &[Key], owner: Owner<'_>) -> Problem {
    let names = keys.iter().map(|known| known.name);
    let hint = match nearest(key, names.clone()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if key == "<<" => {
            "YAML 1.2 merges no tables; use `defaults`, or an alias for a whole value".into()
        }
        None => format!("keys that are known here: {}", names.collect::<Vec<_>>().join(", ")),
    };
    let message = format!("`{}` is not a key of {}", short(key), owner_of(owner));
    Problem::new(Code::UnknownKey, place, message, "not known here", hint)
}

fn wrong_type(node: &Node, shape: &Shape, kind: Kind, owner: Owner<'_>) -> Problem {
    // Lists and tables over several lines, and what is left out, are best shown by their key.
    let place = if node.place.length > 0 && is_text(kind) { node.place } else { owner.place };
    let what = owner_of(owner);
    if kind == Kind::Null {
        let message = format!("{what} takes {}, and there is nothing", wants(shape));
        return Problem::new(Code::WrongType, place, message, "nothing here", advice(node, shape, kind));
    }
    let message = format!("{what} takes {}, not {}", wants(shape), kind.name());
    Problem::new(
        Code::WrongType,
        place,
        message,
        format!("this is {}", kind.name()),
        advice(node, shape, kind),
    )
}

fn wants(shape: &Shape) -> String {
    match shape {
        Shape::Version => "the number 1".into(),
        Shape::Flag => "`true` or `false`".into(),
        Shape::Whole { least, most } => format!("a whole number from {least} to {most}"),
        Shape::Text(Format::Duration) => "a duration such as `20m`".into(),
        Shape::Text(_) | Shape::Class => "a text".into(),
        Shape::OneOf(words) => either(words),
        Shape::List(_) => "a list".into(),
        Shape::TextOrList(_) => "a text or a list of texts".into(),
        Shape::Table(_) | Shape::Named(_) => "a table".into(),
    }
}

/// What the writer most likely has to do.
fn advice(node: &Node, shape: &Shape, kind: Kind) -> String {
    let text = short(node.text().unwrap_or_default());
    match (shape, kind) {
        (Shape::Text(Format::Any), Kind::Null) => "write `\"\"` for an empty text".into(),
        (_, Kind::Null) => "give it a value, or take the key out".into(),
        (Shape::Flag, _) if ["yes", "on", "y", "true"].contains(&text.as_str()) => {
            "write `true`, without quotes".into()
        }
        (Shape::Flag, _) if ["no", "off", "n", "false"].contains(&text.as_str()) => {
            "write `false`, without quotes".into()
        }
        (Shape::Whole { .. }, Kind::Text) if text.parse::<i64>().is_ok() => {
            format!("write `{text}`, without quotes")
        }
        (Shape::List(_), kind) if is_text(kind) => format!("write it as a list: `[{text}]`"),
        (Shape::Text(_) | Shape::TextOrList(_) | Shape::OneOf(_), Kind::Table) => placeholder(node),
        (Shape::Table(keys), kind) if is_text(kind) => as_table(keys, &text),
        (Shape::Table(_) | Shape::Named(_), _) => "write keys and values below it, indented".into(),
        _ => format!("write {}", wants(shape)),
    }
}

/// A value that may have been meant for the most important key.
fn as_table(keys: &[Key], text: &str) -> String {
    let needed: Vec<&Key> = keys.iter().filter(|key| !key.missing.is_empty()).collect();
    if needed.len() > 1 {
        let fields: Vec<String> = needed.iter().map(|key| format!("{}: …", key.name)).collect();
        return format!("write `{{ {} }}`", fields.join(", "));
    }
    let only = needed.first().copied().or(keys.first()).map_or("", |key| key.name);
    format!("write `{{ {only}: {text} }}`")
}

/// `{branch}` without quotes is a table, and nobody expects that.
fn placeholder(node: &Node) -> String {
    match node.entries() {
        [entry] if entry.value.kind() == Kind::Null => {
            format!("put quotes around it: `\"{{{}}}\"`", short(&entry.key))
        }
        [entry] => format!("put quotes around a text that holds `: `, as after `{}`", short(&entry.key)),
        _ => "write one text; put quotes around it if it holds braces or `: `".into(),
    }
}
