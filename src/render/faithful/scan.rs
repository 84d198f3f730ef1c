//! Reading a reply: sentences, words, and what in them is checkable: names, numbers and amounts.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::text::{self, ENGLISH, is_currency};

/// A word or number with its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// As written, in lower case.
    pub word: String,
    /// Without the ending of a plural or a verb form.
    pub stem: String,
    /// Whether a currency sign stands before it.
    pub money: bool,
}

impl Token {
    /// What a stem keeps, since words end so, may be a name's plural all the same: pepsis.
    fn one(&self) -> Option<&str> {
        self.word.strip_suffix('s')
    }
}

/// Something in a text that must be accounted for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entity {
    /// A known name.
    Name(String),
    /// A number, in hundredths where it has a fraction.
    Number(i64),
    /// An amount of money in hundredths.
    Money(i64),
}

impl std::fmt::Display for Entity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(n) => write!(f, "`{n}`"),
            Self::Number(n) if n % 100 == 0 => write!(f, "the number {}", n / 100),
            Self::Number(n) => write!(f, "the number {}.{:02}", n / 100, n % 100),
            Self::Money(n) => write!(f, "the amount {}.{:02}", n / 100, n % 100),
        }
    }
}

/// Known names, arranged for finding the longest at a place. A copy shares the site's names and adds a reply's own.
#[derive(Clone, Debug, Default)]
pub struct NameIndex {
    site: Arc<ByFirst>,
    own: ByFirst,
}

/// Names by the first of their word stems, longest first.
type ByFirst = BTreeMap<String, Vec<(Vec<String>, String)>>;

impl NameIndex {
    /// An index of names.
    pub fn new<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Self {
        let mut site = ByFirst::new();
        for name in names {
            add(&mut site, name.as_ref());
        }
        Self { site: Arc::new(site), own: ByFirst::new() }
    }

    /// The same with more names. A word of them that holds a number names too, and counts nothing: the 5-Layer.
    #[must_use]
    pub fn with<S: AsRef<str>>(&self, names: impl IntoIterator<Item = S>) -> Self {
        let mut index = self.clone();
        for name in names {
            let numbered = |w: &&str| w.contains(|c: char| c.is_ascii_digit()) && w.contains(char::is_alphabetic);
            name.as_ref().split_whitespace().filter(numbered).chain([name.as_ref()]).for_each(|n| add(&mut index.own, n));
        }
        index
    }

    /// The longest name at the beginning of the tokens, and how many it takes.
    pub fn longest_at<'a>(&'a self, tokens: &[Token]) -> Option<(&'a str, usize)> {
        let fits = |stems: &[String]| tokens.len() >= stems.len() && stems.iter().zip(tokens).all(|(s, t)| *s == t.stem || t.one() == Some(s));
        let first = tokens.first()?;
        let best =
            |map: &'a ByFirst| [Some(&*first.stem), first.one()].into_iter().flatten().filter_map(|f| map.get(f)).flatten().find(|(stems, _)| fits(stems));
        // The site's spelling is preferred, so that both texts give the same entity for the same name.
        let (site, own) = (best(&self.site), best(&self.own));
        [site, own].into_iter().flatten().reduce(|a, b| if b.0.len() > a.0.len() { b } else { a }).map(|(stems, name)| (name.as_str(), stems.len()))
    }
}

fn add(map: &mut ByFirst, name: &str) {
    let stems: Vec<String> = tokens(name).into_iter().map(|t| t.stem).collect();
    let Some(first) = stems.first().cloned() else { return };
    let list = map.entry(first).or_default();
    if !list.iter().any(|(s, _)| *s == stems) {
        list.push((stems, name.to_owned()));
        list.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then(a.1.cmp(&b.1)));
    }
}

/// The names, numbers and amounts of a passage, in order.
pub fn read(text: &str, names: &NameIndex) -> Vec<Entity> {
    let all = tokens(text);
    let mut entities = vec![];
    let mut at = 0;
    while let Some(rest) = all.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some((name, length)) = names.longest_at(rest) {
            entities.push(Entity::Name(name.to_owned()));
            at += length;
        } else if let Some((entity, length)) = amount_at(rest).or_else(|| number_at(rest)) {
            entities.extend(entity);
            at += length;
        } else {
            at += 1;
        }
    }
    entities.dedup();
    entities
}

