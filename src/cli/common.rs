//! What the commands share: which domain on which store, and how a failure reads.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::diag::Diagnostic;
use crate::domain::{Domain, Files};
use crate::facts::{self, CommitRule, Store, StoreError};
use crate::ir::walk::MOST_CALLS;
use crate::link::{Nearness, StaticVectors, Vectors};
use crate::llm::{BlockingModel, ModelConfig};
use crate::reason::Reasoner;
use crate::reasoning::Listener;
use crate::render::Render;
use crate::render::bank::BankRender;
use crate::turn::{Engine, Options, TurnBudget};
use crate::understand::embedded::Embedded;
use crate::understand::embedding::ServerVectors;
use crate::understand::hybrid::{DEFAULT_BELOW, HybridUnderstand};
use crate::understand::question::{ByModel, ByWords, Judge};

/// Which domain, where its files and facts are, and how decisions are made.
#[derive(clap::Args, Clone, Debug)]
pub struct Place {
    /// The domain: a built-in one, or a folder of kb/ below --root. If unsaid, the only one of the root, else drive_thru.
    #[arg(long)]
    pub domain: Option<String>,
    /// A CHIEF flow instead of a domain: a file, or the name of a built-in flow.
    #[arg(long)]
    pub flow: Option<String>,
    /// An ADL project instead of a domain: a folder, or a program in one.
    #[arg(long, value_name = "PATH")]
    pub agents: Option<PathBuf>,
    /// Take paths and the folder that functions run in as MICA's server would that runs in this folder (with --agents).
    #[arg(long, value_name = "DIR")]
    pub mica_root: Option<PathBuf>,
    /// A folder with kb/, rules/ and prompts/ of one's own; what it lacks comes from the binary.
    #[arg(long)]
    pub root: Option<PathBuf>,
    /// The store: a file, created if missing, the address of a database (`postgres://…`), or `:memory:`.
    #[arg(long, default_value = ":memory:")]
    pub store: String,
    /// What must accept the evaluator's decision before it is committed: the checker (`confirm`), clingo, or nothing (`fast`).
    #[arg(long, value_enum, default_value = "confirm")]
    pub reasoner: How,
    /// Let clingo audit decisions once they are committed: with `confirm` all while there is time, and at least one in N; with `fast` one in
    /// N (0: none). After a difference it must agree before every commit.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub audit: u64,
    /// When menu changes become visible: when no session of the site is open, or at the manager's quit.
    #[arg(long, value_enum, default_value = "idle")]
    pub commit: When,
    /// Settle something for the sites that are spoken with, such as `manner=paper`; a site keeps it as a fact. What a domain lets settle stands
    /// in its ontology. May be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
}

/// Names of the reasoners on the command line.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The checker must accept every decision; clingo audits afterwards.
    Confirm,
    /// clingo must agree with every decision.
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

impl From<How> for Reasoner {
    fn from(how: How) -> Self {
        match how {
            How::Confirm => Self::Confirm,
            How::Clingo => Self::Clingo,
            How::Fast => Self::Fast,
        }
    }
}

impl Place {
    /// The domain's files.
    pub fn files(&self) -> Files {
        self.root.as_deref().map_or_else(Files::built_in, Files::folder)
    }

    /// The domain.
    pub fn load(&self) -> Result<Domain, Failure> {
        let mut domain = match (&self.agents, &self.flow) {
            (Some(path), _) => super::agents::domain(path, self.mica_root.as_deref(), &self.files())?,
            (None, Some(flow)) => super::flow::domain(flow, &self.files())?,
            (None, None) => Domain::load(&self.files(), &self.name()).map_err(Failure::Domain)?,
        };
        self.set.iter().try_for_each(|s| domain.settle(s)).map_err(Failure::Other)?;
        Ok(domain)
    }

