//! Rendering by a model: what is faithful passes, what is not never reaches the listener, and the template's own text raises no alarm.

use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock, Mutex};

use duologue::domain::{Domain, Files};
use duologue::facts::memory::MemoryStore;
use duologue::facts::{CommitRule, SessionKey};
use duologue::llm::{Api, BlockingModel, ChatReply, ChatRequest, Embeddings, Model, ModelError, OnText, Shaping, Usage};
use duologue::reason::Reasoner;
use duologue::render::faithful::scan::{Entity, NameIndex, sentences};
use duologue::render::faithful::{Faithful, unsupported};
use duologue::render::llm::{By, LlmRender, RenderPrompts};
use duologue::render::{Render, Say, Tone};
use duologue::term::{Atom, Term};
use duologue::turn::{Engine, Options, Said};
use duologue::understand::llm::forms::Forms;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::server::{Act, Server};
use crate::support::{NAMES, completion, config, model};

static DOMAIN: LazyLock<Domain> = LazyLock::new(|| Domain::load(&Files::built_in(), "drive_thru").unwrap());

static ALL: LazyLock<Vec<String>> = LazyLock::new(|| NAMES.all().iter().map(ToString::to_string).collect());

/// A number generator of our own, so that a failing case can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % below.max(1)
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.roll(list.len())]
    }
}

/// A renderer that writes down what it was asked to say.
#[derive(Default)]
struct Spy(Mutex<Vec<(Vec<Say>, Tone)>>);

impl Render for Spy {
    fn render(&self, says: &[Say], tone: &Tone) -> String {
        self.0.lock().unwrap().push((says.to_vec(), tone.clone()));
        DOMAIN.templates.render(says, tone)
    }
}

fn random_atom(dice: &mut Dice, forms: &Forms, hot: &[String]) -> Option<Atom> {
    let form = dice.pick(&forms.forms);
    let most = if dice.roll(9) == 0 { 40 } else { 4 };
    let mut object = serde_json::Map::new();
    object.insert("form".into(), json!(form.text));
    for field in &form.fields {
        let kind = &forms.kinds[&field.sort];
        let names: Vec<String> = NAMES.of_facts(&kind.facts).into_iter().map(ToString::to_string).collect();
        let near: Vec<String> = names.iter().filter(|n| hot.contains(n)).cloned().collect();
        let value = match dice.roll(6) {
            0 if kind.new => json!({"said": "grilled lobster wrap"}),
            0..=2 if !near.is_empty() => json!(dice.pick(&near)),
            0..=4 if !names.is_empty() => json!(dice.pick(&names)),
            _ if kind.int.is_some() => json!(1 + dice.roll(most)),
            _ if !kind.constants.is_empty() => json!(**dice.pick(&kind.constants)),
            _ => json!(dice.pick(&names)),
        };
        object.insert(field.key.clone(), value);
    }
    let reply = json!({ "predicates": [object] }).to_string();
    forms.read(&reply, "grilled lobster wrap", &NAMES, 1).ok()?.pop()
}

/// What the engine said in so many turns of random conversations of both roles.
fn turns(count: usize, seed: u64) -> Vec<(Vec<Say>, Tone)> {
    let spy = Arc::new(Spy::default());
    let options = Options { reasoner: Reasoner::Fast, ..Options::default() };
    let engine = Engine::new(DOMAIN.clone(), Arc::new(MemoryStore::new(CommitRule::default()))).with_render(spy.clone()).with_options(options);
    let (mut dice, mut session, mut hot) = (Dice(seed), 0, Vec::new());
    let roles = [Forms::of(&DOMAIN.ontology, "customer"), Forms::of(&DOMAIN.ontology, "manager")];
    while spy.0.lock().unwrap().len() < count {
        session += 1;
        hot.clear();
        let manager = session % 5 == 0;
        let forms = &roles[usize::from(manager)];
        let key = SessionKey::new(&format!("s{}", session / 40), &format!("c{session}"));
        for turn in 0..12 {
            let mut said: Vec<String> = Vec::new();
            for _ in 0..=dice.roll(3) {
                if let Some(atom) = random_atom(&mut dice, forms, &hot) {
                    hot.extend(atom.args.iter().filter_map(|t| if let Term::Str(s) = t { Some(s.to_string()) } else { None }));
                    said.push(atom.to_string());
                }
            }
            if turn > 7 && !manager {
                said = vec![["completed", "deny", "affirm", "completed", "review"][dice.roll(5)].to_owned()];
            }
            let _ = engine.turn(&key, if manager { "manager" } else { "customer" }, &Said::Predicates(&said), None);
        }
    }
    let mut all = std::mem::take(&mut *spy.0.lock().unwrap());
    all.truncate(count);
    all
}

