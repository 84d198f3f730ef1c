//! Reasoning over what is told, from given parses in each dialect: answers, least lines, repairs, and faults with their places.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that cannot go on must fail loudly"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};

use duologue::domain::{Domain, Files};
use duologue::eval::dialogues::flaws_of_proofs;
use duologue::eval::reason::{self, Args, Parses};
use duologue::facts::{CommitRule, SessionKey, open_store};
use duologue::reason::{Budget, Reasoner};
use duologue::reasoning::english::Reader;
use duologue::reasoning::formula::{Formula, Value};
use duologue::reasoning::given::{self, Read};
use duologue::reasoning::told::{Rule, Strength, variable};
use duologue::reasoning::{Answer, Engine, Form, Goal, Listener, Literal, Question, Reading, Status, Theory, Told};
use duologue::term::{Atom, Term};
use duologue::turn::replay::Replay;
use duologue::turn::{Clock, Options, Said};

#[path = "reasoning/parses.rs"]
mod parses;

fn engine(profile: &str) -> Engine {
    Engine::load(&Files::built_in(), profile).unwrap()
}

fn answer(engine: &Engine, read: &Read) -> Answer {
    assert_eq!(read.faults, [], "{read:?}");
    engine.answer(&read.theory, read.question.as_ref().unwrap(), Reasoner::Confirm, &Budget::default())
}

fn asked(profile: &str, program: &str) -> Answer {
    answer(&engine(profile), &given::program(program))
}

const ISLAND: &str = "Facts:
Ferry(Otter, True) ::: The Otter is a ferry.
Blue(Otter, True) ::: The Otter is blue.
Owns(Ida, Otter, True) ::: Ida owns the Otter.
Rules:
Ferry($x, True) >>> Boat($x, True) ::: Ferries are boats.
Boat($x, True) && Blue($x, True) >>> Fast($x, False) ::: Blue boats are not fast.
Owns($x, $y, True) && Boat($y, True) >>> Sailor($x, True) ::: Who owns a boat is a sailor.
Sailor($x, True) && Owns($x, Otter, True) >>> Likes($x, Otter, True) ::: Sailors like the Otter if they own it.
";

#[test]
fn rules_with_one_two_and_no_variables_lead_to_three_answers_with_their_lines() {
    let ask = |query: &str| {
        let a = asked("proofwriter", &format!("{ISLAND}Query:\n{query}"));
        (a.value.unwrap(), a.support)
    };
    assert_eq!(ask("Fast(Otter, False)"), ("True".into(), vec![1, 2, 4, 5]));
    assert_eq!(ask("Fast(Otter, True)"), ("False".into(), vec![1, 2, 4, 5]));
    assert_eq!(ask("Likes(Ida, Otter, True)"), ("True".into(), vec![1, 3, 4, 6, 7]));
    assert_eq!(ask("Sailor(Otter, True)"), ("Unknown".into(), vec![]));
    // Rules do not contrapose here: that the Otter is not fast says nothing of what is.
    assert_eq!(ask("Blue(Ida, False)"), ("Unknown".into(), vec![]));
    let closed = asked("prontoqa", &format!("{ISLAND}Query:\nSailor(Otter, False)"));
    assert_eq!(closed.value.as_deref(), Some("False"), "what does not follow is not so, `not a sailor` as little as `a sailor`");
}

#[test]
fn a_contradiction_is_an_answer_with_its_lines_and_spoils_nothing_else() {
    let more = ISLAND.replace("Rules:", "Fast(Otter, True) ::: The Otter is fast.\nRules:");
    let of = |query: &str| asked("proofwriter", &format!("{more}Query:\n{query}"));
    let fast = of("Fast(Otter, True)");
    assert_eq!((fast.value.as_deref(), &*fast.support), (Some("contradiction"), &[1, 2, 4, 5, 6][..]));
    assert_eq!(of("Boat(Otter, True)").value.as_deref(), Some("True"));
}

#[test]
fn formulas_are_entailed_refuted_or_uncertain() {
    let folio = engine("folio");
    let premises: Vec<String> =
        ["∀x (Oak(x) → Tree(x))", "∀x (Tree(x) → ∃y (Root(y) ∧ Has(x, y)))", "Oak(old) ∨ Oak(young)", "¬Oak(young)"].map(str::to_owned).into();
    let ask = |conclusion: &str| {
        let a = answer(&folio, &given::formulas(&premises, conclusion));
        (a.value.unwrap(), a.support, a.proof.iter().any(|p| p.starts_with("bounded")))
    };
    assert_eq!(ask("Tree(old)"), ("True".into(), vec![1, 3, 4], true));
    assert_eq!(ask("∃y (Root(y) ∧ Has(old, y))"), ("True".into(), vec![1, 2, 3, 4], true));
    assert_eq!(ask("¬∃x Oak(x)"), ("False".into(), vec![3], true));
    assert_eq!(ask("Tree(young)"), ("Uncertain".into(), vec![], true));
    let plain = answer(&folio, &given::formulas(&premises[..1], "Tree(old) ⊕ ¬Tree(old)"));
    assert_eq!((plain.value.as_deref(), plain.support.len()), (Some("True"), 0));
    assert!(!plain.proof.iter().any(|p| p.starts_with("bounded")), "{plain:?}");
}