    /// The domain's name.
    pub fn name(&self) -> String {
        let only = || match self.files().own_domains().as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        };
        self.domain.clone().or_else(only).unwrap_or_else(|| "drive_thru".to_owned())
    }

    /// The site that is meant. Facts of one program are none of another's, so each has a site of its own unless somebody says otherwise.
    pub fn site(&self, given: Option<&str>, domain: &Domain) -> String {
        let usual = || if self.flow.is_some() || self.agents.is_some() { domain.ontology.domain.to_string() } else { "main".to_owned() };
        given.map_or_else(usual, str::to_owned)
    }

    /// The site of a store that is meant by who only reads it: if nobody says which, and the one that is usual is not there, the only one.
    pub fn site_in(&self, given: Option<&str>, domain: &Domain, store: &dyn Store) -> Result<String, Failure> {
        let usual = self.site(given, domain);
        Ok(match store.sites()?.as_slice() {
            [only] if given.is_none() => only.to_string(),
            _ => usual,
        })
    }

    /// The options that the flags give.
    pub fn options(&self) -> Options {
        let usual = TurnBudget::default();
        // Steps of agents call one function at a time.
        let rounds = if self.agents.is_some() { MOST_CALLS + 2 } else { usual.rounds };
        Options { turn: TurnBudget { rounds, ..usual }, reasoner: self.reasoner.into(), audit: self.audit, ..Options::default() }
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
}

/// Where the functions live that rules call, and how long a turn may wait.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Calls {
    /// Targets of the functions that the domain declares: HTTP, MCP or a program (JSON, see docs/functions.md). What is not named here is answered
    /// by the built-in stand-in.
    #[arg(long, value_name = "FILE")]
    pub functions: Option<PathBuf>,
    /// How many seconds a turn may take from the words to the reply, waiting for models and functions included; otherwise 60. A model that has not
    /// answered shortly before is not waited for: the turn is taken on what is understood without it.
    #[arg(long, value_name = "N", value_parser = seconds)]
    pub turn_seconds: Option<Duration>,
}

/// A time above nothing, in seconds or parts of one.
fn seconds(text: &str) -> Result<Duration, String> {
    let time = text.parse().ok().and_then(|n| Duration::try_from_secs_f64(n).ok());
    time.filter(|t| !t.is_zero()).ok_or_else(|| "write a number of seconds above 0, such as 5 or 0.5".to_owned())
}

impl Calls {
    /// The engine with its functions connected, and with the time that a turn has for them.
    pub fn connect(&self, engine: Engine) -> Result<Engine, Failure> {
        let usual = engine.options().clone();
        let turn = TurnBudget { time: self.turn_seconds.unwrap_or(usual.turn.time), ..usual.turn };
        let engine = engine.with_options(Options { turn, ..usual });
        let engine = super::agents::connect(engine)?;
        let Some(path) = &self.functions else { return Ok(engine) };
        let functions = engine.functions().clone().configured(&read(path)?).map_err(Failure::at(path))?;
        Ok(engine.with_functions(functions))
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

impl Failure {
    /// What went wrong, in its own words.
    pub fn told(e: impl fmt::Display) -> Self {
        Self::Other(e.to_string())
    }

    /// What went wrong with a file.
    pub fn at<E: fmt::Display>(path: &Path) -> impl Fn(E) -> Self {
        move |e| Self::Other(format!("{}: {e}", path.display()))
    }
}

/// The text of a file.
pub fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(Failure::at(path))
}

/// Writes a file.
pub fn write(path: &Path, text: impl AsRef<str>) -> Result<(), Failure> {
    std::fs::write(path, text.as_ref()).map_err(Failure::at(path))
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
                write!(f, "the domain has {} {} and cannot be used", found.len(), if found.len() == 1 { "mistake" } else { "mistakes" })
            }
            Self::Store(e) => write!(f, "error[{}]: {e}\n  help: {}", e.code(), e.help()),
            Self::Other(text) => write!(f, "error: {text}"),
        }
    }
}