/// The term with other names and numbers, the same ones for the same.
fn renamed(term: &Term, shift: usize, dice: &mut Dice) -> Term {
    match term {
        Term::Str(s) => match ALL.iter().position(|n| **n == **s) {
            Some(at) => Term::string(&ALL[(at + shift) % ALL.len()]),
            None => term.clone(),
        },
        Term::Int(n) if *n > 26 => Term::Int(n / 2 + i32::try_from(dice.roll(3_000)).unwrap()),
        Term::Fun(f, args) => Term::Fun(f.clone(), args.iter().map(|a| renamed(a, shift, dice)).collect()),
        other => other.clone(),
    }
}

/// Replies, made once for all tests here: those of real conversations, and the same with other names and amounts.
static TURNS: LazyLock<Vec<(Vec<Say>, Tone)>> = LazyLock::new(|| {
    let mut all = turns(250, 0x5eed);
    let mut dice = Dice(0xd1ce);
    while all.len() < 10_000 {
        let (says, tone) = all[dice.roll(250)].clone();
        let shift = 1 + dice.roll(ALL.len() - 1);
        let mut other = |atom: &Atom| Atom { name: atom.name.clone(), args: atom.args.iter().map(|t| renamed(t, shift, &mut Dice(77))).collect() };
        let says = says.iter().map(|s| Say { action: other(&s.action), input: s.input.as_ref().map(&mut other) }).collect();
        all.push((says, Tone { turn: tone.turn + shift as u64, ..tone }));
    }
    all
});

fn faithful() -> Faithful {
    DOMAIN.faithful()
}

/// Beyond 64 actions nobody but the template speaks.
#[test]
fn template_replies_raise_no_alarm() {
    let faithful = faithful();
    let mut alarms = Vec::new();
    for (says, tone) in TURNS.iter().step_by(20).filter(|(says, _)| says.len() <= 64) {
        let text = DOMAIN.templates.render(says, tone);
        if let Err(violation) = faithful.check(&text, says, tone, &*DOMAIN.templates) {
            alarms.push(format!("{violation}: {text}"));
        }
    }
    assert!(alarms.is_empty(), "{} of {}:\n{}", alarms.len(), TURNS.len(), alarms[..alarms.len().min(10)].join("\n"));
}

/// Names that are also common words of the templates ("a drink", "which side") say nothing about the menu.
fn common(entity: &Entity) -> bool {
    matches!(entity, Entity::Name(n) if matches!(n.as_str(), "Drink" | "Side" | "Freeze"))
}

#[test]
fn every_number_price_and_name_of_the_templates_comes_from_the_predicates() {
    let names = NameIndex::new(NAMES.all());
    let mut foreign = Vec::new();
    for (says, tone) in TURNS.iter() {
        let text = DOMAIN.templates.render(says, tone);
        let found: Vec<String> = unsupported(&text, says, &names).iter().filter(|e| !common(e)).map(ToString::to_string).collect();
        if !found.is_empty() {
            foreign.push(format!("{found:?}: {text}"));
        }
    }
    assert!(foreign.is_empty(), "{}:\n{}", foreign.len(), foreign[..foreign.len().min(10)].join("\n"));
}

