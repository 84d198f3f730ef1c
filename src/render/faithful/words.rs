//! Words of a reply: a text as tokens without contractions, and every way to say a number, an amount or a counted name.

use crate::render::english::Nouns;
use crate::text::english::Money;
use crate::text::{self, ENGLISH};

/// A run of tokens.
pub type Phrase = Vec<String>;

/// A sign that may part words of one clause: a comma, a colon, a bracket.
pub const PAUSE: &str = ",";
/// Signs that part clauses or items: a semicolon, a dash, a picture. All are one token.
pub const BREAK: &str = ";";
/// Signs that end a statement.
pub const STOP: &str = ".";
/// Pictures that say nothing but friendliness.
const SMILES: &str = "🙂😊😀😃😄😁😉☺🤗🥰😋🤤🙌👏👌👍🙏👋🎉🥳✨🌟⭐💛💚💙💜🧡❤🌮🌯🍽🌱🥤\u{fe0f}";

/// What stands before two that are known.
pub const BOTH: [&str; 8] = ["both", "both of the", "both of your", "both of those", "both of these", "both the", "both your", "both those"];

/// Words that are several.
const SHORT: [(&str, &str); 14] = [
    ("cannot", "can not"),
    ("let's", "let us"),
    ("d'you", "do you"),
    ("y'all", "you all"),
    ("outta", "out of"),
    ("gonna", "going to"),
    ("wanna", "want to"),
    ("gotta", "got to"),
    ("lemme", "let me"),
    ("gimme", "give me"),
    ("getcha", "get you"),
    ("whatcha", "what you"),
    ("ain't", "is not"),
    ("ya", "you"),
];

/// The tokens of a text: words in small letters with contractions written out, numbers, and every other sign by itself.
pub fn tokens(text: &str) -> Phrase {
    let chars: Vec<char> = text.chars().map(|c| if c == '’' { '\'' } else { c }).collect();
    let at = |i: usize| chars.get(i).copied();
    let mut out = Phrase::new();
    let mut i = 0;
    while let Some(c) = at(i) {
        let before = i.checked_sub(1).and_then(at);
        if c.is_alphanumeric() {
            let start = i;
            while at(i).is_some_and(|c| inner(c, at(i.wrapping_sub(1)), at(i + 1))) {
                i += 1;
            }
            let word: String = chars.get(start..i).unwrap_or_default().iter().copied().flat_map(text::plain).collect();
            // Half of the day, with points: "10 a.m."; the last of them may end the sentence too.
            if matches!(word.as_str(), "a" | "p") && at(i) == Some('.') && matches!(at(i + 1), Some('m' | 'M')) && at(i + 2) == Some('.') {
                out.push(word + "m");
                i += if (i + 3..chars.len()).all(|i| at(i).is_some_and(char::is_whitespace)) { 2 } else { 3 };
                continue;
            }
            // "cravin'" lacks its last letter.
            if word.ends_with("in") && at(i) == Some('\'') && !at(i + 1).is_some_and(char::is_alphanumeric) {
                expand(&(word + "g"), &mut out);
                i += 1;
                continue;
            }
            expand(&word, &mut out);
            continue;
        }
        i += 1;
        // "'em" and "'cause" lack their first letters.
        let lacks = |rest: &str, whole: &str| {
            let said = rest.chars().enumerate().all(|(n, c)| at(i + n).is_some_and(|t| t.eq_ignore_ascii_case(&c)));
            (c == '\'' && said && !at(i + rest.len()).is_some_and(char::is_alphanumeric)).then(|| (whole.to_owned(), rest.len()))
        };
        if let Some((whole, length)) = lacks("em", "them").or_else(|| lacks("cause", "because")) {
            out.push(whole);
            i += length;
            continue;
        }
        match c {
            c if c.is_whitespace() => {}
            ',' | ':' | '(' | ')' => pause(&mut out, PAUSE),
            ';' | '—' | '–' => pause(&mut out, BREAK),
            c if SMILES.contains(c) => pause(&mut out, BREAK),
            // A hyphen parts the halves of a word; between blanks it is a dash; anywhere else it may be a minus.
            '-' if before.is_some_and(char::is_alphanumeric) && at(i).is_some_and(char::is_alphanumeric) => {}
            '-' if before.is_some_and(char::is_whitespace) && at(i).is_some_and(char::is_whitespace) => pause(&mut out, BREAK),
            '.' | '!' => ended(&mut out, STOP.into()),
            '?' => ended(&mut out, "?".into()),
            // A sentence's own mark may stand within the quotation that ends it.
            '"' | '”' if out.last().is_some_and(|last| last == STOP) => {
                out.pop();
                out.extend([c.to_string(), STOP.into()]);
            }
            c => out.push(c.to_string()),
        }
    }
    out
}

