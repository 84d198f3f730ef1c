//! What the template engine says: action lists of the built-in domain against snapshots, and properties of any reply.

use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::ontology::parse;
use crate::term::Term;

const ONTOLOGY: &str = include_str!("../../../kb/drive_thru/ontology.yaml");
const TEMPLATES: &str = include_str!("../../../kb/drive_thru/templates.yaml");
const MENU: &str = include_str!("../../../kb/drive_thru/menu.lp");
const CASES: &str = include_str!("../../../tests/data/render/drive_thru.yaml");

fn ontology(text: &str) -> Ontology {
    let (ontology, diagnostics) = parse::ontology(&Source::new("ontology.yaml", text));
    assert_eq!(diagnostics, vec![]);
    ontology.unwrap()
}

fn load(templates: &str, ontology: &Ontology) -> Templates {
    match Templates::load(&Source::new("templates.yaml", templates), ontology) {
        Ok(t) => t,
        Err(d) => panic!("{}", d.iter().map(|d| format!("{d}\n")).collect::<String>()),
    }
}

fn drive_thru() -> Templates {
    load(TEMPLATES, &ontology(ONTOLOGY))
}

/// `action` or `action <- input`.
fn says(lines: &[String]) -> Vec<Say> {
    lines
        .iter()
        .map(|l| match l.split_once(" <- ") {
            Some((action, input)) => Say { action: Atom::parse(action).unwrap(), input: Some(Atom::parse(input).unwrap()) },
            None => Say { action: Atom::parse(l).unwrap(), input: None },
        })
        .collect()
}

#[derive(Deserialize)]
struct Case {
    name: String,
    #[serde(default = "customer")]
    role: String,
    says: Vec<String>,
}

fn customer() -> String {
    "customer".into()
}

/// The case in several turns, so that every wording is seen.
fn snapshot(templates: &Templates, cases: &str) -> String {
    let cases: Vec<Case> = serde_saphyr::from_str(cases).unwrap();
    let mut out = String::new();
    for case in cases {
        out.push_str(&format!("# {}\n", case.name));
        for s in &case.says {
            out.push_str(&format!("  {s}\n"));
        }
        let mut seen = vec![];
        for turn in 1..=3 {
            let text = templates.render(&says(&case.says), &Tone { role: case.role.clone(), turn, first: false, ..Tone::default() });
            if !seen.contains(&text) {
                out.push_str(&format!("{turn}: {text}\n"));
                seen.push(text);
            }
        }
        out.push('\n');
    }
    out
}

#[test]
fn replies_of_the_built_in_domain() {
    insta::with_settings!({snapshot_path => "../../../tests/data/render", prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!("drive_thru", snapshot(&drive_thru(), CASES));
    });
}

#[test]
fn every_action_has_words() {
    assert_eq!(drive_thru().uncovered(&ontology(ONTOLOGY)), vec![]);
}

/// Menu names by predicate.
fn names(predicate: &str) -> Vec<String> {
    MENU.lines().filter_map(|l| l.strip_prefix(predicate)?.strip_prefix("(\"")?.strip_suffix("\").").map(str::to_owned)).collect()
}

/// A string, a number, or an amount that the reply must hold, with the form it takes.
#[derive(Clone, Debug)]
enum Must {
    Name(String),
    Number(i64),
    Money(i64),
}

fn pick(list: Vec<String>) -> impl Strategy<Value = String> {
    prop::sample::select(list)
}

fn quoted(name: &str) -> String {
    Term::string(name).to_string()
}