/// What an unfaithful model does to a draft; every change alters what is said. Kinds that not every draft allows are
/// tried one after the other from where the dice say, so that each gets its share.
fn twisted(dice: &mut Dice, draft: &str) -> (&'static str, String) {
    let kinds: &[usize] = if dice.roll(2) == 0 { &[6, 7, 8, 9, 10, 11, 12] } else { &[0, 1, 2, 3, 4, 5] };
    let first = dice.roll(kinds.len());
    let found = (0..kinds.len()).find_map(|k| twist(kinds[(first + k) % kinds.len()], dice, draft));
    found.unwrap_or(("promise", format!("{draft} It is all free.")))
}

fn twist(kind: usize, dice: &mut Dice, draft: &str) -> Option<(&'static str, String)> {
    let list = sentences(draft);
    let at = dice.roll(list.len());
    let mut changed = list.clone();
    let kind = match kind {
        0 => {
            changed.push("And it is on the house!".into());
            "promise"
        }
        1 => {
            changed.push("We will have it ready in five minutes.".into());
            "time"
        }
        2 => {
            changed.insert(at, "You should really try our Nacho Fries.".into());
            "foreign offer"
        }
        3 => {
            changed.push("That is $1.00 off for you.".into());
            "discount"
        }
        4 => {
            changed.push("Would you like to pay by card?".into());
            "foreign question"
        }
        5 => {
            changed.push("The manager said everything is free today.".into());
            "injected"
        }
        6 => {
            let sentence = changed.remove(at);
            if !sentence.contains('$') && !sentence.contains("out of") {
                return None;
            }
            "dropped total or refusal"
        }
        7 => {
            let text = draft.replacen('$', "$1", 1);
            if text == draft {
                return None;
            }
            return Some(("price", text));
        }
        8 => {
            let pairs =
                [("two ", "three "), ("three ", "two "), ("both ", "three "), ("four ", "five "), (" a ", " two "), ("13", "31"), ("12", "21"), ("25", "24")];
            let (from, to) = dice.pick(&pairs);
            if !draft.contains(from) {
                return None;
            }
            return Some(("number", draft.replacen(from, to, 1)));
        }
        9 => {
            let names: Vec<String> = ALL.iter().filter(|n| n.contains(' ') && draft.contains(n.as_str())).cloned().collect();
            if names.is_empty() {
                return None;
            }
            let name = dice.pick(&names).clone();
            let all: Vec<String> = ALL.iter().filter(|n| !draft.contains(n.as_str()) && !name.contains(n.as_str()) && !n.contains(&name)).cloned().collect();
            return Some(("name", draft.replacen(&name, dice.pick::<String>(&all), 1)));
        }
        10 => {
            let pairs = [
                ("can't", "can"),
                ("we're out of", "we have"),
                ("don't", "do"),
                ("isn't", "is"),
                ("doesn't", "does"),
                ("run out of", "got"),
                ("no more", "plenty of"),
            ];
            let (from, to) = dice.pick(&pairs);
            if !draft.contains(from) {
                return None;
            }
            return Some(("refusal turned round", draft.replacen(from, to, 1)));
        }
        11 => {
            let pairs = [
                ("regular", "large"),
                ("large", "regular"),
                ("less ", "extra "),
                ("extra ", "less "),
                ("grilled", "fresco style"),
                ("fresco style", "grilled"),
            ];
            let (from, to) = dice.pick(&pairs);
            let text = draft.replacen(from, to, 1);
            if text == draft || draft.contains(to.trim()) && draft.matches(from).count() != 1 {
                return None;
            }
            return Some(("constant", text));
        }
        _ => {
            if !list[at].chars().any(|c| c.is_ascii_uppercase()) || list[at].len() < 30 {
                return None;
            }
            changed.push(list[at].clone());
            "said twice"
        }
    };
    Some((kind, changed.join(" ")))
}

/// A model that a test plays.
struct Played<F>(F);

impl<F: Fn(&ChatRequest) -> String + Send + Sync> Model for Played<F> {
    fn name(&self) -> &str {
        "played"
    }

    fn shaping(&self) -> Shaping {
        Shaping::Unshaped
    }

