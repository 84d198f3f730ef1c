//! Temporary driver.
use duologue::eval::star::*;
fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let states = match a[1].as_str() {
        "own" => States::Own,
        p => States::Oracle(p.into()),
    };
    let protocol = match a[0].as_str() {
        "p5" => Protocol::P5,
        "p2" => Protocol::P2,
        _ => Protocol::P1,
    };
    let args =
        Args { protocol, states, predictions: Some(a[2].clone().into()), dialogues: a[3..].iter().map(Into::into).collect(), rounds: 200, ..Args::default() };
    match run(&args) {
        Ok(r) => println!("{}", r.table()),
        Err(e) => println!("{e}"),
    }
}