fn one_action() -> impl Strategy<Value = (String, Vec<Must>)> {
    let dish = || pick(names("dish"));
    let part = || pick(names("ingredient").into_iter().chain(names("sauce")).collect());
    let combo = || pick(names("combo"));
    let reasons =
        || pick(["unknown_food", "not_ordered", "not_applicable", "already_done", "contradiction", "quantity_limit", "made_up"].map(str::to_owned).to_vec());
    let anything = || "[a-zA-Z \\\\\"{}\\[\\]|%\n]{1,12}".prop_filter("letters", |s: &String| s.chars().any(|c| c.is_ascii_alphabetic()));
    prop_oneof![
        (dish(), 1..2000i64).prop_map(|(d, n)| (format!("confirm(order,{0}) <- order({0},{n})", quoted(&d)), vec![Must::Name(d)])),
        (dish(), part()).prop_map(|(d, p)| (format!("confirm(add,{1}) <- update({0},add,{1})", quoted(&d), quoted(&p)), vec![Must::Name(d), Must::Name(p)])),
        (dish(), part(), 1..40i64).prop_map(|(d, p, n)| (
            format!("confirm(extra,{1}) <- update({0},extra,{1},{n})", quoted(&d), quoted(&p)),
            vec![Must::Name(d), Must::Name(p), Must::Number(n)]
        )),
        (combo(), dish()).prop_map(|(c, d)| (format!("confirm(specify,{1}) <- specify({0},{1})", quoted(&c), quoted(&d)), vec![Must::Name(c), Must::Name(d)])),
        (dish(), part()).prop_map(|(d, p)| (format!("unavailable({},runout({}))", quoted(&d), quoted(&p)), vec![Must::Name(d), Must::Name(p)])),
        part().prop_map(|p| (format!("unavailable({},runout(none))", quoted(&p)), vec![Must::Name(p)])),
        (dish(), 0..5000i64).prop_map(|(d, v)| (format!("answer({},price,{v})", quoted(&d)), vec![Must::Name(d), Must::Money(v)])),
        (dish(), part()).prop_map(|(d, p)| (format!("answer({},add_on,{})", quoted(&d), quoted(&p)), vec![Must::Name(d), Must::Name(p)])),
        (dish(), 1..2000i64, reasons()).prop_map(|(d, n, r)| (format!("reject(order({},{n}),{r})", quoted(&d)), vec![Must::Name(d), Must::Number(n)])),
        (anything(), reasons()).prop_map(|(d, r)| (format!("reject(order({},1),{r})", quoted(&d)), vec![])),
        (1..9i64, dish(), part())
            .prop_map(|(i, d, p)| (format!("check({i},order({}));check({i},update(add,{}))", quoted(&d), quoted(&p)), vec![Must::Name(p)])),
        (1..9i64, dish()).prop_map(|(i, d)| (format!("check({i},update({0},size,large))", quoted(&d)), vec![])),
        any::<i32>().prop_map(|c| (format!("price({c})"), vec![Must::Money(c.into())])),
        (dish(), part()).prop_map(|(d, p)| (format!("warn({},allergy({}))", quoted(&d), quoted(&p)), vec![Must::Name(d), Must::Name(p)])),
        (combo(), dish()).prop_map(|(c, d)| (format!("ask({},{},toppings)", quoted(&c), quoted(&d)), vec![Must::Name(c), Must::Name(d)])),
        Just(("else".to_owned(), vec![])),
        ("[a-z]{1,6}", any::<i32>()).prop_map(|(n, i)| (format!("zz_{n}(f({i}),\"x\")"), vec![Must::Number(i.into())])),
    ]
}