/// The sentences of a text: a full stop, question or exclamation mark ends one when white space or the end follows, and so does a line. The items
/// of a list are one sentence with each other and with the heading or question before them, without their marks; where one has a comma of its
/// own, none joins it to the others.
pub fn sentences(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let (mut listed, mut several) = (false, false);
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        let (item, plain) = (item(line), item(line).unwrap_or(line).replace("**", ""));
        let before = out.pop_if(|last| if item.is_some() { listed || last.ends_with([':', '?']) } else { !listed && last.ends_with(':') });
        let parted = std::mem::replace(&mut several, plain.contains(", ")) && listed || several;
        listed = item.is_some();
        out.extend(match before {
            Some(before) if listed => {
                let stem = before.trim_end_matches(['.', ';', ',', '?']);
                let joint = Some(if parted { ";" } else { "," }).filter(|_| !stem.ends_with(':')).unwrap_or_default();
                let end = if before.ends_with('?') { "?" } else { "" };
                vec![format!("{stem}{joint} {}{end}", plain.trim())]
            }
            before => {
                let line = before.map_or_else(|| plain.clone(), |before| format!("{before} {plain}"));
                let ends: Vec<usize> = [0].into_iter().chain(ends(&line)).chain([line.len()]).collect();
                ends.windows(2).filter_map(|w| line.get(*w.first()?..*w.last()?)).map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).collect()
            }
        });
    }
    out
}

/// Takes the complete sentences out of a text that is still growing: what follows them is known.
pub fn take_sentences(open: &mut String) -> Vec<String> {
    let (mut safe, mut start, mut heads) = (0, 0, true);
    for line in open.split_inclusive('\n') {
        let plain = item(line).is_none() && (line.ends_with('\n') || line.trim_start().len() > 3);
        if plain && !heads && !line.trim().is_empty() {
            safe = start;
        }
        if let Some(end) = ends(line).last().filter(|_| plain) {
            safe = start + end;
        }
        if !line.trim().is_empty() {
            heads = line.trim_end().ends_with(':');
        }
        start += line.len();
    }
    let rest = open.split_off(safe);
    sentences(&std::mem::replace(open, rest))
}

/// What an item of a list says, without the mark before it.
fn item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let mark = if (1..3).contains(&(line.len() - digits.len())) { digits.strip_prefix(['.', ')']) } else { line.strip_prefix(['-', '*', '•', '–', '·']) };
    mark.filter(|said| said.starts_with([' ', '\t'])).map(str::trim)
}

/// Where sentences of a line end before its own end: behind "a.m." a sentence goes on in small letters.
fn ends(line: &str) -> Vec<usize> {
    let mut out = Vec::new();
    let mut ended = false;
    for (at, c) in line.char_indices() {
        let (said, rest) = (line.get(..at).unwrap_or_default(), line.get(at..).unwrap_or_default());
        let noon = [" a.m.", " p.m."].iter().any(|half| said.ends_with(half));
        let next = rest.chars().find(|c| !c.is_whitespace());
        let goes_on = next.map_or(noon || c == '\n', |next| noon && next.is_lowercase());
        if ended && c.is_whitespace() && !goes_on {
            out.push(at);
        }
        ended = matches!(c, '.' | '!' | '?' | '…') || ended && matches!(c, '"' | '”' | ')' | '*');
    }
    out
}

/// The words and numbers of a text.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut word = String::new();
    let mut money = false;
    let mut previous = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let inner = match c {
            '\'' | '’' => !word.is_empty() && chars.peek().is_some_and(|n| n.is_alphanumeric()),
            // A point or comma within digits belongs to the number.
            '.' | ',' => previous.is_ascii_digit() && chars.peek().is_some_and(char::is_ascii_digit),
            c => c.is_alphanumeric(),
        };
        if inner {
            if word.is_empty() {
                money = is_currency(previous);
            }
            word.extend(text::plain(if c == '’' { '\'' } else { c }));
        } else if !word.is_empty() {
            out.push(token(std::mem::take(&mut word), money || is_currency(c)));
        }
        // A percent sign is a word of its own, so that it must be accounted for.
        if c == '%' || is_currency(c) && !chars.peek().is_some_and(char::is_ascii_digit) && !previous.is_ascii_digit() {
            out.push(token(c.to_string(), false));
        }
        previous = c;
    }
    if !word.is_empty() {
        out.push(token(word, money));
    }
    out
}

fn token(word: String, money: bool) -> Token {
    Token { stem: stem(&word), word, money }
}

/// The word without plural, possessive and verb endings: rough, but the same for both texts that are compared.
pub fn stem(word: &str) -> String {
    let word = word.strip_suffix("'s").unwrap_or(word);
    let n = word.chars().count();
    let cut = |ending: &str, least: usize| word.strip_suffix(ending).filter(|_| n >= least).map(str::to_owned);
    if let Some(stem) = cut("ies", 5) {
        return stem + "y";
    }
    for ending in ["ches", "shes", "sses", "xes", "zes"] {
        if word.ends_with(ending) && n > 4 {
            return word.strip_suffix("es").unwrap_or(word).to_owned();
        }
    }
    if word.ends_with("ss") || word.ends_with("us") || word.ends_with("is") {
        return word.to_owned();
    }
    cut("ing", 6).or_else(|| cut("ed", 6)).or_else(|| cut("s", 3)).unwrap_or_else(|| word.to_owned())
}

