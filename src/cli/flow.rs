//! Flows on the command line: where they are, as domains, and as drawings.

use std::path::{Path, PathBuf};

use super::common::{Failure, write};
use crate::diag::{Severity, Source};
use crate::domain::{Domain, Files};
use crate::ir::Program;
use crate::ir::graph::draw::{Highlight, dot, svg};
use crate::lang::chief;

/// Arguments of `draw`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue draw bank_balance            a built-in flow, as DOT\n  duologue draw my_flow.json --svg -o my_flow.svg\n  duologue draw hotel_book --at 3       with node 3 pointed out\n  duologue draw my_agents/ --at order   an ADL project"
)]
pub struct Arguments {
    /// A flow file, the name of a built-in flow, or an ADL project.
    flow: String,
    /// SVG instead of DOT.
    #[arg(long)]
    svg: bool,
    /// Where the dialogue stands: the number of a node; of a project an agent or a step, such as `order.steps.2` (may be given several times).
    #[arg(long)]
    at: Vec<String>,
    /// Known slots, as NAME=VALUE.
    #[arg(long = "slot")]
    slots: Vec<String>,
    /// Write to this file instead of the terminal.
    #[arg(short, long)]
    out: Option<PathBuf>,
}

/// The text of a flow file, or of a built-in flow by its name.
pub fn source(flow: &str) -> Result<Source, Failure> {
    if Path::new(flow).is_file() {
        let bytes = std::fs::read(flow).map_err(|e| Failure::Other(format!("{flow}: {e}")))?;
        return Ok(Source::new(flow, &String::from_utf8_lossy(&bytes)));
    }
    let files = Files::built_in();
    match chief::named(&files, flow) {
        Some(source) => Ok(source),
        None => {
            let known = chief::names(&files);
            let near = crate::diag::did_you_mean(flow, known.iter().map(String::as_str));
            let help = near.map_or_else(|| format!("the built-in flows are {}", known.join(", ")), |n| format!("did you mean `{n}`?"));
            Err(Failure::Other(format!("`{flow}` is neither a file nor a built-in flow; {help}")))
        }
    }
}

/// Whether a name is that of a flow: a JSON file, or a built-in flow that no domain shares its name with.
pub fn is_flow(name: &str) -> bool {
    let files = Files::built_in();
    name.ends_with(".json") || !files.domains().contains(&name.to_owned()) && chief::named(&files, name).is_some()
}

fn load(flow: &str) -> Result<Program, Failure> {
    let (program, found) = chief::read(&source(flow)?);
    let errors: Vec<_> = found.into_iter().filter(|d| d.severity == Severity::Error).collect();
    match program {
        Some(program) if errors.is_empty() => Ok(program),
        _ => Err(Failure::Domain(errors)),
    }
}

/// A flow as the domain that the turn takes.
pub fn domain(flow: &str, files: &Files) -> Result<Domain, Failure> {
    chief::domain::domain(&load(flow)?, files).map_err(Failure::Domain)
}

/// Draws a flow.
pub fn draw(a: &Arguments) -> Result<bool, Failure> {
    let text = if super::agents::is_project(&a.flow) {
        if a.svg {
            return Err(Failure::Other("a project is drawn as DOT: leave --svg out, and let Graphviz draw it (`| dot -Tsvg`)".to_owned()));
        }
        crate::ir::draw::dot(&super::agents::load(Path::new(&a.flow), None)?, &a.at)
    } else {
        drawn(a)?
    };
    match &a.out {
        Some(path) => write(path, text)?,
        None => println!("{text}"),
    }
    Ok(true)
}

/// The drawing of a flow.
fn drawn(a: &Arguments) -> Result<String, Failure> {
    let program = load(&a.flow)?;
    let Some(flow) = program.graph() else { return Err(Failure::Other(format!("`{}` is no graph", a.flow))) };
    let number = |at: &String| at.parse().map_err(|_| Failure::Other(format!("`{at}` is no node of a flow: nodes are numbers")));
    let mut highlight = Highlight { current: a.at.last().map(number).transpose()?, ..Highlight::default() };
    for slot in &a.slots {
        let (name, value) = slot.split_once('=').ok_or_else(|| Failure::Other(format!("`{slot}` is no slot: write NAME=VALUE")))?;
        highlight.slots.insert(name.to_owned(), value.to_owned());
    }
    Ok(if a.svg { svg(flow, &highlight) } else { dot(flow, &highlight) })
}