/// Whether the reply says it: a name in any case and number, a number in digits or in words.
fn holds(text: &str, must: &Must) -> bool {
    let lower = text.to_lowercase();
    match must {
        Must::Name(n) => {
            let n = n.to_lowercase();
            let stem = n.strip_suffix('y').unwrap_or(&n);
            lower.contains(&n) || lower.contains(stem)
        }
        Must::Number(n) => text.contains(&n.to_string()) || lower.contains(&english::number(*n)) || (*n == 1),
        Must::Money(c) => text.contains(&english::money("$", *c)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_reply_says_every_name_number_and_amount(actions in prop::collection::vec(one_action(), 0..12), turn in 0..1000u64) {
        let templates = drive_thru_once();
        let lines: Vec<String> = actions.iter().flat_map(|(a, _)| if a.starts_with("check") { a.split(';').map(str::to_owned).collect() } else { vec![a.clone()] }).collect();
        let tone = Tone { role: "customer".into(), turn, first: false, ..Tone::default() };
        let text = templates.render(&says(&lines), &tone);
        prop_assert!(!text.is_empty());
        prop_assert_eq!(&text, &templates.render(&says(&lines), &tone));
        prop_assert!(text.starts_with(|c: char| !c.is_lowercase()));
        for (_, musts) in &actions {
            for must in musts {
                prop_assert!(holds(&text, must), "{:?} is missing in {:?}", must, text);
            }
        }
    }
}

fn drive_thru_once() -> &'static Templates {
    static TEMPLATES: std::sync::OnceLock<Templates> = std::sync::OnceLock::new();
    TEMPLATES.get_or_init(drive_thru)
}

#[test]
fn numbers_of_equal_orders_add_up() {
    let lines = ["confirm(order,\"Pepsi\") <- order(\"Pepsi\",1)", "confirm(order,\"Pepsi\") <- order(\"Pepsi\",2)"].map(str::to_owned);
    let text = drive_thru().render(&says(&lines), &Tone { role: "customer".into(), turn: 0, first: false, ..Tone::default() });
    assert!(text.to_lowercase().contains("three pepsis"), "{text}");
}

const HOSPITAL: &str = r#"
domain: hospital
title: A small clinic
sorts:
  PATIENT: {names: [patient]}
  WARD: {names: [ward]}
  DAYS: {int: {min: 0, max: 400}}
facts:
  - {form: patient(PATIENT), scope: kb}
  - {form: ward(WARD), scope: kb}
roles:
  nurse: {title: the nurse, rules: [], may_change: [], greeting: Hello}
inputs:
  - {form: 'admit(PATIENT, WARD)', roles: [nurse], means: a patient comes in}
actions:
  - {form: 'admitted(PATIENT, WARD)', means: done}
  - {form: 'stays(PATIENT, DAYS)', means: length of stay}
"#;

#[test]
fn a_second_domain_needs_only_its_data() {
    let templates = "
nouns: {plurals: {Child: Children}}
groups:
  - {form: 'on(W)', item: '{items} on {W}', in: moved}
  - {form: moved, say: ['{items|semicolons}.']}
rules:
  - {action: 'admitted(P, W)', in: on(W), item: '{P}'}
  - {action: 'stays(P, D)', say: ['{P} stays {D|number} days.']}
";
    let o = ontology(HOSPITAL);
    let t = load(templates, &o);
    let lines = ["admitted(\"Ann\",\"West\")", "admitted(\"Bo\",\"East\")", "admitted(\"Cy\",\"West\")", "stays(\"Ann\",3)"].map(str::to_owned);
    let text = t.render(&says(&lines), &Tone { role: "nurse".into(), turn: 0, first: true, ..Tone::default() });
    assert_eq!(text, "Ann and Cy on West; Bo on East. Ann stays three days.");
    assert_eq!(t.uncovered(&o), vec![]);
}

#[test]
fn every_mistake_of_a_template_file_has_its_place() {
    let templates = "
groups:
  - {form: 'on(W)', item: '{items} on {V}', in: movd}
  - {form: lonely, say: ['x']}
rules:
  - {action: 'admited(P, W)', in: on(W), item: '{P}'}
  - {action: 'stays(P, D)', say: ['{P} stays {Days|nmber}.', '{P} [open']}
  - {action: 'stays(P', say: ['{P}']}
  - {action: 'stays(P, D)', item: '{P}'}
  - {action: 'stays(P, D)', in: 'on(P, D)', item: '{P|money} {list}'}
";
    let found = Templates::load(&Source::new("templates.yaml", templates), &ontology(HOSPITAL)).unwrap_err();
    let mut lines: Vec<_> = found.iter().map(ToString::to_string).collect();
    lines.sort();
    insta::assert_snapshot!(lines.join("\n"), @r"
    templates.yaml:10:34: error[T006]: the group `on` takes 1 arguments, here are 2
    templates.yaml:10:52: error[T004]: nothing fills the list `list` here
    templates.yaml:3:28: error[T004]: `V` is bound by no pattern of this template
      help: bound here: W
    templates.yaml:3:49: error[T006]: unknown group `movd`
      help: declare it under `groups`
    templates.yaml:4:12: error[T006]: nothing is ever said in the group `lonely`
      help: give a rule `in: lonely` or remove the group
    templates.yaml:6:15: error[T005]: `admited(P, W)` is no action of the ontology
      help: did you mean `admitted`?
    templates.yaml:7:36: error[T008]: no filter or wording is called `nmber`
      help: did you mean `number`?
    templates.yaml:7:63: error[T008]: `[` has no partner
      help: write {Variable|filter} and [optional part]
    templates.yaml:8:15: error[T002]: `stays(P` is no pattern, a comma or a closing bracket was expected
      help: variables are capitals, names are in double quotes
    templates.yaml:9:5: error[T003]: a template needs either `say`, or both `item` and `in`
      help: `say` is a sentence of its own, `item` a part of the group named by `in`
    ");
}

#[test]
#[ignore = "a measurement: cargo test --release --lib render::templates::tests::speed -- --ignored --nocapture"]
fn speed() {
    let templates = drive_thru();
    let cases: Vec<Case> = serde_saphyr::from_str(CASES).unwrap();
    let mut times = vec![];
    for turn in 0..50 {
        for case in &cases {
            let says = says(&case.says);
            let tone = Tone { role: case.role.clone(), turn, first: false, ..Tone::default() };
            let start = std::time::Instant::now();
            let text = templates.render(&says, &tone);
            times.push(start.elapsed());
            assert!(!text.is_empty());
        }
    }
    times.sort();
    eprintln!("p50 {:?} p99 {:?} max {:?} over {}", times[times.len() / 2], times[times.len() * 99 / 100], times[times.len() - 1], times.len());
}
