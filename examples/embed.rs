//! Embeds the engine: opens a domain on a store, takes turns in two roles, reads state and proofs.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use duologue::domain::{Domain, Files};
use duologue::facts::{MemoryStore, SessionKey};
use duologue::turn::{Engine, Options, Said};

fn main() -> Result<(), Box<dyn Error>> {
    let domain = Domain::load(&Files::built_in(), "drive_thru").map_err(|found| format!("{} mistakes", found.len()))?;
    let options = Options { explain: true, ..Options::default() };
    let engine = Engine::new(domain, Arc::new(MemoryStore::default())).with_options(options);
    let mut out = std::io::stdout().lock();

    let turns = [("manager", "runout(\"Lettuce\")"), ("customer", "order(\"Crunchy Taco\",1)"), ("customer", "order(\"Bean Burrito\",2)")];
    for (role, predicate) in turns {
        let reply = engine.turn(&SessionKey::new("main street", role), role, &Said::Predicates(&[predicate.to_owned()]), None)?;
        writeln!(out, "{role}: {predicate}\n  {}", reply.text)?;
        for why in &reply.why {
            writeln!(out, "  because {}", why.sentence)?;
        }
        for line in engine.domain().ontology.view.text(&reply.view)? {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}
