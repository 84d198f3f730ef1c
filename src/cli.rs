//! The command line: thin commands over the library. Only this module prints.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the command line speaks to a terminal")]

mod agents;
mod bench;
mod chat;
mod check;
mod common;
mod eval;
mod facts;
mod flow;
#[cfg(feature = "serve")]
mod mcp;
mod pages;
mod paraphrase;
mod refine;
mod replay;
#[cfg(feature = "serve")]
mod serve;
mod step;
mod store;
mod test;
#[cfg(feature = "serve")]
mod token;
mod train;
mod understand;
mod used;
mod verify;
mod why;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Language models translate, logic decides: a dialogue engine whose every decision follows rules and can be explained.
#[derive(Parser)]
#[command(name = "duologue", version, max_term_width = 110, after_help = "Start with `duologue chat`. Every command has --help with examples.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Converse in the terminal with the bots of a domain.
    Chat(chat::Arguments),
    /// Take turns as JSON lines: one object in, one object out.
    Step(step::Arguments),
    /// Turn words into predicates, as JSON lines.
    Understand(understand::Arguments),
    /// Run dialogue files and print what differs from their expectations.
    Test(test::Arguments),
    /// Show the facts of a store, with who brought them about.
    Facts(facts::Arguments),
    /// Look after a store: end abandoned sessions, bring in changed files, compare it with its log.
    Store(store::Arguments),
    /// Ask why a turn came out as it did, why something did not happen, or what would have.
    Why(why::Arguments),
    /// Find everything wrong in a domain's files, with place and remedy.
    Check(check::Arguments),
    /// Say what a diagnostic's code means.
    Explain(check::Explain),
    /// Search all short conversations for one that breaks a property of the domain.
    Verify(verify::Arguments),
    /// Draw a flow as DOT or SVG, or an ADL project as DOT.
    Draw(flow::Arguments),
    /// Write an ADL program in today's form, comments kept.
    Export(agents::Export),
    /// Measure against data sets.
    Eval(eval::Arguments),
    /// Learn from a domain's labelled utterances, or cross-validate what is learned.
    Train(train::Arguments),
    /// Other wordings for a domain's sentences, from a model or an author, checked before they are kept.
    Paraphrase(paraphrase::Arguments),
    /// Measure how fast this build is.
    Bench(bench::Arguments),
    /// Change a flow by a remark, by failed dialogues or a patch, or draft one from prose; weighed before it is written.
    Refine(refine::Arguments),
    /// Serve conversations over HTTP.
    #[cfg(feature = "serve")]
    Serve(serve::Arguments),
    /// Hold a conversation as tools of the Model Context Protocol, on standard input and output.
    #[cfg(feature = "serve")]
    Mcp(mcp::Arguments),
    /// Make, rotate, revoke and list operators' tokens for a service.
    #[cfg(feature = "serve")]
    Token(token::Arguments),
    /// Decide every turn of a store again and compare.
    Replay(replay::Arguments),
}

/// Runs the program.
pub fn main() -> ExitCode {
    quiet_pipes();
    let filter = tracing_subscriber::EnvFilter::try_from_env("DUOLOGUE_LOG").unwrap_or_else(|_| "warn".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let arguments = Arguments::parse();
    // A reader that went away ends the command by a panic that unwinds, so that threads still at work are joined.
    let result = match std::panic::catch_unwind(|| run(arguments.command)) {
        Ok(result) => result,
        Err(panic) if is_broken_pipe(&*panic) => return ExitCode::SUCCESS,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result<bool, common::Failure> {
    match command {
        Command::Chat(a) => chat::run(&a),
        Command::Step(a) => step::run(&a),
        Command::Understand(a) => understand::run(&a),
        Command::Test(a) => test::run(&a),
        Command::Facts(a) => facts::run(&a),
        Command::Store(a) => store::run(&a),
        Command::Why(a) => why::run(&a),
        Command::Check(a) => check::run(&a),
        Command::Explain(a) => check::explain(&a),
        Command::Verify(a) => verify::run(&a),
        Command::Draw(a) => flow::draw(&a),
        Command::Export(a) => agents::export(&a),
        Command::Eval(a) => eval::run(&a),
        Command::Train(a) => train::run(&a),
        Command::Paraphrase(a) => paraphrase::run(&a),
        Command::Bench(a) => bench::run(&a),
        Command::Refine(a) => refine::run(&a),
        #[cfg(feature = "serve")]
        Command::Serve(a) => serve::run(&a),
        #[cfg(feature = "serve")]
        Command::Token(a) => token::run(&a),
        #[cfg(feature = "serve")]
        Command::Mcp(a) => mcp::run(&a),
        Command::Replay(a) => replay::run(&a),
    }
}

/// Whether a panic says that the reader of what is printed went away (`duologue … | head`).
fn is_broken_pipe(panic: &(dyn std::any::Any + Send)) -> bool {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.is_some_and(|t| t.starts_with("failed printing to stdout") && t.contains("Broken pipe"))
}

/// Such a panic is not worth a message.
fn quiet_pipes() {
    let standard = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !is_broken_pipe(info.payload()) {
            standard(info);
        }
    }));
}