#[test]
fn faults_are_repaired_where_only_one_repair_is_possible_and_told_elsewhere() {
    let open = given::formulas(&["∀x (Oak(x) → Tree(x)".to_owned(), "∀x (Oak(x)) → Tree(x)".to_owned()], "Tree(old))");
    assert_eq!((open.faults.len(), open.repaired), (0, 3));
    assert_eq!(open.theory.told[0].reading, open.theory.told[1].reading, "both mean the same");
    let wrong = given::formulas(&["∀x (Oak(x) → ".to_owned()], "Tree(old");
    assert_eq!(wrong.faults.iter().map(ToString::to_string).collect::<Vec<_>>(), ["line 1, column 13: something is missing at the end"]);
    let denied = given::program("Rules:\n!Wet($x, True) >>> Dry($x, True)\nFacts:\nWet(Moss, False)\nQuery:\nDry(Moss, True)");
    assert_eq!((denied.repaired, answer(&engine("proofwriter"), &denied).value.as_deref()), (1, Some("True")));
}

const SHELF: &str = "Variables:
atlas [IN] [1, 2, 3]
bible [IN] [1, 2, 3]
comic [IN] [1, 2, 3]
Constraints:
atlas > bible ::: The atlas is to the right of the bible.
comic == 1 ::: The comic is the leftmost.
AllDifferentConstraint([atlas, bible, comic]) ::: Each has its own place.
Query:
A) atlas == 2 ::: The atlas is the second.
B) bible == 2 ::: The bible is the second.
C) comic == 2 ::: The comic is the second.
";

#[test]
fn the_option_that_all_solutions_have_is_the_answer_with_its_least_lines() {
    let a = asked("deduction", SHELF);
    assert_eq!((a.value.as_deref(), &*a.support), (Some("B"), &[1, 2, 3][..]));
    let loose = asked("deduction", &SHELF.replace("comic == 1", "comic != 2"));
    assert_eq!((loose.status, loose.value), (Status::Undecided, None), "two orders are left: no option is in both");
    let clash = asked("deduction", &SHELF.replace("comic == 1", "bible == 3"));
    assert_eq!((clash.status, &*clash.support), (Status::Undecided, &[1, 2][..]), "{:?}", clash.proof);
}

const GAME: &str = "# Declarations
guests = EnumSort([Ada, Ben, Cleo])
days = EnumSort([Monday, Tuesday, Wednesday])
sings = Function([guests] -> [days])
paid = Function([guests] -> [bool])

# Constraints
Distinct([g:guests], sings(g)) ::: one a day
sings(Ada) < sings(Ben) ::: Ada sings before Ben
ForAll([g:guests], Implies(paid(g), sings(g) != Monday)) ::: nobody paid sings on Monday
Count([g:guests], paid(g)) == 2 ::: two are paid
";

#[test]
fn games_are_asked_what_must_could_and_cannot_be() {
    let ask = |question: &str, options: &str| {
        let lines = options.split("; ").zip(["A", "B", "C"]).map(|(o, l)| format!("{o} ::: ({l})\n")).collect::<String>();
        asked("lsat", &format!("{GAME}# Options\nQuestion ::: {question}\n{lines}"))
    };
    let must = ask("Which one must be true?", "is_valid(sings(Ben) != Monday); is_valid(sings(Cleo) == Monday); is_valid(paid(Cleo))");
    assert_eq!((must.value.as_deref(), &*must.support), (Some("A"), &[2][..]));
    let can = ask("Which one could be true?", "is_sat(sings(Ben) == Monday); is_sat(And(paid(Ada), paid(Cleo))); is_sat(Abs(sings(Ada) - sings(Ben)) == 2)");
    assert_eq!(can.value.as_deref(), Some("C"), "{:?}", can.proof);
    let except = ask(
        "Each could be true EXCEPT",
        "is_exception(is_sat(sings(Ben) == Tuesday)); is_exception(is_sat(paid(Ben))); is_exception(is_sat(sings(Ben) == Monday))",
    );
    assert_eq!(except.value.as_deref(), Some("C"));
    // The checks leave several; the question says what is meant.
    let words = ask("Which one of the following cannot be true?", "is_sat(paid(Ben)); is_sat(sings(Ada) == Wednesday); is_sat(sings(Cleo) == Monday)");
    assert_eq!(words.value.as_deref(), Some("B"));
    let read = given::program(&GAME.replace("paid(g)", "payed(g)"));
    assert!(read.faults[0].to_string().starts_with("line 10, column "), "{:?}", read.faults);
    assert!(read.faults[0].message.contains("did you mean `paid`"), "{:?}", read.faults);
}