/// The text with its years in full where two digits stand for them: born in '72.
pub fn years(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(['\'', '’']) {
        let alone = !before.ends_with(char::is_alphanumeric) && !behind.chars().nth(2).is_some_and(|c| c.is_alphanumeric() || matches!(c, '\'' | '’'));
        let digits = behind.get(..2).filter(|d| alone && d.bytes().all(|b| b.is_ascii_digit()));
        let mark = rest.get(before.len()..rest.len() - behind.len()).unwrap_or_default();
        out += before;
        out += &digits.and_then(|d| d.parse().ok()).map_or_else(|| mark.to_owned(), |d| ENGLISH.year(d).to_string());
        rest = if digits.is_some() { behind.get(2..).unwrap_or_default() } else { behind };
    }
    out + rest
}

/// Parts two clauses, where one stands before; the stronger of two signs counts.
fn pause(out: &mut Phrase, sign: &str) {
    match out.last_mut() {
        Some(last) if parts(last) && sign == BREAK => sign.clone_into(last),
        Some(last) if !parts(last) && last != STOP => out.push(sign.to_owned()),
        _ => {}
    }
}

/// Whether a token parts words or clauses.
pub fn parts(token: &str) -> bool {
    token == PAUSE || token == BREAK
}

/// Ends a sentence; several marks are one, and no pause stands before them.
fn ended(out: &mut Phrase, mark: String) {
    if out.last().is_some_and(|last| parts(last)) {
        out.pop();
    }
    if mark != STOP || out.last().is_none_or(|last| last != STOP) {
        out.push(mark);
    }
}

fn inner(c: char, before: Option<char>, after: Option<char>) -> bool {
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    match c {
        '\'' => after.is_some_and(char::is_alphabetic) && before.is_some_and(char::is_alphanumeric),
        '.' | ',' | ':' => digit(before) && digit(after),
        c => c.is_alphanumeric(),
    }
}

fn expand(word: &str, out: &mut Phrase) {
    let mut push = |w: &str| out.push(w.to_owned());
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        let (word, own) = word.strip_suffix("'s").map_or((word, None), |word| (word, Some("'s")));
        let groups: Vec<&str> = word.split(',').collect();
        let grouped = groups.iter().skip(1).all(|g| g.split('.').next().is_some_and(|g| g.len() == 3)) && groups.first().is_some_and(|g| g.len() < 4);
        push(&if grouped { groups.concat() } else { word.to_owned() });
        return own.into_iter().for_each(push);
    }
    if let Some((_, full)) = SHORT.iter().find(|(short, _)| *short == word) {
        return full.split(' ').for_each(push);
    }
    let Some((stem, end)) = word.rsplit_once('\'').filter(|_| word != "o'clock") else { return push(word) };
    let end = match end {
        "t" if stem.ends_with('n') => {
            push(ENGLISH.verb_denied(stem).unwrap_or(stem));
            return push("not");
        }
        "s" => "'s",
        end => match ENGLISH.long(end) {
            Some(long) => long,
            None => return push(word),
        },
    };
    push(stem);
    push(end);
}