const MULTIPLES: [(&str, i64); 14] = [
    ("both", 2),
    ("couple", 2),
    ("pair", 2),
    ("twice", 2),
    ("double", 2),
    ("triple", 3),
    ("thrice", 3),
    ("trio", 3),
    ("dozen", 12),
    ("half", 0),
    ("quarter", 0),
    ("hundred", 100),
    ("thousand", 1_000),
    ("million", 1_000_000),
];

fn place(list: &[String], word: &str) -> Option<i64> {
    list.iter().position(|w| *w == word && !w.is_empty()).and_then(|i| i64::try_from(i).ok())
}

/// The word at a place, nothing where there is none.
pub fn word(tokens: &[Token], at: usize) -> &str {
    tokens.get(at).map_or("", |t| &t.word)
}

/// A small number by itself.
pub fn number(word: &str) -> Option<i64> {
    place(&ENGLISH.units, word).or_else(|| word.parse().ok())
}

fn unit(token: &Token) -> bool {
    ENGLISH.is_money(&token.stem)
}

/// A number at the beginning of the tokens and how many it takes. A spoken "one" is an article or pronoun like "a" and gives no entity.
fn number_at(tokens: &[Token]) -> Option<(Option<Entity>, usize)> {
    let first = tokens.first()?;
    let word = first.word.as_str();
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        let money = first.money || tokens.get(1).is_some_and(unit);
        let value = hundredths(word);
        // Digits that are no plain number (a date, a code) are still there, as a number that nothing supports.
        return Some((Some(if money { Entity::Money(value) } else { Entity::Number(value) }), 1));
    }
    if let Some(ten) = place(&ENGLISH.tens, word) {
        let unit = tokens.get(1).and_then(|t| place(&ENGLISH.units, &t.word)).filter(|u| (1..10).contains(u));
        let (value, length) = unit.map_or((ten * 10, 1), |u| (ten * 10 + u, 2));
        return Some(scaled(value, length, tokens));
    }
    if let Some(unit) = place(&ENGLISH.units, word) {
        let scale = tokens.get(1).is_some_and(|t| matches!(t.word.as_str(), "hundred" | "thousand" | "million"));
        if unit == 1 && !scale {
            return Some((None, 1));
        }
        return Some(scaled(unit, 1, tokens));
    }
    if let Some(ordinal) = place(&ENGLISH.ordinals, word) {
        return Some((Some(Entity::Number(ordinal * 100)), 1));
    }
    // To double check something counts nothing.
    let counts = word != "double" || tokens.get(1).is_none_or(|t| t.stem != "check");
    MULTIPLES.iter().find(|(m, _)| counts && (*m == word || first.stem == *m)).map(|(_, n)| (Some(Entity::Number(n * 100)), 1))
}

/// "five dollars and twenty-nine cents", "30 cents", "five twenty-nine", "a buck fifty".
fn amount_at(tokens: &[Token]) -> Option<(Option<Entity>, usize)> {
    let word = |at: usize| word(tokens, at);
    let small = |at: usize| match number_at(tokens.get(at..)?)? {
        (Some(Entity::Number(n)), length) if (1_000..10_000).contains(&n) && !word(at).starts_with(|c: char| c.is_ascii_digit()) => {
            Some((n / 100, at + length))
        }
        _ => None,
    };
    if word(0) == "a" && ENGLISH.is_money(word(1)) {
        let (n, end) = small(2).unwrap_or((0, 2));
        return Some((Some(Entity::Money(100 + n)), end));
    }
    if let Some((whole, (n, end))) = place(&ENGLISH.units, word(0)).filter(|n| *n > 0).zip(small(1)) {
        return Some((Some(Entity::Money(whole * 100 + n)), end));
    }
    let cents = |at: usize| match number_at(tokens.get(at..)?)? {
        (Some(Entity::Number(n)), length) if tokens.get(at + length)?.stem == "cent" => Some((n / 100, at + length + 1)),
        _ => None,
    };
    if let Some((n, end)) = cents(0) {
        return Some((Some(Entity::Money(n)), end));
    }
    let (Some(Entity::Money(whole)), length) = number_at(tokens)? else { return None };
    // "$5 and 29 cents" has its unit before it; in "$5 or 29 cents" there are two amounts.
    let next = length + usize::from(tokens.get(length).is_some_and(unit));
    let and = usize::from(tokens.get(next)?.word == "and");
    let (n, end) = cents(next + and)?;
    Some((Some(Entity::Money(whole + n)), end))
}