/// What a text alone answers, by a profile: the answer and the lines it rests on.
fn told(profile: &str, text: &[&str], ask: &str) -> (String, Vec<usize>) {
    static LOADED: Mutex<BTreeMap<String, Arc<(Engine, Reader)>>> = Mutex::new(BTreeMap::new());
    let load = || {
        let engine = engine(profile);
        let reader = Reader::load(&Files::built_in(), &engine.profile).unwrap();
        Arc::new((engine, reader))
    };
    let loaded = LOADED.lock().unwrap().entry(profile.to_owned()).or_insert_with(load).clone();
    let (engine, reader) = &*loaded;
    let theory = reader.tell(&text.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>());
    assert_eq!(theory.unread().collect::<Vec<_>>(), [""; 0]);
    let a = engine.answer(&theory, &reader.ask(&theory, ask, &[]), Reasoner::Confirm, &Budget::default());
    (a.value.unwrap_or_else(|| a.proof.join("; ")), a.support)
}

#[test]
fn theories_are_read_with_words_that_stand_nowhere() {
    let text = [
        "Every blorp is a grunk.",
        "Grunks are not shiny.",
        "If something is frumious and it zaps the gimble then it is kind.",
        "Zed is a blorp. Zed zaps the gimble.",
        "Zed is frumious.",
    ];
    assert_eq!(told("proofwriter", &text, "Is this true? Zed is shiny."), ("False".into(), vec![1, 2, 4]));
    assert_eq!(told("proofwriter", &text, "Is this true? Zed is kind."), ("True".into(), vec![3, 4, 5]));
    assert_eq!(told("proofwriter", &text, "Is this true? The gimble is kind."), ("Unknown".into(), vec![]));
}

#[test]
fn things_move_with_who_carries_them() {
    let text = ["Ola walked to the attic.", "Ola picked up the lantern.", "Then she hurried to the barn.", "She put down the lantern.", "Ola ran to the well."];
    let (place, lines) = told("babi", &text, "Where is the lantern?");
    assert_eq!(place, "barn");
    assert!(lines.contains(&3) && lines.contains(&4), "where she went and what she left there: {lines:?}");
    assert_eq!(told("babi", &text, "Where was the lantern before the barn?").0, "attic");
    assert_eq!(told("babi", &text, "Is Ola in the attic?").0, "no");
    assert_eq!(told("babi", &text, "How many things is Ola carrying?").0, "none");
}

#[test]
fn positions_add_up_and_relatives_are_found_through_others() {
    let text = ["K is at the 3 o'clock position relative to M.", "M and T are side by side with M on the top and T at the bottom."];
    assert_eq!(told("stepgame", &text, "What is the relation of the agent K to the agent T?"), ("upper-right".into(), vec![1, 2]));
    let text = ["Ada's brother is called Bo.", "Bo has a daughter named Cleo.", "Cleo went sailing with her son, Dov."];
    assert_eq!(told("kin", &text, "How is Cleo related to Ada?"), ("niece".into(), vec![1, 2]));
    assert_eq!(told("kin", &text, "How is Dov related to Bo?"), ("grandson".into(), vec![2, 3]));
}

/// Rules as data: conditions and heads are about one thing, `x` stands for it.
fn theory(lines: &[(&str, &[&str], Strength, &[&str])]) -> Theory {
    let literal = |t: &str| {
        let (positive, t) = t.strip_prefix('-').map_or((true, t), |t| (false, t));
        let (p, x) = t.split_once(' ').unwrap();
        let x = if x == "x" { variable(1) } else { Term::string(x) };
        Literal { positive, atom: Atom::new(p, vec![x]) }
    };
    let all = |ls: &[&str]| ls.iter().map(|l| literal(l)).collect::<Vec<_>>();
    let told = |(n, (head, body, strength, unless)): (usize, &(&str, &[&str], Strength, &[&str]))| {
        let head = literal(head);
        let reading =
            if body.is_empty() { Reading::Fact(head) } else { Reading::Rule(Rule { head, body: all(body), unless: all(unless), strength: *strength }) };
        Told { line: n + 1, text: String::new(), reading }
    };
    Theory { told: lines.iter().enumerate().map(told).collect(), ..Theory::default() }
}