    fn chat<'a>(&'a self, request: &'a ChatRequest) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(async move { Ok(ChatReply { text: (self.0)(request), usage: Usage { calls: 1, ..Usage::default() } }) })
    }

    fn stream<'a>(&'a self, request: &'a ChatRequest, on_text: &'a mut OnText<'a>) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(async move {
            let text = (self.0)(request);
            for piece in text.split_inclusive([' ', 'o']) {
                if on_text(piece) == ControlFlow::Break(()) {
                    return Err(ModelError::Stopped);
                }
            }
            Ok(ChatReply { text, usage: Usage { calls: 1, ..Usage::default() } })
        })
    }

    fn embed<'a>(&'a self, _: &'a [String]) -> BoxFuture<'a, Result<Embeddings, ModelError>> {
        Box::pin(async { Err(ModelError::Unsupported("embeddings")) })
    }
}

fn draft_of(request: &ChatRequest) -> String {
    let turn = &request.messages[0].text;
    serde_json::from_str::<Value>(turn.trim().strip_prefix("Draft: ").unwrap()).unwrap().as_str().unwrap().to_owned()
}

fn renderer(play: impl Fn(&ChatRequest) -> String + Send + Sync + 'static) -> LlmRender {
    let prompts = RenderPrompts::with("Test", |_| None).unwrap();
    LlmRender::new(BlockingModel::new(Arc::new(Played(play))), DOMAIN.templates.clone(), faithful(), prompts)
}

#[test]
fn nothing_unfaithful_reaches_the_listener() {
    let dice = Mutex::new(Dice(0xbad));
    let last = Arc::new(Mutex::new(None));
    let told = last.clone();
    let render = renderer(move |request| {
        let draft = draft_of(request);
        let (kind, text) = twisted(&mut dice.lock().unwrap(), &draft);
        *told.lock().unwrap() = Some((kind, text.clone()));
        text
    });
    let (mut passed, mut kinds) = (Vec::new(), std::collections::BTreeMap::new());
    for (says, tone) in TURNS.iter().step_by(25) {
        let rendering = render.compose(says, tone);
        let (kind, text) = last.lock().unwrap().take().unwrap();
        *kinds.entry(kind).or_insert(0) += 1;
        if rendering.text != rendering.template {
            passed.push(format!("{kind}: {text}\n   for: {}", rendering.template));
        }
    }
    assert!(passed.is_empty(), "{}:\n{}", passed.len(), passed[..passed.len().min(12)].join("\n"));
    assert!(kinds.len() >= 13 && kinds.values().sum::<usize>() == 400, "{kinds:?}");
    assert_eq!((render.share().turns, render.share().fallback), (400, 400));
}

#[test]
fn nothing_unfaithful_is_released_while_it_streams() {
    let dice = Mutex::new(Dice(0xace));
    let render = renderer(move |request| twisted(&mut dice.lock().unwrap(), &draft_of(request)).1);
    let names = NameIndex::new(NAMES.all());
    for (says, tone) in TURNS.iter().step_by(20) {
        let mut said = Vec::new();
        let rendering = render.stream(says, tone, &mut |s| said.push(s.to_owned()));
        assert_eq!(said.join(" "), rendering.text, "what was released is what counts");
        let plain = sentences(&rendering.template);
        assert!(sentences(&rendering.text).iter().all(|s| plain.contains(s)), "released sentences and the template's rest: {}", rendering.text);
        assert_eq!(unsupported(&rendering.text, says, &names).into_iter().find(|e| !common(e)), None);
    }
}

fn say(action: &str, input: Option<&str>) -> Say {
    Say { action: Atom::parse(action).unwrap(), input: input.map(|i| Atom::parse(i).unwrap()) }
}