/// Who listens and who speaks.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Listen {
    /// Who turns words into predicates: `embedded` (offline), `hybrid` (a model when unsure), `llm`, or `none`.
    /// Without it: hybrid if a model is configured, else embedded.
    #[arg(long)]
    pub understanding: Option<String>,
    /// Who words the replies: `templates`; `bank`: wordings that were checked before, at random, and for what the bank lacks the model, if
    /// one is configured, else the templates; `llm`: the same, and a model must be configured (its words are checked against the actions).
    #[arg(long, default_value = "templates")]
    pub wording: String,
    /// The model's configuration (see docs/models.md); otherwise the DUOLOGUE_MODEL… variables are read.
    #[arg(long)]
    pub model: Option<PathBuf>,
    /// Vectors for names that spelling leaves unknown or tied: `server` asks the configured model's, a folder holds a local table
    /// (see docs/models.md); otherwise DUOLOGUE_EMBEDDINGS says it.
    #[arg(long, value_name = "server|FOLDER")]
    pub embeddings: Option<String>,
    /// Where the names' vectors are kept; otherwise DUOLOGUE_EMBEDDINGS_CACHE says it, or they are asked for in every run.
    #[arg(long, value_name = "FOLDER")]
    pub embeddings_cache: Option<PathBuf>,
    /// Read no addresses that agents know from (with --agents).
    #[arg(long)]
    pub no_fetch: bool,
}

impl Listen {
    /// Listens in this way, without a model's configuration.
    pub fn by(understanding: &str) -> Self {
        Self { understanding: Some(understanding.to_owned()), wording: "templates".to_owned(), ..Self::default() }
    }

    /// The engine with its translator and renderer.
    pub fn equip(&self, engine: Engine) -> Result<Engine, Failure> {
        let domain = engine.domain().clone();
        let model = match (self.configured()?, &domain.program) {
            (None, Some(program)) => super::agents::model(program)?,
            (model, _) => model,
        };
        let way = self.understanding.as_deref().unwrap_or(if model.is_some() { "hybrid" } else { "embedded" });
        let needed =
            || model.clone().ok_or_else(|| Failure::Other("no model is configured: use --model FILE or set DUOLOGUE_MODEL (see docs/models.md)".to_owned()));
        let judge = || -> Arc<dyn Judge> { model.clone().map_or_else(|| Arc::new(ByWords) as Arc<dyn Judge>, |m| Arc::new(ByModel::new(m))) };
        let engine = match way {
            "none" | "scripted" => engine,
            "embedded" | "hybrid" | "llm" if domain.program.as_ref().is_some_and(|p| p.walks()) => {
                let model = if way == "embedded" { None } else { Some(needed()?) };
                match domain.adviser(model, way == "llm") {
                    Some(adviser) if self.no_fetch => engine.with_understand(Arc::new(adviser)),
                    Some(adviser) => engine.with_understand(Arc::new(adviser.reading(super::pages::reader()))),
                    None => engine,
                }
            }
            // A program brings its own listener; a model answers its conditions in free words.
            _ if domain.program.is_some() => match domain.ear(judge()) {
                Some(ear) => engine.with_understand(Arc::new(ear)),
                None => engine,
            },
            "embedded" if domain.ontology.reads.is_some() => {
                let profile = domain.ontology.reads.as_deref().unwrap_or_default();
                engine.with_understand(Arc::new(Listener::load(&domain.files, profile)?))
            }
            "embedded" => match self.embedded(&domain, model.as_ref())? {
                Some(embedded) => engine.with_understand(Arc::new(embedded)),
                None => match domain.spotter()? {
                    Some(spotter) => engine.with_understand(Arc::new(spotter)),
                    None => engine,
                },
            },
            "hybrid" | "llm" => {
                let translator = domain.model_translator(needed()?).map_err(Failure::told)?;
                match self.embedded(&domain, model.as_ref())? {
                    Some(embedded) if way == "hybrid" => engine.with_understand(Arc::new(HybridUnderstand::new(Arc::new(embedded), translator, DEFAULT_BELOW))),
                    Some(embedded) => engine.with_understand(Arc::new(translator.fallback(Arc::new(embedded)))),
                    None => engine.with_understand(Arc::new(translator)),
                }
            }
            other => return Err(Failure::Other(format!("`{other}` is no way of understanding: use embedded, hybrid, llm or none"))),
        };
        match self.wording.as_str() {
            "templates" | "" => Ok(engine),
            // What the bank holds is said without a call, whoever says the rest.
            way @ ("llm" | "bank") => {
                let rest: Arc<dyn Render> = match if way == "llm" { Some(needed()?) } else { model } {
                    Some(model) => Arc::new(domain.model_renderer(model).map_err(Failure::told)?),
                    None => domain.templates.clone(),
                };
                Ok(engine.with_render(Arc::new(BankRender::new(&domain.templates, rest))))
            }
            other => Err(Failure::Other(format!("`{other}` is no way of wording: use templates, bank or llm"))),
        }
    }