#[test]
fn defaults_yield_to_what_is_strict_and_to_the_more_specific_and_exceptions_hold() {
    use Strength::{Default, Strict};
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("kb/reason")).unwrap();
    let profile = "modules: [\"apply(strict)\", \"apply(may)\", \"apply(most)\", defaults, told]\nsemantics: { contraposition: true }\n";
    std::fs::write(root.path().join("kb/reason/own.yaml"), profile).unwrap();
    let engine = Engine::load(&Files::folder(root.path()), "own").unwrap();
    let ask = |told: &Theory, p: &str, x: &str| {
        let goal = Goal::Literals(vec![Literal { positive: true, atom: Atom::new(p, vec![Term::string(x)]) }]);
        let q = Question { text: String::new(), form: Form::Truth, goal };
        let a = engine.answer(told, &q, Reasoner::Confirm, &Budget::default());
        (a.value.unwrap_or_else(|| format!("{:?}", a.proof)), a.support)
    };
    // Boats float unless they leak; submarines are boats that do not; Nemo's crew lets theirs float.
    let t = theory(&[
        ("floats x", &["boat x"], Default, &["leaks x"]),
        ("boat x", &["submarine x"], Strict, &[]),
        ("-floats x", &["submarine x"], Default, &[]),
        ("boat Rosa", &[], Strict, &[]),
        ("boat Sieve", &[], Strict, &[]),
        ("leaks Sieve", &[], Strict, &[]),
        ("submarine Nautilus", &[], Strict, &[]),
        ("submarine Surfaced", &[], Strict, &[]),
        ("floats Surfaced", &[], Strict, &[]),
        ("-boat Brick", &[], Strict, &[]),
    ]);
    assert_eq!(ask(&t, "floats", "Rosa"), ("yes".into(), vec![1, 4]));
    assert_eq!(ask(&t, "floats", "Sieve"), ("unknown".into(), vec![]));
    assert_eq!(ask(&t, "floats", "Nautilus"), ("no".into(), vec![3, 7]));
    assert_eq!(ask(&t, "floats", "Surfaced"), ("yes".into(), vec![9]));
    assert_eq!(ask(&t, "submarine", "Brick"), ("no".into(), vec![2, 10]), "strict rules contrapose here");
    assert_eq!(ask(&t, "boat", "Nautilus"), ("yes".into(), vec![2, 7]));
    // Two defaults, neither about fewer than the other.
    let clash = theory(&[
        ("calm x", &["sailor x"], Default, &[]),
        ("-calm x", &["cook x"], Default, &[]),
        ("sailor Ida", &[], Strict, &[]),
        ("cook Ida", &[], Strict, &[]),
        ("sailor Per", &[], Strict, &[]),
    ]);
    assert_eq!(ask(&clash, "calm", "Ida"), ("unknown".into(), vec![]));
    assert_eq!(ask(&clash, "calm", "Per"), ("yes".into(), vec![1, 5]));
}

#[test]
fn a_conversation_has_defaults_exceptions_corrections_and_comparisons() {
    let text = [
        "Robots usually hum.",
        "Gardeners are robots.",
        "Gardeners do not hum.",
        "Tik is a robot.",
        "Tok is a gardener.",
        "Every room is warm unless it is in the tower.",
        "The library is a room.",
        "The gallery is a room.",
        "The gallery is in the tower.",
        "Una is older than Vito.",
        "Vito is older than Wim.",
        "Every robot is polite.",
        "Tik is not polite.",
    ];
    let ask = |q: &str| told("chat", &text, q);
    assert_eq!(ask("Does Tik hum?"), ("yes".into(), vec![1, 4]));
    assert_eq!(ask("Does Tok hum?"), ("no".into(), vec![3, 5]));
    assert_eq!(ask("Is the library warm?"), ("yes".into(), vec![6, 7]));
    assert_eq!(ask("Is the gallery warm?").0, "unknown");
    assert_eq!(ask("Is Wim younger than Una?"), ("yes".into(), vec![10, 11]));
    assert_eq!(ask("Is Tik polite?"), ("contradiction".into(), vec![4, 12, 13]));
    assert_eq!(ask("Is Tok polite?").0, "yes", "a contradiction spoils nothing else");
    let text = ["Every heron is a bird.", "Sia is a heron.", "Forget that every heron is a bird.", "The fair is on Monday.", "Sorry, the fair is on Friday."];
    assert_eq!(told("chat", &text, "Is Sia a bird?").0, "unknown");
    assert_eq!(told("chat", &text, "When is the fair?").0, "Friday");
}

#[test]
fn told_rules_are_no_reason_for_where_something_is() {
    let text = ["Every librarian is patient.", "The blue mug is on the shelf.", "The shelf is in the kitchen."];
    assert_eq!(told("chat", &text, "Where is the blue mug?"), ("kitchen".into(), vec![2, 3]));
}

#[test]
fn loose_wordings_of_talk_are_read() {
    let text = [
        "By the way, any terrier is a dog, as you know.",
        "Dogs count as mammals, but they don't lay eggs.",
        "Our terrier is called Bodo.",
        "You get a badge if you are a ranger.",
        "Ute is a ranger.",
        "Someone with a badge has to pay a fee.",
        "Otto handed the rope to Pia.",
        "She passed it on to Rolf.",
        "The concert is on the 3rd of May.",
        "Sorry, I meant the 5th of May.",
        "When the bell rings, the crew wakes up early.",
        "The bell is ringing.",
    ];
    let ask = |q: &str| told("chat", &text, q);
    assert_eq!(ask("Is Bodo a mammal?"), ("yes".into(), vec![1, 2, 3]));
    assert_eq!(ask("Does Bodo lay eggs?").0, "no");
    assert_eq!(ask("Does Ute get a badge?"), ("yes".into(), vec![4, 5]));
    assert_eq!(ask("Who has the rope now?").0, "Rolf");
    assert_eq!(ask("When is the concert?"), ("5th of May".into(), vec![10]));
    assert_eq!(ask("Does the crew wake up early?"), ("yes".into(), vec![11, 12]));
    let kin = ["Ada, whose brother Bo drives a tram, ran home.", "Ada has just become the mother of Cleo.", "One of Bo's daughters is Dora."];
    assert_eq!(told("kin", &kin, "What relation does Bo have to Cleo?").0, "uncle");
    assert_eq!(told("kin", &kin, "How is Dora related to Bo?").0, "daughter");
}