fn scaled(value: i64, length: usize, tokens: &[Token]) -> (Option<Entity>, usize) {
    let (mut value, mut length) = (value, length);
    while let Some((_, scale)) = tokens.get(length).and_then(|t| MULTIPLES.iter().filter(|(_, n)| *n >= 100).find(|(m, _)| *m == t.word)) {
        value = value.saturating_mul(*scale);
        length += 1;
    }
    let money = tokens.get(length).is_some_and(unit);
    let value = value.saturating_mul(100);
    (Some(if money { Entity::Money(value) } else { Entity::Number(value) }), length)
}

/// A written number in hundredths; what is none counts as one that no action can hold.
fn hundredths(word: &str) -> i64 {
    let digits: String = word.chars().take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ',')).collect();
    let rest = word.get(digits.len()..).unwrap_or("");
    let odd = i64::MIN;
    if !matches!(rest, "" | "st" | "nd" | "rd" | "th" | "x" | "'s") {
        return odd;
    }
    let (whole, fraction) = digits.rsplit_once('.').unwrap_or((&digits, ""));
    let whole: Option<i64> = whole.replace(',', "").parse().ok();
    let fraction: Option<i64> = match fraction.len() {
        0 => Some(0),
        1 => fraction.parse::<i64>().ok().map(|f| f * 10),
        2 => fraction.parse().ok(),
        _ => None,
    };
    whole.zip(fraction).and_then(|(w, f)| w.checked_mul(100)?.checked_add(f)).unwrap_or(odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entities(text: &str) -> Vec<String> {
        let names = NameIndex::new(["Soft Taco", "Soft Taco Supreme", "7-Layer Burrito", "Pepsi", "Beans", "Cravings Box"]);
        read(text, &names).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_are_the_longest_and_in_any_number() {
        assert_eq!(entities("two soft tacos and a Soft Taco Supreme"), ["the number 2", "`Soft Taco`", "`Soft Taco Supreme`"]);
        assert_eq!(entities("A 7-Layer Burrito with beans, three Cravings Boxes."), ["`7-Layer Burrito`", "`Beans`", "the number 3", "`Cravings Box`"]);
        assert_eq!(entities("the Pepsi's size is large"), ["`Pepsi`"]);
    }

    #[test]
    fn numbers_in_every_form() {
        for (text, expected) in [
            ("$7.57", vec!["the amount 7.57"]),
            ("7 dollars, 7.5", vec!["the amount 7.00", "the number 7.50"]),
            ("1,250 calories", vec!["the number 1250"]),
            ("twenty-five, the 13th, the second", vec!["the number 25", "the number 13", "the number 2"]),
            ("two hundred, a dozen, both", vec!["the number 200", "the number 12", "the number 2"]),
            ("which one, one Pepsi, a Pepsi", vec!["`Pepsi`"]),
            ("number 1", vec!["the number 1"]),
            ("half off, 50% less", vec!["the number 0", "the number 50"]),
            ("five twenty-nine, a buck fifty", vec!["the amount 5.29", "the amount 1.50"]),
            ("$5 and 29 cents, $2.99, or 30 cents more", vec!["the amount 5.29", "the amount 2.99", "the amount 0.30"]),
        ] {
            assert_eq!(entities(text), expected, "{text}");
        }
    }

    #[test]
    fn sentences_end_where_they_end() {
        assert_eq!(sentences("That's $7.57. Is that right? Bye!"), ["That's $7.57.", "Is that right?", "Bye!"]);
        assert_eq!(sentences("no end\nsecond line"), ["no end", "second line"]);
        assert_eq!(sentences("  "), Vec::<String>::new());
        assert_eq!(sentences("At 2 p.m. on Monday. At 3 p.m. Bye."), ["At 2 p.m. on Monday.", "At 3 p.m.", "Bye."]);
    }

    #[test]
    fn a_list_is_one_sentence() {
        let text = "Here is **yours**:\n\n- 2 Pepsis\n* a taco.\n\nThat's $5. Which one?\n1. This\n2) That\nBye.";
        let all = ["Here is yours: 2 Pepsis, a taco.", "That's $5.", "Which one, This, That?", "Bye."];
        assert_eq!(sentences(text), all);
        assert_eq!(sentences("Yours:\n- a taco, no onions\n- a Pepsi"), ["Yours: a taco, no onions; a Pepsi"]);
        // However the text comes in, the sentences are the same.
        for size in [1, 3, 7] {
            let (mut open, mut out) = (String::new(), vec![]);
            for piece in text.as_bytes().chunks(size) {
                open.push_str(std::str::from_utf8(piece).unwrap());
                out.extend(take_sentences(&mut open));
            }
            out.extend(sentences(&open));
            assert_eq!(out, all, "{size}");
        }
    }
}
