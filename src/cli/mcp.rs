//! `duologue mcp`: a conversation as tools of the Model Context Protocol, line by line on standard input and output.

use std::io::{BufRead, Write};

use serde_json::Value;

use super::common::{Calls, Failure, Listen, Place};
use crate::serve::access::{Bearer, Claims, Keys};
use crate::serve::{Config, Service};

/// Arguments of `mcp`.
#[derive(clap::Args)]
#[command(
    after_help = "Example of a client's configuration:\n  {\"mcpServers\": {\"drive-thru\": {\"command\": \"duologue\", \"args\": [\"mcp\", \"--domain\", \"drive_thru\"]}}}\n\nTools: say, state, facts, why. Over HTTP the same is at /mcp of `duologue serve`."
)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    listen: Listen,
    #[command(flatten)]
    calls: Calls,
    /// Who speaks. Who starts this program has the rights of its store, so it may be any role; otherwise the first one that is open to anybody.
    #[arg(long)]
    role: Option<String>,
    /// The site; otherwise `main`, and of a flow the one that bears its name.
    #[arg(long)]
    site: Option<String>,
    /// The session.
    #[arg(long, default_value = "mcp")]
    session: String,
}

/// Answers line by line until the input ends.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    let engine = a.calls.connect(a.listen.equip(a.place.engine()?)?)?;
    let ontology = &engine.domain().ontology;
    let open = || ontology.roles.keys().find(|r| ontology.is_for_anybody(r)).map(ToString::to_string);
    let role = a.role.clone().or_else(open).unwrap_or_default();
    if !ontology.roles.contains_key(role.as_str()) {
        let known = ontology.roles.keys().map(|r| &**r).collect::<Vec<_>>().join(", ");
        return Err(Failure::Other(format!("who speaks? Name a role with --role; the domain has {known}")));
    }
    let site = a.place.site(a.site.as_deref(), engine.domain());
    let bearer = Bearer::Speaker(Claims { site: site.clone(), session: a.session.clone(), role, expires: i64::MAX, by: String::new() });
    let keys = Keys::in_memory().map_err(Failure::told)?;
    let config = Config { sites: vec![site], rule: a.place.rule(), ..Config::default() };
    let service = Service::new(engine, keys, config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        if let Some(answer) = runtime.block_on(service.mcp(&bearer, &message)) {
            writeln!(output, "{answer}").and_then(|()| output.flush())?;
        }
    }
    Ok(true)
}