#[test]
fn questions_and_statements_come_in_many_forms() {
    let text = [
        "Rico's got a boat, a rope and an anchor.",
        "He lends the rope to Sanna.",
        "Sanna takes it to the pier.",
        "Nobody but members gets into the clubhouse.",
        "Not all members dance.",
        "Tove is not a member, but Rico is.",
        "The pier is as old as the clubhouse.",
        "The clubhouse is older than the kiosk.",
        "Uno lives in Bergen. No, he lives in Oslo.",
        "Somebody in the clubhouse sings.",
        "Anyone who forgets their key rings the bell, as everybody knows.",
        "Tove forgot her key.",
    ];
    let ask = |q: &str| told("chat", &text, q);
    assert_eq!(ask("What has Rico got left?").0, "boat, anchor");
    assert_eq!(ask("Where's the rope?"), ("pier".into(), vec![1, 2, 3]));
    assert_eq!(ask("Does Tove get into the clubhouse?"), ("no".into(), vec![4, 6]));
    assert_eq!(ask("Tove gets into the clubhouse, doesn't she?").0, "no", "a tag asks what stands before it");
    assert_eq!(ask("Isn't Rico a member?"), ("yes".into(), vec![6]));
    assert_eq!(ask("Do all members dance?").0, "no", "that not all do is no rule that none or all do");
    assert_eq!(ask("Is the pier older than the kiosk?"), ("yes".into(), vec![7, 8]));
    assert_eq!(ask("Does Uno live in Bergen?"), ("no".into(), vec![9]), "what is corrected is not so");
    assert_eq!(ask("Does Tove sing?").0, "unknown", "somebody is not everybody");
    assert_eq!(ask("And Tove, does she ring the bell?"), ("yes".into(), vec![11, 12]));
    assert_eq!(ask("Is everyone a member?").0, "no", "one is none");
    let kin = ["Peggy is my mum's sister.", "Peggy's husband, Carl, has a daughter, Dana.", "Carl and his wife went home."];
    assert_eq!(told("kin", &kin, "How is Dana related to me?").0, "cousin");
}

#[test]
fn what_has_several_readings_or_several_words_is_answered() {
    let text = [
        "Only licensed divers may borrow the tanks.",
        "Bartholomew is not a licensed diver.",
        "Anything kept in the vault is insured.",
        "A tenant who has signed the lease receives the keys.",
        "Ms Okafor is a tenant, and she has signed the lease.",
        "Coffee is dearer than tea.",
        "Saffron is dearer than coffee.",
        "Everyone has to pay unless they are a child.",
        "Nobody who knows Veit trusts him.",
        "Ute knows Veit.",
        "The blue lamp is heavier than the red one.",
        "No shop in our street sells shoes.",
        "The will is kept in the vault.",
    ];
    let engine = engine("chat");
    let reader = Reader::load(&Files::built_in(), &engine.profile).unwrap();
    let theory = reader.tell(&text.map(str::to_owned));
    assert_eq!(theory.unread().collect::<Vec<_>>(), [""; 0]);
    let ask = |q: &str| {
        let all: Vec<Answer> = reader.asks(&theory, q, &[]).iter().map(|q| engine.answer(&theory, q, Reasoner::Confirm, &Budget::default())).collect();
        let one = all.iter().find(|a| !a.support.is_empty()).unwrap_or(&all[0]);
        (one.value.clone().unwrap_or_default(), one.support.clone())
    };
    assert_eq!(ask("May Bartholomew borrow the tanks?"), ("no".into(), vec![1, 2]), "who is no licensed diver may be a diver");
    assert_eq!(ask("Is Bartholomew a licensed diver?"), ("no".into(), vec![2]));
    assert_eq!(ask("Is Bartholomew a diver?").0, "unknown");
    assert_eq!(ask("Is saffron dearer than tea?"), ("yes".into(), vec![6, 7]), "a capital at the beginning of a sentence makes no other name");
    assert_eq!(ask("Is the will insured?"), ("yes".into(), vec![3, 13]), "what follows an article is a noun");
    assert_eq!(ask("Does Ute have to pay?"), ("yes".into(), vec![8]), "an exception of all may stand without another condition");
    assert_eq!(ask("Does Ute trust Veit?"), ("no".into(), vec![9, 10]), "him is who was named in the sentence");
    assert_eq!(ask("Is the red one lighter than the blue one?"), ("yes".into(), vec![11]));
    assert_eq!(ask("Is there a shop in our street that sells shoes?"), ("no".into(), vec![12]));
    assert_eq!(ask("Who receives the keys?"), ("Ms Okafor".into(), vec![4, 5]), "nobody was seen to give any");
}

#[test]
fn words_beside_a_comparison_repair_it_where_the_program_says_which_end_is_first() {
    let wrong = SHELF.replace("atlas > bible :::", "atlas < bible :::");
    let reader = Reader::load(&Files::built_in(), &engine("deduction").profile).unwrap();
    let plain = given::program_with_words(&wrong, Some(&reader));
    assert_eq!((plain.repaired, answer(&engine("deduction"), &plain).value.as_deref()), (0, Some("A")));
    let mended = given::program_with_words(&format!("Domain:\n1: leftmost\n3: rightmost\n{wrong}"), Some(&reader));
    assert_eq!((mended.repaired, answer(&engine("deduction"), &mended).value.as_deref()), (1, Some("B")));
}

