//! What the commands share: which domain on which store, and how a failure reads.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::diag::Diagnostic;
use crate::domain::{Domain, Files};
use crate::facts::{self, CommitRule, StoreError};
use crate::reason::Reasoner;
use crate::turn::{Engine, Options};

/// Which domain, where its files and facts are, and how decisions are made.
#[derive(clap::Args, Clone, Debug)]
pub struct Place {
    /// The domain: a built-in one, or a folder of kb/ below --root.
    #[arg(long, default_value = "drive_thru")]
    pub domain: String,
    /// A folder with kb/, rules/ and prompts/ of one's own; what it lacks comes from the binary.
    #[arg(long)]
    pub root: Option<PathBuf>,
    /// The store: a file, created if missing, or `:memory:`.
    #[arg(long, default_value = ":memory:")]
    pub store: String,
    /// Which engines decide: `confirm` lets clingo confirm every decision, `fast` and `clingo` take one alone.
    #[arg(long, value_enum, default_value = "confirm")]
    pub reasoner: How,
    /// When menu changes become visible: when no session of the site is open, or at the manager's quit.
    #[arg(long, value_enum, default_value = "idle")]
    pub commit: When,
}

/// Names of the reasoners on the command line.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The evaluator decides, clingo must agree.
    Confirm,
    /// clingo alone.
    Clingo,
    /// The evaluator alone.
    Fast,
}

/// Names of the commit rules on the command line.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// When no session of the site is open.
    Idle,
    /// At the manager's quit, for sessions that begin later.
    Quit,
}

impl Place {
    /// The domain's files.
    pub fn files(&self) -> Files {
        self.root.as_deref().map_or_else(Files::built_in, Files::folder)
    }

    /// The domain.
    pub fn load(&self) -> Result<Domain, Failure> {
        Domain::load(&self.files(), &self.domain).map_err(Failure::Domain)
    }

    /// The options that the flags give.
    pub fn options(&self) -> Options {
        let reasoner = match self.reasoner {
            How::Confirm => Reasoner::Confirm,
            How::Clingo => Reasoner::Clingo,
            How::Fast => Reasoner::Fast,
        };
        Options { reasoner, ..Options::default() }
    }

    /// When menu changes become visible.
    pub fn rule(&self) -> CommitRule {
        match self.commit {
            When::Idle => CommitRule::WhenNoSessionIsOpen,
            When::Quit => CommitRule::AtManagersQuit,
        }
    }

    /// The domain on its store.
    pub fn engine(&self) -> Result<Engine, Failure> {
        let store = facts::open_store(&self.store, self.rule())?;
        Ok(Engine::new(self.load()?, store).with_options(self.options()))
    }

    /// The same on another store.
    pub fn engine_on(&self, domain: &Domain, store: Arc<dyn facts::Store>) -> Engine {
        Engine::new(domain.clone(), store).with_options(self.options())
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub enum Failure {
    /// The domain has mistakes.
    Domain(Vec<Diagnostic>),
    /// The store failed.
    Store(StoreError),
    /// Anything else, with its remedy.
    Other(String),
}

impl From<StoreError> for Failure {
    fn from(e: StoreError) -> Self {
        Self::Store(e)
    }
}

impl From<std::io::Error> for Failure {
    fn from(e: std::io::Error) -> Self {
        Self::Other(e.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Domain(found) => {
                for d in found {
                    writeln!(f, "{d}")?;
                }
                write!(f, "the domain has {} mistakes and cannot be used", found.len())
            }
            Self::Store(e) => write!(f, "error[{}]: {e}\n  help: {}", e.code(), e.help()),
            Self::Other(text) => write!(f, "error: {text}"),
        }
    }
}

/// Which translator listens.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Listen {
    /// Who turns words into predicates: `embedded` (offline) or `none`.
    #[arg(long, default_value = "embedded")]
    pub understanding: String,
}

impl Listen {
    /// The engine with its translator.
    pub fn equip(&self, engine: Engine) -> Result<Engine, Failure> {
        match self.understanding.as_str() {
            "none" | "scripted" | "embedded" => Ok(engine),
            other => Err(Failure::Other(format!("`{other}` is no way of understanding: use embedded or none"))),
        }
    }
}