/// Whether a token of the text is what a phrase asks for there.
pub fn fits(wanted: &str, token: &str) -> bool {
    wanted == token || (token == "'s" && matches!(wanted, "is" | "has"))
}

/// The words that a phrase may ask for where this token stands.
pub fn firsts(token: &str) -> impl Iterator<Item = &str> {
    [token].into_iter().chain(["is", "has"].into_iter().filter(move |w| *w != token && fits(w, token)))
}

/// A number below a million in words.
fn spelled(n: usize) -> String {
    let rest = |n: usize, and: &str| if n == 0 { String::new() } else { format!(" {and}{}", spelled(n)) };
    match n {
        0..20 => ENGLISH.units.get(n).cloned().unwrap_or_default(),
        20..100 => format!("{}{}", ENGLISH.tens.get(n / 10).map_or("", String::as_str), rest(n % 10, "")),
        100..1_000 => format!("{} hundred{}", spelled(n / 100), rest(n % 100, "and ")),
        _ => format!("{} thousand{}", spelled(n / 1_000), rest(n % 1_000, if n % 1_000 < 100 { "and " } else { "" })),
    }
}

/// Every way to say a whole number.
pub fn numerals(n: i64) -> Vec<Phrase> {
    let mut out = vec![tokens(&n.to_string())];
    if let Some(n) = usize::try_from(n).ok().filter(|n| *n < 1_000_000) {
        let words = tokens(&spelled(n));
        out.push(words.iter().filter(|w| *w != "and").cloned().collect());
        out.push(words);
        if (1_100..2_000).contains(&n) {
            out.push(tokens(&format!("{} {}", spelled(n / 100), spelled(n % 100))));
        }
    }
    out
}

/// Every way to say a place in a row.
pub fn ordinals(n: i64) -> Vec<Phrase> {
    let word = crate::render::english::ordinal(n);
    let mut out: Vec<Phrase> = numerals(n).into_iter().map(|w| [vec!["number".to_owned()], w].concat()).collect();
    out.push(tokens(&word));
    out
}

/// Every way to say an amount of hundredths in a currency.
pub fn money(sign: &str, cents: i64) -> Vec<Phrase> {
    let (whole, rest) = (cents / 100, cents % 100);
    let plain = format!("{whole}.{:02}", rest.abs());
    let mut out = vec![tokens(&crate::render::english::money(sign, cents))];
    if cents < 0 {
        let plain = money(sign, cents.saturating_neg());
        out.extend(["minus", "negative"].iter().flat_map(|sign| plain.iter().map(|w| [vec![(*sign).to_owned()], w.clone()].concat())));
        return out;
    }
    let Some(Money { unit, part, also }) = ENGLISH.money(sign) else { return out };
    let named = |n: i64, name: &str| {
        let name = if n == 1 || name == "pence" { name.to_owned() } else { format!("{name}s") };
        numerals(n).into_iter().map(move |w| [w, vec![name.clone()]].concat())
    };
    out.extend([tokens(&format!("{plain} {unit}s")), tokens(&plain)]);
    // "Five twenty-nine", "a buck fifty".
    if whole > 0 && rest > 9 {
        out.extend(
            numerals(whole)
                .iter()
                .flat_map(|w| numerals(rest).into_iter().map(|p| [w.clone(), p].concat()))
                .filter(|w| w.iter().all(|w| w.parse::<i64>().is_err())),
        );
    }
    for name in [Some(unit), also.as_ref()].into_iter().flatten().filter(|_| whole == 1) {
        out.extend(numerals(rest).into_iter().map(|p| [tokens("a"), tokens(name), if rest == 0 { vec![] } else { p }].concat()));
    }
    match (whole, rest) {
        (_, 0) => {
            out.push(tokens(&format!("{sign}{whole}")));
            out.extend(named(whole, unit));
            out.extend(also.iter().flat_map(|also| named(whole, also)));
        }
        (0, _) => out.extend(named(rest, part)),
        _ => {
            for joint in [vec![], vec!["and".to_owned()]] {
                out.extend(named(whole, unit).flat_map(|w| named(rest, part).map(move |p| (w.clone(), p))).map(|(w, p)| [w, joint.clone(), p].concat()));
            }
        }
    }
    out
}