#[test]
fn rules_and_choices_go_together_where_a_profile_says_so() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("kb/reason")).unwrap();
    std::fs::write(root.path().join("kb/reason/own.yaml"), "modules: [\"apply(strict)\", told]\nchoices: [formulas]\nanswer: { separator: \" and \" }\n")
        .unwrap();
    let engine = Engine::load(&Files::folder(root.path()), "own").unwrap();
    let sails = |x: Term| Literal { positive: true, atom: Atom::new("sails", vec![x]) };
    let mut t = theory(&[
        ("sails x", &["sailor x"], Strength::Strict, &[]),
        ("sailor Ida", &[], Strength::Strict, &[]),
        ("sad x", &["sailor x"], Strength::Default, &[]),
    ]);
    let ask = |t: &Theory, p: &str| {
        let goal = Goal::Literals(vec![Literal { positive: true, atom: Atom::new(p, vec![variable(1)]) }]);
        let a = engine.answer(t, &Question { text: String::new(), form: Form::Which, goal }, Reasoner::Confirm, &Budget::default());
        (a.value, a.support)
    };
    assert_eq!(ask(&t, "sails"), (Some("Ida".into()), vec![1, 2]));
    // Per or Ola sails, and not both: whoever does not is Ola.
    let is = |x: &str| Formula::Holds(Value::Call("sails".into(), vec![Value::Name(x.into())]));
    let either = Reading::Formula(Formula::Xor(vec![is("Per"), is("Ola")]));
    t.told.push(Told { line: 4, text: "Either Per or Ola sails.".into(), reading: either });
    assert_eq!(ask(&t, "sails"), (Some("Ida".into()), vec![1, 2]));
    let not_ola = Literal { positive: false, ..sails(Term::string("Ola")) };
    t.told.push(Told { line: 5, text: "Ola does not sail.".into(), reading: Reading::Fact(not_ola) });
    assert_eq!(ask(&t, "sails"), (Some("Per and Ida".into()), vec![1, 2, 4, 5]), "who stands in no words comes last");
    assert_eq!(ask(&t, "sad").0, None, "what is usually so is not so in all models");
}

#[derive(serde::Deserialize)]
struct Conversation {
    name: String,
    turns: Vec<Turn>,
}

#[derive(serde::Deserialize)]
struct Turn {
    say: String,
    has: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
    #[serde(default)]
    restart: bool,
}

/// What no form reads is said plainer and read then; what a rewriting leaves unread stays unread.
#[test]
fn what_is_said_at_length_is_read_in_plainer_words() {
    let text = [
        "The big fellow on our pond, whom the children call Hector, is a cob.",
        "The Petrel, believe it or not, is a ferry, and so is the Tern.",
        "Ines plays the viola and Radko the cello.",
        "Dr Blom is a surgeon, but Dr Nkem isn't one.",
        "Should Hector be hungry, the bell rings.",
        "Gregor speaks Danish.",
        "Radko doesn't.",
    ];
    let yes = |ask: &str, lines: &[usize]| assert_eq!(told("chat", &text, ask), ("yes".into(), lines.to_vec()), "{ask}");
    yes("Is Hector a cob?", &[1]);
    yes("Is the Tern a ferry?", &[2]);
    yes("Does Radko play the cello?", &[3]);
    let no = |ask: &str, lines: &[usize]| assert_eq!(told("chat", &text, ask), ("no".into(), lines.to_vec()), "{ask}");
    no("Is Dr Nkem a surgeon?", &[4]);
    no("Does Radko speak Danish?", &[7]);
    assert_eq!(told("chat", &text, "Does the bell ring?").0, "unknown");
    let engine = engine("chat");
    let reader = Reader::load(&Files::built_in(), &engine.profile).unwrap();
    let odd = reader.tell(&["Ada, who blorp the, is a nurse.".to_owned()]);
    assert_eq!(odd.unread().count(), 1, "{odd:?}");
}

/// A proof names the line that tells what a kind of two words is, and what ended a state that was asked for.
#[test]
fn proofs_name_what_kinds_are_and_what_ended() {
    let text = [
        "Every samoyed is a sled dog.",
        "Sled dogs are dogs.",
        "Every dog is a pet.",
        "Milo is a samoyed.",
        "Luna is not a dog.",
        "Ottla is a sled dog.",
        "Ada, Bo and Cy are in the choir.",
        "Bo has left the choir.",
        "Dora, Eike and Falk live in the red house.",
        "Eike moved to the green house.",
        "Gesa has a rope, a lamp and a tent.",
        "Gesa gave the lamp to Dora.",
        "Gesa sold the tent to Bo.",
    ];
    let ask = |q: &str| told("chat", &text, q);
    assert_eq!(ask("Is Milo a pet?"), ("yes".into(), vec![1, 2, 3, 4]));
    assert_eq!(ask("Is Luna a sled dog?"), ("no".into(), vec![2, 5]));
    assert_eq!(ask("Is Luna a samoyed?"), ("no".into(), vec![1, 2, 5]));
    assert_eq!(ask("Is Ottla a sled dog?"), ("yes".into(), vec![6]), "said in just these words");
    assert_eq!(ask("Who is in the choir?"), ("Ada, Cy".into(), vec![7, 8]));
    assert_eq!(ask("Who lives in the red house?"), ("Dora, Falk".into(), vec![9, 10]));
    assert_eq!(ask("What does Gesa have?"), ("rope".into(), vec![11, 12, 13]));
}

