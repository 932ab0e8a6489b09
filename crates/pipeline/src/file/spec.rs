//! One job of one combination: what the runner will get, with the matrix's values filled in.

use std::collections::BTreeMap;

use decisions::failures::{ClassSet, FailureClass};
use wire::runner::{ArtifactSpec, CacheSpec, JobSpec, PublishSpec};

use super::duration::seconds;
use super::fill::{Budget, Full, Rest, Values, check_rest, fill};
use super::formats::Format;
use crate::problem::{Code, Problem, Problems};
use crate::yaml::{Kind, Node};

/// A job and what it has when it does not say otherwise.
#[derive(Clone, Copy)]
pub struct Layers<'a> {
    pub job: &'a Node,
    pub defaults: Option<&'a Node>,
}

impl<'a> Layers<'a> {
    pub fn get(self, key: &str) -> Option<&'a Node> {
        self.job.get(key).or_else(|| self.defaults?.get(key))
    }

    /// The job's own variables over the defaults'.
    fn env(self) -> impl Iterator<Item = (&'a str, &'a Node)> {
        let layers = self.defaults.into_iter().chain([self.job]);
        let tables = layers.filter_map(|layer| layer.get("env"));
        tables.flat_map(Node::entries).map(|entry| (&*entry.key, &entry.value))
    }

    pub fn flag(self, key: &str) -> Option<bool> {
        match self.job.get(key)?.kind() {
            Kind::Flag(flag) => Some(flag),
            Kind::Null | Kind::Whole(_) | Kind::Decimal | Kind::Text | Kind::List | Kind::Table => None,
        }
    }

    pub fn timeout_seconds(self) -> Option<f64> {
        seconds(self.get("timeout")?.text()?).ok()
    }

    /// The first attempt is none of the retries.
    pub fn attempts_max(self) -> Option<u32> {
        let retries = u32::try_from(whole(self.get("retry")?.get("max")?)?).ok()?;
        retries.checked_add(1)
    }

    pub fn retry_on(self) -> Option<ClassSet> {
        let names = self.get("retry")?.get("on")?.items().iter().filter_map(Node::text);
        let classes: Vec<_> = names.filter_map(FailureClass::parse).collect();
        Some(ClassSet::asked_for(&classes))
    }

    pub fn priority(self) -> i32 {
        self.job.get("priority").and_then(whole).and_then(|number| number.try_into().ok()).unwrap_or_default()
    }
}

fn whole(node: &Node) -> Option<i64> {
    match node.kind() {
        Kind::Whole(number) => number,
        Kind::Null | Kind::Flag(_) | Kind::Decimal | Kind::Text | Kind::List | Kind::Table => None,
    }
}

/// Fills in one combination. What is wrong with a text shows only then.
pub struct Filler<'a, 'b> {
    pub layers: Layers<'a>,
    pub values: &'b Values<'a>,
    pub budget: &'b mut Budget,
    pub problems: &'b mut Problems,
}

impl Filler<'_, '_> {
    pub fn spec(&mut self, name: String) -> Result<JobSpec, Full> {
        Ok(JobSpec {
            name,
            workdir: self.maybe("workdir", Format::Folder)?,
            image: self.maybe("image", Format::Image)?,
            steps: self.steps()?,
            env: self.env()?,
            artifacts: self.artifacts()?,
            caches: self.caches()?,
            checkout: None,
            publish: self.publish()?,
            network: self.layers.flag("network"),
        })
    }

    /// No runner offers a placeholder, so a job with one left would wait for ever.
    pub fn runs_on(&mut self) -> Result<Vec<String>, Full> {
        let items = self.layers.get("runs_on").map_or(&[][..], Node::items);
        let words = self.texts(self.layers.get("runs_on"), Format::Capability)?;
        for (word, node) in words.iter().zip(items) {
            if let Err(problem) = check_rest(word, Rest::Nothing, self.values, node.place) {
                self.problems.add(problem);
            }
        }
        Ok(words)
    }

    /// Patterns are taken as they are: their braces mean something else.
    pub fn paths(&mut self) -> Result<Option<Vec<String>>, Full> {
        let Some(node) = self.layers.job.get("paths") else { return Ok(None) };
        let texts = node.items().iter().filter_map(Node::text);
        texts.map(|text| fill(text, &[], self.budget)).collect::<Result<_, Full>>().map(Some)
    }