/// Every way to say an hour of the day.
pub fn hours(hour: i64) -> Vec<Phrase> {
    let (half, told) = match hour {
        ..12 => ("am", "in the morning"),
        12..18 => ("pm", "in the afternoon"),
        _ => ("pm", "in the evening"),
    };
    let short = match hour {
        0 => 12,
        h if h > 12 => h - 12,
        h => h,
    };
    let mut out = vec![tokens(&crate::render::english::clock(hour * 60)), tokens(&format!("{hour}:00"))];
    for bare in numerals(hour) {
        out.push([bare.clone(), tokens("o'clock")].concat());
        out.push(bare);
    }
    for bare in numerals(short).into_iter().chain([tokens(&format!("{short}:00"))]) {
        for behind in [half, told] {
            out.push([bare.clone(), tokens(behind)].concat());
            out.push([bare.clone(), tokens("o'clock"), tokens(behind)].concat());
        }
    }
    // Nobody is seen at two at night.
    if (13..=18).contains(&hour) {
        out.extend(numerals(short));
    }
    if hour == 12 {
        out.push(tokens("noon"));
    }
    out.extend(tokens(&format!("{short}{half}")).first().map(|w| vec![w.clone()]));
    out
}

/// Every way to say the number before a noun; one may be said by nothing but the singular.
pub fn before_noun(n: i64) -> Vec<Phrase> {
    let more: &[&str] = match n {
        1 => &["a", "an", "some", "", "a single", "just one"],
        2 => &["a couple of", "a pair of"],
        _ => &[],
    };
    numerals(n).into_iter().chain(more.iter().map(|w| tokens(w))).chain([vec![format!("{n}x")], vec![n.to_string(), "x".into()]]).collect()
}

/// Every way to say the number behind a noun.
pub fn behind_noun(n: i64) -> Vec<Phrase> {
    let bare = |w: Phrase| [[vec![PAUSE.to_owned()], w.clone()].concat(), [vec![PAUSE.to_owned()], w, tokens("of them")].concat()];
    let times = if n > 1 { numerals(n).into_iter().map(|w| [w, tokens("times")].concat()).collect() } else { vec![] };
    let twice = (n == 2).then(|| tokens("twice"));
    numerals(n).into_iter().flat_map(bare).chain([vec![format!("x{n}")], vec!["x".into(), n.to_string()]]).chain(times).chain(twice).collect()
}

/// A name as it stands, and a plural also in the singular: eggs, an egg allergy.
pub fn either_number(name: &str) -> Vec<Phrase> {
    let single = name.strip_suffix('s').filter(|s| s.len() > 2 && !s.ends_with('s') && !s.ends_with(|c: char| "aiu".contains(c)));
    [Some(name), single].into_iter().flatten().map(tokens).collect()
}

/// Every form of a name behind its number.
pub fn noun(nouns: &Nouns, n: i64, name: &str) -> Vec<Phrase> {
    let counted = nouns.counted(n, "", name);
    let mut out: Vec<Phrase> = counted.split_once(' ').map(|(_, noun)| tokens(noun)).into_iter().collect();
    out.push(tokens(&if n == 1 { nouns.said(name) } else { nouns.plural(name) }));
    out.sort();
    out.dedup();
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_digits_stand_for_a_year() {
        for (text, full) in [("born '93", "born 1993"), ("born in ’08.", "born in 2008."), ("'72'", "'72'"), ("it's 5'10, '7", "it's 5'10, '7")] {
            assert_eq!(super::years(text), full);
        }
    }
}