#[test]
fn what_follows_counts_beside_what_is_told() {
    let text = [
        "All midwives are patient.",
        "Olga is a midwife.",
        "The medal is either in the desk or in the safe.",
        "The medal is not in the desk.",
        "The safe is in the cellar.",
        "Ines lives in Porto.",
        "Ines moved to Faro.",
        "Ines moved to Braga.",
        "Every warden carries a torch.",
        "Pavel is a warden.",
        "Rosa carries a torch.",
        "The jug is exactly as expensive as the bowl.",
        "The bowl is more expensive than the cup.",
    ];
    let ask = |q: &str| told("chat", &text, q);
    assert_eq!(ask("Is Olga patient?"), ("yes".into(), vec![1, 2]));
    assert_eq!(ask("Is the medal in the cellar?"), ("yes".into(), vec![3, 4, 5]));
    assert_eq!(ask("Does Ines live in Faro?").0, "no");
    assert_eq!(ask("Does Ines live in Braga?").0, "yes");
    assert_eq!(ask("Where did Ines live before Braga?"), ("Faro".into(), vec![7, 8]));
    assert_eq!(ask("Where did Ines live before Faro?"), ("Porto".into(), vec![6, 7]));
    assert_eq!(ask("Who carries a torch?"), ("Pavel, Rosa".into(), vec![9, 10, 11]));
    assert_eq!(ask("Is the jug more expensive than the bowl?"), ("no".into(), vec![12]));
    assert_eq!(ask("Is the cup cheaper than the jug?"), ("yes".into(), vec![12, 13]));
    let deal = [
        "Ada, Bo and Cy each eat exactly one of soup, rice and fish.",
        "No two of them eat the same thing.",
        "Whoever eats soup needs a spoon.",
        "Ada does not need a spoon.",
        "Bo eats rice.",
    ];
    assert_eq!(told("chat", &deal, "What does Ada eat?"), ("fish".into(), vec![1, 2, 3, 4, 5]));
    assert_eq!(told("chat", &deal, "Who eats soup?").0, "Cy");
    let row = ["Ada, Bo and Cy stand in a queue.", "Ada is somewhere behind Cy.", "Bo is somewhere in front of Cy."];
    assert_eq!(told("chat", &row, "Who is last?"), ("Ada".into(), vec![2, 3]));
    let queue = [
        "Ada, Bo, Cy and Di stand in a queue.",
        "Ada is first.",
        "Bo is between Ada and Cy.",
        "Cy is in front of Di.",
        "The last person in the queue has an umbrella.",
    ];
    assert_eq!(told("chat", &queue, "Who is second?").0, "Bo");
    assert_eq!(told("chat", &queue, "Does Di have an umbrella?").0, "yes");
    assert_eq!(told("chat", &queue, "Does Cy have an umbrella?").0, "unknown");
    let callings = ["Ada, Bo and Cy are a baker, a tiler and a pilot.", "Ada is not the baker.", "Bo is the pilot."];
    assert_eq!(told("chat", &callings, "Who is the baker?"), ("Cy".into(), vec![1, 2, 3]));
    assert_eq!(told("chat", &callings, "Is Ada the tiler?"), ("yes".into(), vec![1, 2, 3]));
    let theory = [
        "Birds usually fly.",
        "Every auk is a bird.",
        "Auks usually dive.",
        "Whatever dives does not fly.",
        "Pip is an auk.",
        "Lawyers usually smile.",
        "Judges usually frown.",
        "Nobody who frowns smiles.",
        "Uno is a lawyer.",
        "Uno is a judge.",
        "Anyone who is taller than Uno has to bend.",
        "Vera is taller than Uno.",
        "Vera is shorter than Wim.",
    ];
    let ask = |q: &str| told("chat", &theory, q);
    assert_eq!(ask("Does Pip dive?"), ("yes".into(), vec![3, 5]), "what is usual of fewer things holds");
    assert_eq!(ask("Does Pip fly?"), ("no".into(), vec![3, 4, 5]));
    assert_eq!(ask("Does Uno smile?").0, "unknown", "neither is usual of fewer things");
    assert_eq!(ask("Does Wim have to bend?"), ("yes".into(), vec![11, 12, 13]));
    let day = [
        "The soup is before the fish.",
        "The fish is before the cheese.",
        "The cake is after the cheese.",
        "The coffee is after the cake.",
        "The speech is before the soup.",
        "The song is after the fish.",
    ];
    assert_eq!(told("chat", &day, "Is the speech before the cheese?"), ("yes".into(), vec![1, 2, 5]));
    assert_eq!(told("chat", &day, "Is the song before the coffee?").0, "unknown");
}

