//! `duologue token`: operators' tokens for a service.

use std::path::PathBuf;

use super::common::{Failure, Place};
use super::serve::tokens_of;
use crate::serve::access::{Keys, New};

/// Arguments of `token`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  duologue token new --store shop.db --site main --role manager --days 90 --note 'back office'\n  duologue token list --store shop.db\n  duologue token rotate ID --store shop.db\n  duologue token revoke ID --store shop.db\n\nA token is shown once; the file keeps its hash. A service that runs sees changes at its next request."
)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Args)]
struct File {
    #[command(flatten)]
    place: Place,
    /// The file of tokens; otherwise the one beside the store.
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
}

#[derive(clap::Subcommand)]
enum What {
    /// Make a token and print it.
    New {
        #[command(flatten)]
        file: File,
        /// The site it is for.
        #[arg(long, default_value = "main")]
        site: String,
        /// The role that its bearer may speak in.
        #[arg(long)]
        role: String,
        /// Its bearer may read all conversations of the site.
        #[arg(long)]
        observe: bool,
        /// For how many days.
        #[arg(long, default_value_t = 90)]
        days: u32,
        /// What it is for.
        #[arg(long, default_value = "")]
        note: String,
    },
    /// Give a token another secret; the old one no longer holds.
    Rotate {
        /// The token's id.
        id: String,
        #[command(flatten)]
        file: File,
    },
    /// End a token, and the conversations that were opened with it.
    Revoke {
        /// The token's id.
        id: String,
        #[command(flatten)]
        file: File,
    },
    /// Show the tokens, without their secrets.
    List {
        #[command(flatten)]
        file: File,
    },
}

/// Does it.
pub fn run(a: &Arguments) -> Result<bool, Failure> {
    match &a.what {
        What::New { file, site, role, observe, days, note } => {
            let domain = file.place.load()?;
            if !domain.ontology.roles.contains_key(role.as_str()) {
                let known = domain.ontology.roles.keys().map(|r| &**r).collect::<Vec<_>>().join(", ");
                return Err(Failure::Other(format!("there is no role `{role}`; the domain has {known}")));
            }
            let millis = i64::from(*days) * 86_400_000;
            let new = New { site: site.clone(), role: role.clone(), observe: *observe, millis, note: note.clone() };
            let (token, secret) = keys(file)?.make(new, jiff::Timestamp::now().as_millisecond()).map_err(told)?;
            println!("{secret}");
            eprintln!("token {} for {} as {}; it is not shown again", token.id, token.site, token.role);
        }
        What::Rotate { id, file } => println!("{}", keys(file)?.rotate(id).map_err(told)?),
        What::Revoke { id, file } => {
            keys(file)?.revoke(id).map_err(told)?;
            println!("token {id} is revoked");
        }
        What::List { file } => {
            for t in keys(file)?.list() {
                let until = jiff::Timestamp::from_millisecond(t.expires).map(|t| t.strftime("%Y-%m-%d %H:%M").to_string()).unwrap_or_default();
                println!(
                    "{} site {} role {} until {until}{}{}",
                    t.id,
                    t.site,
                    t.role,
                    if t.observe { ", observes" } else { "" },
                    if t.note.is_empty() { String::new() } else { format!(" ({})", t.note) }
                );
            }
        }
    }
    Ok(true)
}

fn told(e: impl std::fmt::Display) -> Failure {
    Failure::Other(e.to_string())
}

fn keys(file: &File) -> Result<Keys, Failure> {
    let Some(path) = tokens_of(file.tokens.as_ref(), &file.place) else {
        return Err(Failure::Other("a store in memory has no file of tokens: name one with --tokens, or the store with --store".to_owned()));
    };
    Keys::open(&path).map_err(told)
}