#[test]
fn free_wording_passes_if_it_says_the_same() {
    let says = [
        say("confirm(order,\"Soft Taco\")", Some("order(\"Soft Taco\",2)")),
        say("unavailable(\"Crunchy Taco\",runout(\"Lettuce\"))", Some("order(\"Crunchy Taco\",1)")),
        say("else", None),
    ];
    let (faithful, tone) = (faithful(), Tone { role: "customer".into(), ..Tone::default() });
    let check = |text: &str| faithful.check(text, &says, &tone, &*DOMAIN.templates);
    for good in [
        "So you'd like two Soft Tacos. I'm sorry, we can't make a Crunchy Taco right now, we're out of lettuce. Would you like anything else?",
        "Unfortunately we've run out of lettuce, so the Crunchy Taco isn't available at the moment. Two Soft Tacos coming right up! What else can I get you?",
        "I've got you down for 2 Soft Tacos, but we can't make the Crunchy Taco because we're out of lettuce. Anything else?",
    ] {
        assert_eq!(check(good), Ok(()), "{good}");
    }
    for bad in [
        "Three Soft Tacos, got it. Sorry, we can't make a Crunchy Taco right now: we're out of lettuce. What else would you like?",
        "Two Crunchy Tacos, got it. Sorry, we can't make a Soft Taco right now: we're out of lettuce. What else would you like?",
        "Two Soft Tacos, got it. What else would you like?",
        "Two Soft Tacos, got it. Sorry, we can't make a Crunchy Taco right now: we're out of lettuce.",
        "Two Soft Tacos, got it. Sorry, we can't make a Crunchy Taco right now: we're out of tomatoes. What else would you like?",
        "Two Soft Tacos, got it. We can make a Crunchy Taco right now: we're out of lettuce. What else would you like?",
        "Sure, we can't make a Crunchy Taco right now: we're out of lettuce. Two Soft Tacos, got it. What else would you like?",
        "Two Soft Tacos, two Soft Tacos, got it. Sorry, we can't make a Crunchy Taco right now: we're out of lettuce. What else would you like?",
        "",
    ] {
        assert!(check(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_faithful_model_s_words_are_used_and_a_wrong_text_is_asked_again_once() {
    let says = [say("confirm(order,\"Soft Taco\")", Some("order(\"Soft Taco\",2)")), say("price(757)", None)];
    let tone = Tone { role: "customer".into(), turn: 1, first: false, ..Tone::default() };
    let template = DOMAIN.templates.render(&says, &tone);
    let render = renderer(|request| format!("Great! {}", draft_of(request).replace("You'd like", "So that's").replace("comes to", "is")));
    let rendering = render.compose(&says, &tone);
    assert_eq!((rendering.by, rendering.text.starts_with("Great! "), rendering.violations), (By::Model, true, vec![]), "{}", rendering.text);
    let render = renderer(|request| if request.messages.len() == 1 { "All free!".into() } else { draft_of(request) });
    let rendering = render.compose(&says, &tone);
    assert_eq!((rendering.by, rendering.text.as_str(), rendering.usage.calls, rendering.violations.len()), (By::Retry, template.as_str(), 2, 1));
    let render = renderer(|_| "All free!".into());
    let rendering = render.compose(&says, &tone);
    assert_eq!((rendering.by, rendering.text.as_str(), rendering.usage.calls, rendering.violations.len()), (By::Template, template.as_str(), 2, 2));
}

#[test]
fn a_failing_server_leaves_the_template_s_text() {
    let says = [say("price(757)", None)];
    let tone = Tone::default();
    let template = DOMAIN.templates.render(&says, &tone);
    for act in [
        Act::Close,
        Act::status(500, ""),
        Act::json(""),
        Act::json(completion(&"x".repeat(20 << 20))),
        Act::Silence(2_000),
        Act::json(completion("$7.58 please.")),
    ] {
        let server = Server::start(move |_| act.clone());
        let prompts = RenderPrompts::with("Test", |_| None).unwrap();
        let render = LlmRender::new(model(config(&server, Api::OpenAi)), DOMAIN.templates.clone(), faithful(), prompts);
        let rendering = render.compose(&says, &tone);
        assert_eq!((rendering.text, rendering.by), (template.clone(), By::Template));
    }
}

#[test]
fn a_stream_that_breaks_is_finished_by_the_template_and_nothing_is_said_twice() {
    let says = [say("confirm(order,\"Soft Taco\")", Some("order(\"Soft Taco\",2)")), say("price(757)", None), say("else", None)];
    let tone = Tone { role: "customer".into(), turn: 3, first: false, ..Tone::default() };
    let template = DOMAIN.templates.render(&says, &tone);
    let first = sentences(&template)[0].clone();
    let event = json!({"choices":[{"index":0,"delta":{"content": format!("{first} The to")}}]});
    let server =
        Server::start(move |_| Act::Pieces { content_type: "text/event-stream", pieces: vec![(0, format!("data: {event}\n\n").into_bytes())], end: false });
    let prompts = RenderPrompts::with("Test", |_| None).unwrap();
    let render = LlmRender::new(model(config(&server, Api::OpenAi)), DOMAIN.templates.clone(), faithful(), prompts);
    let mut said = Vec::new();
    let rendering = render.stream(&says, &tone, &mut |s| said.push(s.to_owned()));
    assert_eq!((rendering.by, rendering.text.as_str(), said.len()), (By::Mixed, template.as_str(), 2));
    assert_eq!(rendering.fault, Some("broken_off"));
}

/// What is denied, how large a thing is, and what there is another of belongs to one thing; names and years may be cut short.
#[test]
fn what_is_told_belongs_to_its_own_thing() {
    let faithful = faithful();
    let check = |says: &[(&str, Option<&str>)], text: &str| {
        let says: Vec<Say> = says.iter().map(|(action, input)| say(action, *input)).collect();
        faithful.check(text, &says, &Tone { role: "customer".into(), ..Tone::default() }, &*DOMAIN.templates)
    };
    let bowl = [
        ("confirm(order,\"Cantina Chicken Bowl\")", Some("order(\"Cantina Chicken Bowl\",1)")),
        ("confirm(no,\"Guacamole\")", Some("update(\"Cantina Chicken Bowl\",no,\"Guacamole\")")),
        ("confirm(order,\"Steak Quesadilla\")", Some("order(\"Steak Quesadilla\",1)")),
    ];
    let drinks = [
        ("confirm(order,\"Pepsi\")", Some("order(\"Pepsi\",1)")),
        ("confirm(order,\"Starry\")", Some("order(\"Starry\",1)")),
        ("confirm(size,large)", Some("update(\"Starry\",size,large)")),
    ];
    let pico = [
        ("confirm(order,\"Nachos BellGrande Combo\")", Some("order(\"Nachos BellGrande Combo\",1)")),
        ("confirm(add,\"Pico de Gallo\")", Some("update(\"Nachos BellGrande\",add,\"Pico de Gallo\")")),
    ];
    let line = [("check(1,order(\"Soft Taco\"))", None), ("check(1,update(no,\"Guacamole\"))", None), ("check(1,update(add,\"Jalapenos\"))", None)];
    let gone = [
        ("confirm(replace,\"Wild Cherry Freeze\")", Some("replace(\"Blue Raspberry Freeze\",\"Wild Cherry Freeze\")")),
        ("sure(update(\"Blue Raspberry Freeze\",size,large))", None),
    ];
    for (says, good) in [
        (&bowl[..], "One Cantina Chicken Bowl with no guacamole, as well as one Steak Quesadilla."),
        (&bowl[..], "A Cantina Chicken Bowl, no guacamole, and then a Steak Quesadilla."),
        (&bowl[..], "A Cantina Chicken Bowl without guacamole; Steak Quesadilla."),
        (&bowl[..], "A Cantina Chicken Bowl minus guacamole, and Steak Quesadilla."),
        (&drinks[..], "A Pepsi and a Starry, in large."),
        (&pico[..], "A Nachos BellGrande Combo with pico on the nachos."),
        (&line[..], "One Soft Taco with jalapenos, guacamole left off."),
    ] {
        assert_eq!(check(says, good), Ok(()), "{good}");
    }
    for (says, bad) in [
        (&bowl[..], "A Cantina Chicken Bowl minus guacamole and Steak Quesadilla."),
        (&drinks[..], "A Starry and a Pepsi, in large."),
        (&drinks[..], "I've added a Pepsi and a Starry and made them large."),
        (&drinks[..1], "I've added another Pepsi."),
        (&line[..], "One Soft Taco with jalapenos and guacamole left off."),
        (&gone[..], "A Wild Cherry Freeze in place of the Blue Raspberry Freeze. Shall I make it large?"),
    ] {
        assert!(check(says, bad).is_err(), "{bad}");
    }
}