    fn text(&mut self, node: &Node, format: Format) -> Result<String, Full> {
        let written = node.text().unwrap_or_default();
        let filled = fill(written, self.values, self.budget)?;
        // As it was written it was looked at before, but for placeholders.
        let looked_at = filled == written && !filled.contains('{');
        let problem = if looked_at { None } else { format.check(&filled, node.place).err() };
        problem.into_iter().for_each(|problem| self.problems.add(problem));
        Ok(filled)
    }

    fn maybe(&mut self, key: &str, format: Format) -> Result<Option<String>, Full> {
        self.layers.get(key).map(|node| self.text(node, format)).transpose()
    }

    fn texts(&mut self, node: Option<&Node>, format: Format) -> Result<Vec<String>, Full> {
        let items = node.map_or(&[][..], Node::items);
        items.iter().map(|item| self.text(item, format)).collect()
    }

    fn steps(&mut self) -> Result<Vec<String>, Full> {
        match self.layers.job.get("run") {
            Some(node) if node.text().is_some() => Ok(vec![self.text(node, Format::Command)?]),
            node => self.texts(node, Format::Command),
        }
    }

    fn env(&mut self) -> Result<BTreeMap<String, String>, Full> {
        let entries: BTreeMap<&str, &Node> = self.layers.env().collect();
        let mut env = BTreeMap::new();
        for (name, node) in entries {
            self.budget.text(name)?;
            env.insert(name.to_owned(), self.text(node, Format::Any)?);
        }
        Ok(env)
    }

    /// A text of a table; one that is missing was complained about.
    fn field(&mut self, table: &Node, key: &str, format: Format) -> Result<String, Full> {
        table.get(key).map_or(Ok(String::new()), |node| self.text(node, format))
    }

    fn artifacts(&mut self) -> Result<Vec<ArtifactSpec>, Full> {
        let items = self.layers.job.get("artifacts").map_or(&[][..], Node::items);
        let mut artifacts = Vec::new();
        for item in items {
            let r#type = self.field(item, "type", Format::Word)?;
            let path_glob = self.field(item, "path", Format::Files)?;
            artifacts.push(ArtifactSpec { r#type, path_glob });
        }
        Ok(artifacts)
    }

    fn caches(&mut self) -> Result<Vec<CacheSpec>, Full> {
        let items = self.layers.job.get("caches").map_or(&[][..], Node::items);
        let mut caches = Vec::new();
        for item in items {
            let r#type = self.field(item, "type", Format::Word)?;
            let key = self.template(item, "key", Rest::Hashes)?;
            // Without any beginning it would be everybody's.
            let prefix = key.find("{hash:").map(|at| key[..at].to_owned()).filter(|text| !text.is_empty());
            let paths = self.texts(item.get("paths"), Format::CachePath)?;
            caches.push(CacheSpec { r#type, key, prefix, paths });
        }
        Ok(caches)
    }

    fn publish(&mut self) -> Result<Option<PublishSpec>, Full> {
        let Some(table) = self.layers.job.get("publish") else { return Ok(None) };
        let package = self.template(table, "package", Rest::Nothing)?;
        let version = self.template(table, "version", Rest::Origin)?;
        Ok(Some(PublishSpec { package, version }))
    }

    /// A text whose placeholders must all mean something.
    fn template(&mut self, table: &Node, key: &str, rest: Rest) -> Result<String, Full> {
        let Some(node) = table.get(key) else { return Ok(String::new()) };
        let filled = self.text(node, Format::Template)?;
        if filled.trim().is_empty() {
            let message = format!("`{key}` is empty");
            let hint = "write a text";
            self.problems.add(Problem::new(Code::Empty, node.place, message, "nothing here", hint));
            return Ok(filled);
        }
        let checked = check_rest(&filled, rest, self.values, node.place).and_then(|()| match rest {
            Rest::Hashes => Ok(()),
            // As it may look when the planner has filled it in.
            Rest::Origin | Rest::Nothing => {
                let example = filled.replace("{commit}", "0").replace("{branch}", "0");
                Format::Package.check(&example, node.place)
            }
        });
        if let Err(problem) = checked {
            self.problems.add(problem);
        }
        Ok(filled)
    }
}
