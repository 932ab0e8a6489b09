//! The parser's events, gathered into nodes. Nothing here recurses, and whatever could grow is counted first.

use std::collections::HashMap;
use std::sync::Arc;

use saphyr_parser::{Event, ScalarStyle, Span, Tag};

use super::parse::{DEPTH_MAX, NODES_MAX};
use super::{Entry, Node, Scalar, Value};
use crate::problem::{Code, Place, Problem, Problems, Source, short};

/// A node that is complete, and what an alias to it costs.
#[derive(Clone)]
struct Built {
    node: Node,
    nodes: usize,
    /// Lists and tables inside each other, itself among them.
    height: usize,
}

/// A list or table whose end has not come.
struct Open {
    place: Place,
    anchor: usize,
    nodes: usize,
    height: usize,
    inside: Inside,
}

enum Inside {
    List(Vec<Node>),
    Table { entries: Vec<Entry>, seen: HashMap<Arc<str>, usize>, key: Wanted },
}

/// What comes next in a table.
enum Wanted {
    Key,
    Value {
        key: Arc<str>,
        place: Place,
    },
    /// The key was no text; its value is passed over.
    Lost,
}

pub struct Builder<'s, 'p> {
    source: &'s Source<'s>,
    problems: &'p mut Problems,
    open: Vec<Open>,
    anchors: HashMap<usize, Built>,
    nodes: usize,
    root: Option<Node>,
}

impl<'s, 'p> Builder<'s, 'p> {
    pub fn new(source: &'s Source<'s>, problems: &'p mut Problems) -> Builder<'s, 'p> {
        Builder { source, problems, open: Vec::new(), anchors: HashMap::new(), nodes: 0, root: None }
    }

    pub fn finish(self) -> Option<Node> {
        self.root
    }

    /// A problem that is returned ends the reading; others are noted.
    pub fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Problem> {
        let place = self.place_of(span);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_tag(tag.as_deref(), span);
                let scalar = Scalar { text: text.into(), plain: style == ScalarStyle::Plain };
                let node = Node { place, value: Value::Scalar(scalar) };
                self.count(1, place)?;
                self.place(Built { node, nodes: 1, height: 0 }, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_tag(tag.as_deref(), span);
                self.begin(place, anchor, Inside::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_tag(tag.as_deref(), span);
                let inside = Inside::Table { entries: Vec::new(), seen: HashMap::new(), key: Wanted::Key };
                self.begin(place, anchor, inside)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => self.alias(anchor, place),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    fn count(&mut self, nodes: usize, place: Place) -> Result<(), Problem> {
        self.nodes += nodes;
        if self.nodes <= NODES_MAX {
            return Ok(());
        }
        Err(Problem::new(
            Code::TooManyValues,
            place,
            format!("the file holds more than {NODES_MAX} values, with those that aliases stand for"),
            "one too many",
            "use fewer aliases, or a matrix in place of many jobs that are alike",
        ))
    }

    fn refuse_depth(&self, depth: usize, place: Place) -> Result<(), Problem> {
        if depth <= DEPTH_MAX {
            return Ok(());
        }
        Err(Problem::new(
            Code::TooDeep,
            place,
            format!("lists and tables are inside each other more than {DEPTH_MAX} times"),
            "too deep",
            "no pipeline needs that; look for a bracket that is not closed",
        ))
    }

    /// The parser counts blanks behind a value to it.
    fn place_of(&self, span: Span) -> Place {
        let (start, end) = (span.start.index(), span.end.index());
        let blanks = self.source.slice(start, end).chars().rev().take_while(|letter| letter.is_whitespace());
        self.source.place(start, end - blanks.count())
    }

    fn refuse_tag(&mut self, tag: Option<&Tag>, span: Span) {
        if tag.is_some() {
            // An anchor may stand before it, the value stands behind it.
            let (start, end) = (span.start.index(), span.end.index());
            let mut letters = self.source.slice(start, end).chars();
            let start = start + letters.by_ref().take_while(|letter| *letter != '!').count();
            let length = 1 + letters.take_while(|letter| !letter.is_whitespace()).count();
            let place = self.source.place(start, start + length);
            let hint = "take the tag out; put quotes around a value that shall be a text";
            let message = "tags such as `!!binary` are not used in a pipeline";
            self.problems.add(Problem::new(Code::Tag, place, message, "a tag", hint));
        }
    }

    fn begin(&mut self, place: Place, anchor: usize, inside: Inside) -> Result<(), Problem> {
        self.count(1, place)?;
        self.refuse_depth(self.open.len() + 1, place)?;
        self.open.push(Open { place, anchor, nodes: 1, height: 1, inside });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Problem> {
        let open = self.open.pop().expect("the parser ends what it began");
        let value = match open.inside {
            Inside::List(items) => Value::List(items.into()),
            Inside::Table { entries, .. } => Value::Table(entries.into()),
        };
        let node = Node { place: open.place, value };
        self.place(Built { node, nodes: open.nodes, height: open.height }, open.anchor)
    }

    fn alias(&mut self, anchor: usize, place: Place) -> Result<(), Problem> {
        let Some(built) = self.anchors.get(&anchor).cloned() else {
            let message = "an alias stands inside of what it names, which would never end";
            let hint = "write the value out";
            return Err(Problem::new(Code::UnknownAnchor, place, message, "this alias", hint));
        };
        self.count(built.nodes, place)?;
        self.refuse_depth(self.open.len() + built.height, place)?;
        // What is wrong with a value is shown where the value is written.
        self.place(built, 0)
    }

    /// Puts a node where it belongs: into what is open, or at the root.
    fn place(&mut self, built: Built, anchor: usize) -> Result<(), Problem> {
        if anchor != 0 {
            self.anchors.insert(anchor, built.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(built.node);
            return Ok(());
        };
        open.nodes += built.nodes;
        open.height = open.height.max(built.height + 1);
        match &mut open.inside {
            Inside::List(items) => items.push(built.node),
            Inside::Table { entries, seen, key } => match std::mem::replace(key, Wanted::Key) {
                Wanted::Key => *key = wanted(&built.node, entries, seen, self.problems),
                Wanted::Value { key, place } => {
                    seen.insert(key.clone(), entries.len());
                    entries.push(Entry { key, place, value: built.node });
                }
                Wanted::Lost => {}
            },
        }
        Ok(())
    }
}

/// What to do with the value that follows this key.
fn wanted(key: &Node, entries: &[Entry], seen: &HashMap<Arc<str>, usize>, problems: &mut Problems) -> Wanted {
    let Value::Scalar(Scalar { text, .. }) = &key.value else {
        let hint = "a key is a plain text such as `name:`";
        let message = "a key is a list or a table";
        problems.add(Problem::new(Code::KeyNotText, key.place, message, "this key", hint));
        return Wanted::Lost;
    };
    if let Some(first) = seen.get(text) {
        let line = entries[*first].place.line;
        problems.add(Problem::new(
            Code::DuplicateKey,
            key.place,
            format!("the key `{}` is there twice", short(text)),
            format!("already on line {line}"),
            "keep one of the two; otherwise one would be lost without a word",
        ));
        return Wanted::Lost;
    }
    Wanted::Value { key: text.clone(), place: key.place }
}