/// How much of what others wrote is answered rightly: tuned on, so this is no measure of unseen words, but it must not get worse.
#[test]
fn what_others_told_and_asked_is_answered_as_well_as_it_was() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/reason/wordings");
    let bars = [
        ("chat", "chat-1-tune", 168, 10),
        ("kin", "kin-1-tune", 42, 0),
        ("chat", "chat-4-tune", 127, 7),
        ("kin", "kin-4-tune", 58, 0),
        ("chat", "chat-6-tune", 140, 16),
        ("kin", "kin-6-tune", 29, 0),
        ("chat", "chat-8-tune", 205, 1),
        ("chat", "chat-10-tune", 252, 3),
    ];
    for (set, file, right, wrong) in bars {
        let data = vec![folder.join(format!("{file}.jsonl"))];
        let parses = Parses::Text;
        let args = Args { set: set.into(), data, parses, predictions: None, reasoner: Reasoner::Fast, audit: 0, jobs: 2, files: Files::built_in() };
        let report = reason::run(&args).unwrap();
        assert!(report.all.right >= right && report.all.answered - report.all.right <= wrong, "{file}\n{report}");
    }
}

/// The reasoning domain on a store file.
fn speaker(store: &std::path::Path, how: Reasoner) -> duologue::turn::Engine {
    static LOADED: LazyLock<(Domain, Arc<Listener>)> = LazyLock::new(|| {
        let files = Files::built_in();
        let domain = Domain::load(&files, "reason").unwrap_or_else(|found| panic!("{found:#?}"));
        let listener = Listener::load(&files, domain.ontology.reads.as_deref().unwrap()).unwrap();
        (domain, Arc::new(listener))
    });
    let (domain, listener) = &*LOADED;
    let store = open_store(&store.to_string_lossy(), CommitRule::WhenNoSessionIsOpen).unwrap();
    let options = Options { reasoner: how, clock: Clock::Fixed(0), audit: 0, remember: true, ..Options::default() };
    duologue::turn::Engine::new(domain.clone(), store).with_understand(listener.clone()).with_options(options)
}

#[test]
fn conversations_go_as_written_and_can_be_taken_again_from_their_log() {
    let all: Vec<Conversation> = serde_saphyr::from_str(include_str!("data/reason/conversations.yaml")).unwrap();
    assert!(all.len() > 5);
    let mut wrong = vec![];
    for c in &all {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("talk.db");
        let mut engine = speaker(&file, Reasoner::Confirm);
        let key = SessionKey::new("main", "talk");
        for t in &c.turns {
            if t.restart {
                drop(engine);
                engine = speaker(&file, Reasoner::Confirm);
            }
            let text = match engine.turn(&key, "speaker", &Said::Text(&t.say), None) {
                Ok(record) => record.text,
                Err(e) => e.to_string(),
            };
            wrong.extend(flaws_of_proofs(&engine, &key).into_iter().map(|flaw| format!("{}: {} -> {flaw}", c.name, t.say)));
            let low = text.to_lowercase();
            let missing: Vec<&String> = t.has.iter().filter(|h| !low.contains(&h.to_lowercase())).collect();
            let extra: Vec<&String> = t.lacks.iter().filter(|l| low.contains(&l.to_lowercase())).collect();
            if !missing.is_empty() || !extra.is_empty() {
                wrong.push(format!("{}: {} -> {text}\n  lacks {missing:?}, has {extra:?}", c.name, t.say));
            }
        }
        let mut again = Replay::new(engine.domain(), "main", CommitRule::WhenNoSessionIsOpen, engine.options().clone());
        let taken: Vec<_> = engine.store().log("main", 0, 500).unwrap().iter().filter_map(|e| again.take(e).unwrap()).collect();
        assert_eq!(taken.len(), c.turns.len(), "{}", c.name);
        wrong.extend(taken.iter().filter(|t| !t.agrees()).map(|t| format!("{}: turn {} comes out otherwise", c.name, t.was.turn)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nonsense_and_endless_words_are_answered_politely() {
    let folder = tempfile::tempdir().unwrap();
    let engine = speaker(&folder.path().join("talk.db"), Reasoner::Fast);
    let key = SessionKey::new("main", "talk");
    let long = "Every blorp that is a grunk is a flurb and ".repeat(240);
    let wide = format!("{}.", (0..60).map(|n| format!("Zed{n} is a blorp")).collect::<Vec<_>>().join(" and "));
    for words in
        ["", "?", "....", "%%%", "\u{0}\u{7f}", "((((", long.as_str(), wide.as_str(), "if if if then then", "forget forget that forget", "why why why not"]
    {
        match engine.turn(&key, "speaker", &Said::Text(words), None) {
            Ok(record) => assert!(!record.text.is_empty(), "{words:?}"),
            Err(e) => assert!(!e.polite().is_empty(), "{words:?}: {e}"),
        }
    }
    let record = engine.turn(&key, "speaker", &Said::Text("Zed is a grunk."), None).unwrap();
    assert!(record.text.contains("line"), "it goes on: {}", record.text);
}
