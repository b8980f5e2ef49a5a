//! The store of constants: one JSON file per user, with an entry for every machine and engine.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{Growth, Model, PassModel, Stage};
use crate::error::{Error, Result};
use crate::whole::Staged;

/// A file with the constants of all machines and engines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    path: PathBuf,
}

impl Store {
    /// The file `path`, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Store { path: path.into() }
    }

    /// The user's file: the path in `TOKAPI_TUNE`, or else `tokapi/tune.json` in the folder for configurations; none if
    /// that folder is unknown.
    pub fn of_user() -> Option<Self> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        if let Some(path) = variable("TOKAPI_TUNE") {
            return Some(Store::new(path));
        }
        let folder = match variable("XDG_CONFIG_HOME") {
            Some(folder) => PathBuf::from(folder),
            None => Path::new(&variable("HOME")?).join(".config"),
        };
        Some(Store::new(folder.join("tokapi/tune.json")))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The constants of `engine` with `threads` threads on this machine, if they have been measured.
    pub fn load(&self, engine: &str, threads: u64) -> Option<Model> {
        self.entries().get(&key(engine, threads)).and_then(of_json)
    }

    /// The entry `name` for `threads` threads on this machine, if there is one.
    pub fn entry(&self, name: &str, threads: u64) -> Option<Value> {
        self.entries().remove(&key(name, threads))
    }

    /// Stores an entry `name` for `threads` threads on this machine. Other entries stay.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, name: &str, threads: u64, entry: Value) -> Result<()> {
        self.insert(key(name, threads), entry)
    }

    /// Stores the constants of `engine` on this machine. Other entries stay.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, engine: &str, model: &Model) -> Result<()> {
        self.insert(key(engine, model.threads), to_json(model))
    }

    fn insert(&self, key: String, value: Value) -> Result<()> {
        let mut entries = self.entries();
        entries.insert(key, value);
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(Error::writing(&self.path))?;
        }
        let mut staged = Staged::create(&self.path)?;
        let text = format!("{:#}\n", Value::Object(entries));
        let written = staged.write_all(text.as_bytes());
        written.map_err(|source| staged.failed(source))?;
        staged.commit()
    }

    /// The entries of the file; none if it is missing or damaged.
    fn entries(&self) -> Map<String, Value> {
        let text = match std::fs::read(&self.path) {
            Ok(text) => text,
            Err(_) => return Map::new(),
        };
        match serde_json::from_slice(&text) {
            Ok(Value::Object(entries)) => entries,
            _ => {
                log::warn!(
                    "{}: not what `tokapi tune` wrote, so nothing in it counts; tune again",
                    self.path.display()
                );
                Map::new()
            }
        }
    }
}

/// The key of an engine on this machine: the machine's name, and the number of threads, by default that of the cores.
fn key(engine: &str, threads: u64) -> String {
    format!("{}, {threads} threads, {engine}", host_name())
}

fn host_name() -> String {
    let of_system = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = of_system().or_else(|| std::env::var("HOSTNAME").ok());
    name.map_or("this machine".into(), |name| name.trim().to_owned())
}

fn to_json(model: &Model) -> Value {
    let stage = |stage: &Stage| {
        json!({
            "constant": stage.constant,
            "per_chunk": stage.per_chunk,
            "repeated": stage.repeated,
            "growth": stage.growth,
        })
    };
    let pass = |pass: &PassModel| {
        json!({
            "growth": match pass.growth {
                Growth::Constant => "constant",
                Growth::Log => "log",
                Growth::LogSquared => "log squared",
            },
            "input": stage(&pass.input),
            "compute": stage(&pass.compute),
            "output": stage(&pass.output),
            "items": stage(&pass.items),
        })
    };
    json!({
        "threads": model.threads,
        "range": [model.range.0, model.range.1],
        "local": pass(&model.local),
        "global": pass(&model.global),
        "rest": stage(&model.rest),
    })
}

fn of_json(value: &Value) -> Option<Model> {
    let stage = |value: &Value| {
        Some(Stage {
            constant: value["constant"].as_f64()?,
            per_chunk: value["per_chunk"].as_f64()?,
            repeated: value["repeated"].as_f64()?,
            growth: value["growth"].as_f64()?,
        })
    };
    let pass = |value: &Value| {
        Some(PassModel {
            growth: match value["growth"].as_str()? {
                "constant" => Growth::Constant,
                "log" => Growth::Log,
                "log squared" => Growth::LogSquared,
                _ => return None,
            },
            input: stage(&value["input"])?,
            compute: stage(&value["compute"])?,
            output: stage(&value["output"])?,
            items: stage(&value["items"])?,
        })
    };
    Some(Model {
        threads: value["threads"].as_u64()?,
        range: (value["range"][0].as_u64()?, value["range"][1].as_u64()?),
        local: pass(&value["local"])?,
        global: pass(&value["global"])?,
        rest: stage(&value["rest"])?,
    })
}