    /// Whether a model words the replies.
    pub fn by_model(&self) -> bool {
        self.wording == "llm"
    }

    /// The embedded translator, with vectors where they are configured.
    fn embedded(&self, domain: &Domain, model: Option<&BlockingModel>) -> Result<Option<Embedded>, Failure> {
        let Some(embedded) = domain.embedded()? else { return Ok(None) };
        let Some(place) = self.embeddings.clone().or_else(|| std::env::var("DUOLOGUE_EMBEDDINGS").ok()).filter(|p| !p.is_empty()) else {
            return Ok(Some(embedded));
        };
        let vectors: Arc<dyn Vectors> = if place == "server" {
            let model = model.ok_or_else(|| Failure::Other("`server` vectors need a model: use --model FILE or set DUOLOGUE_MODEL".to_owned()))?;
            Arc::new(ServerVectors::new(model.clone(), &self.embedding_model()?.unwrap_or_else(|| model.name().to_owned())))
        } else {
            Arc::new(StaticVectors::load(std::path::Path::new(&place)).map_err(Failure::told)?)
        };
        let nearness = Nearness::new(vectors);
        let cache = self.embeddings_cache.clone().or_else(|| std::env::var_os("DUOLOGUE_EMBEDDINGS_CACHE").map(PathBuf::from));
        Ok(Some(embedded.with_nearness(if let Some(folder) = cache { nearness.cached(&folder) } else { nearness })))
    }

    /// The name of the model that embeds, if it is not the one that chats.
    fn embedding_model(&self) -> Result<Option<String>, Failure> {
        let config = match &self.model {
            Some(path) => {
                let text = read(path)?;
                Some(ModelConfig::from_yaml(&text, variable).map_err(Failure::told)?)
            }
            None => ModelConfig::from_env(variable).map_err(Failure::told)?,
        };
        Ok(config.and_then(|c| c.embedding_model))
    }

    /// The model that is configured, if one is.
    pub fn configured(&self) -> Result<Option<BlockingModel>, Failure> {
        match &self.model {
            Some(path) => model_of(path).map(Some),
            None => BlockingModel::from_env(variable).map_err(Failure::told),
        }
    }
}

/// The model that a file configures.
pub fn model_of(path: &Path) -> Result<BlockingModel, Failure> {
    let told = |e: &dyn fmt::Display| Failure::Other(format!("{}: {e}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| told(&e))?;
    let config = ModelConfig::from_yaml(&text, variable).map_err(|e| told(&e))?;
    BlockingModel::configured(config, variable).map_err(|e| told(&e))
}

/// An environment variable; where a cassette is played nobody is asked, so no key is needed.
pub fn variable(name: &str) -> Option<String> {
    let own = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
    own(name).or_else(|| (!name.starts_with("DUOLOGUE_") && own("DUOLOGUE_MODEL_REPLAY").is_some()).then(|| "unused".to_owned()))
}

impl From<Vec<Diagnostic>> for Failure {
    fn from(found: Vec<Diagnostic>) -> Self {
        Self::Domain(found)
    }
}
