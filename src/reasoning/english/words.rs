//! Words of a sentence and their forms: what a reader without a dictionary knows of English words.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::diag::Source;
use crate::domain::read_facts;
use crate::term::Atom;
use crate::text::ENGLISH;

/// One word as it stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// In lower case.
    pub lower: String,
    /// As written.
    pub shown: String,
}

impl Word {
    /// Whether it begins with a capital letter.
    pub fn capital(&self) -> bool {
        self.shown.chars().next().is_some_and(char::is_uppercase)
    }
}

/// One sentence: its words and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// Words, commas and colons.
    pub words: Vec<Word>,
    /// As written.
    pub text: String,
    /// Whether it ends with a question mark.
    pub asks: bool,
}

/// After these `'s` is no owner.
const IS_SHORTENED: [&str; 12] = ["it", "he", "she", "that", "there", "here", "who", "what", "where", "when", "how", "everyone"];

/// Splits a text into sentences.
pub fn sentences(text: &str) -> Vec<Sentence> {
    let mut out = Vec::new();
    let mut words: Vec<Word> = Vec::new();
    let mut shown = String::new();
    for raw in text.split_whitespace() {
        let raw = raw.trim_matches(|c| matches!(c, '"' | '“' | '”' | '(' | ')'));
        let core = raw.trim_end_matches(['.', '?', '!', ',', ';', ':', '"', '”', ')']);
        let tail = raw.get(core.len()..).unwrap_or("");
        if !shown.is_empty() {
            shown.push(' ');
        }
        shown.push_str(raw);
        let plain = core.replace('’', "'");
        // An owner's ending is a word of its own; the plural's bare apostrophe is dropped, and short forms of verbs are long ones.
        let short = plain.rsplit_once('\'').filter(|(stem, _)| !stem.is_empty());
        let short = short.and_then(|(stem, end)| Some((stem, if end == "s" { "'s" } else { ENGLISH.long(end)? })));
        let (stem, owner) = match short {
            Some((stem, "'s")) if IS_SHORTENED.contains(&stem.to_lowercase().as_str()) => (stem, Some("is")),
            Some((stem, long)) => (stem, Some(long)),
            _ => (plain.strip_suffix('\'').unwrap_or(&plain), None),
        };
        if let Some(verb) = stem.to_lowercase().strip_suffix("'t").filter(|s| s.ends_with('n')).and_then(|s| ENGLISH.verb_denied(s)) {
            push(&mut words, stem.get(..verb.len()).filter(|s| s.eq_ignore_ascii_case(verb)).unwrap_or(verb));
            push(&mut words, "not");
        } else if stem.eq_ignore_ascii_case("cannot") {
            push(&mut words, "can");
            push(&mut words, "not");
        } else if let Some((first, rest)) = stem.split_once('-').filter(|(f, _)| ["st", "nd", "rd", "th"].iter().any(|e| f.ends_with(e))) {
            // `second-newest`, `third-to-last`: an ordinal is a word of its own.
            push(&mut words, first);
            rest.split('-').for_each(|w| push(&mut words, w));
        } else {
            push(&mut words, stem);
        }
        if let Some(owner) = owner {
            push(&mut words, owner);
        }
        // A semicolon behind a statement parts it from the next.
        let parted = tail.contains(';') && words.len() > 3;
        if tail.contains([',', ';']) && !parted {
            push(&mut words, ",");
        }
        if parted || tail.contains(':') {
            push(&mut words, ":");
        }
        if tail.contains(['.', '?', '!']) {
            let asks = tail.contains('?');
            out.push(Sentence { words: std::mem::take(&mut words), text: std::mem::take(&mut shown), asks });
        }
    }
    if !words.is_empty() {
        out.push(Sentence { words, text: shown, asks: false });
    }
    out.retain(|s| !s.words.is_empty());
    out
}

fn push(words: &mut Vec<Word>, text: &str) {
    if !text.is_empty() {
        // `I am` and `he is` say the same of different people.
        let lower = text.to_lowercase();
        words.push(Word { lower: if lower == "am" { "is".to_owned() } else { lower }, shown: text.to_owned() });
    }
}

/// What a file of words and sentence forms says: function words, and forms that no ending tells.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Function words, never open ones.
    #[serde(default)]
    pub closed: Vec<String>,
    /// Function words that are open ones behind an article (`the will`).
    #[serde(default)]
    pub nouns: Vec<String>,
    /// Names that look like plurals.
    #[serde(default)]
    pub names: Vec<String>,
    /// Irregular plurals and what they are plurals of.
    #[serde(default)]
    pub plurals: BTreeMap<String, String>,
    /// Irregular verb forms and their base.
    #[serde(default)]
    pub verbs: BTreeMap<String, String>,
    /// Files of `rules/reason/` whose facts are words that rules know too: `weekday("Monday")` makes `monday` and `mondays` of the group `weekday`.
    #[serde(default)]
    pub words: Vec<String>,
    /// Words and phrases that say nothing, left out where nothing reads a sentence with them.
    #[serde(default)]
    pub fillers: Vec<String>,
    /// What stands between two statements of one sentence.
    #[serde(default)]
    pub joints: Vec<String>,
    /// By group, what is said plainer in other words where no form takes it.
    #[serde(default)]
    pub rewrites: BTreeMap<String, Vec<String>>,
    /// Sentence forms by group (`grammar`).
    #[serde(default)]
    pub forms: BTreeMap<String, Vec<String>>,
}

impl Known {
    /// Takes in another file's words.
    pub fn add(&mut self, other: Self) {
        self.closed.extend(other.closed);
        self.nouns.extend(other.nouns);
        self.names.extend(other.names);
        self.plurals.extend(other.plurals);
        self.verbs.extend(other.verbs);
        self.fillers.extend(other.fillers);
        self.joints.extend(other.joints);
        for (group, forms) in other.rewrites {
            self.rewrites.entry(group).or_default().extend(forms);
        }
    }

    /// The forms, by group, of what rules call by name (`words`).
    pub fn of_rules(rules: &Source) -> Vec<(String, Vec<String>)> {
        let word = |a: Atom| {
            let said = a.args.first().filter(|_| a.args.len() == 1)?.as_name()?.to_owned();
            let lower = said.to_lowercase();
            Some((a.name.to_string(), vec![format!("{lower}|{lower}s => \"{said}\"")]))
        };
        read_facts(rules).0.into_iter().filter_map(word).collect()
    }

    /// What a noun is in the singular, if it could be a plural.
    pub fn singular(&self, word: &str) -> Option<String> {
        if let Some(s) = self.plurals.get(word) {
            return Some(s.clone());
        }
        // `craftsmen`, `saleswomen`.
        if let Some(stem) = word.strip_suffix("smen").or_else(|| word.strip_suffix("women")) {
            return Some(if word.ends_with("women") { format!("{stem}woman") } else { format!("{stem}sman") });
        }
        // `midwives`, `bookshelves`: the noun at the end is one of those that no ending tells.
        let listed = self.plurals.iter().filter(|(p, _)| p.ends_with("ves")).filter_map(|(p, s)| Some((p.len(), word.strip_suffix(p.as_str())?, s)));
        if let Some((_, front, s)) = listed.max() {
            return Some(format!("{front}{s}"));
        }
        let cut = |n: usize| word.get(..word.len().saturating_sub(n)).unwrap_or("").to_owned();
        let foreign = |e: &&str| word.ends_with(*e) && word.len() > 4;
        if word.len() < 3 || !word.ends_with('s') || ["ss", "us", "is"].iter().any(|e| word.ends_with(e)) && !["wis", "jis", "kis", "his"].iter().any(foreign) {
            return None;
        }
        Some(if word.ends_with("ies") && word.len() > 4 {
            cut(3) + "y"
        } else if ["xes", "ches", "shes", "sses", "zzes"].iter().any(|e| word.ends_with(e)) || word.ends_with("uses") && !word.ends_with("ouses") {
            cut(2)
        } else {
            cut(1)
        })
    }

    /// The base of a verb's form in `-s`, if it could be one.
    pub fn third(&self, word: &str) -> Option<String> {
        if let Some(s) = self.verbs.get(word).filter(|_| word.ends_with('s')) {
            return Some(s.clone());
        }
        let cut = |n: usize| word.get(..word.len().saturating_sub(n)).unwrap_or("").to_owned();
        if word.len() < 3 || !word.ends_with('s') || word.ends_with("ss") {
            return None;
        }
        Some(if word.ends_with("ies") && word.len() > 4 {
            cut(3) + "y"
        } else if ["xes", "ches", "shes", "sses", "oes", "zzes"].iter().any(|e| word.ends_with(e)) {
            cut(2)
        } else {
            cut(1)
        })
    }

    /// What an adjective's compared form is a form of.
    pub fn degree(&self, word: &str, ending: &str) -> Option<String> {
        let stem = word.strip_suffix(ending).filter(|s| s.len() > 2)?;
        let last: Vec<char> = stem.chars().rev().take(2).collect();
        Some(match last.as_slice() {
            ['i', ..] => format!("{}y", stem.get(..stem.len() - 1).unwrap_or(stem)),
            [a, b] if a == b && !matches!(a, 'l' | 's' | 'e' | 'o') => stem.get(..stem.len() - 1).unwrap_or(stem).to_owned(),
            // `larger`, `wider`, `safer`: a stem that needs its `e` back.
            [c, v] if matches!(c, 'v' | 's' | 'c') || *c == 'g' && *v == 'r' || *c == 'd' && *v == 'i' || *c == 'f' && *v == 'a' => format!("{stem}e"),
            _ => stem.to_owned(),
        })
    }

    /// The verbs that a word could be a form of.
    pub fn bases(&self, word: &str) -> Vec<String> {
        [Some(word.to_owned()), self.third(word), self.past(word), self.ing(word)].into_iter().flatten().collect()
    }

    /// The base of a verb's form in `-ing`, if it could be one.
    pub fn ing(&self, word: &str) -> Option<String> {
        let stem = word.strip_suffix("ing").filter(|s| s.len() > 2)?;
        let vowel = |c: &char| matches!(c, 'a' | 'e' | 'i' | 'o' | 'u');
        let last: Vec<char> = stem.chars().rev().take(3).collect();
        let alone = stem.chars().filter(vowel).count() == 1;
        Some(match last.as_slice() {
            // `making`: a consonant that is not doubled after the only vowel.
            [c, v, ..] if alone && vowel(v) && !vowel(c) && !matches!(c, 'w' | 'x' | 'y') => format!("{stem}e"),
            _ => self.past(&format!("{stem}ed")).unwrap_or_else(|| stem.to_owned()),
        })
    }

    /// The base of a verb's past form, if it could be one.
    pub fn past(&self, word: &str) -> Option<String> {
        if let Some(s) = self.verbs.get(word).filter(|_| !word.ends_with('s')) {
            return Some(s.clone());
        }
        // `need` and `shed` are no past forms.
        let stem = word.strip_suffix("ed").filter(|s| s.len() > 1 && !s.ends_with('e') && s.contains(['a', 'e', 'i', 'o', 'u', 'y']))?;
        let last: Vec<char> = stem.chars().rev().take(2).collect();
        Some(match last.as_slice() {
            ['i', ..] => format!("{}y", stem.get(..stem.len() - 1).unwrap_or(stem)),
            [a, b] if a == b && !matches!(a, 'l' | 's' | 'z' | 'e' | 'o') => stem.get(..stem.len() - 1).unwrap_or(stem).to_owned(),
            // `admired`, `chased`: a consonant after a vowel that an `e` made long, told by common endings.
            ['s', 's'] => stem.to_owned(),
            [c, v] if matches!(c, 'v' | 's' | 'c' | 'u' | 'z') || *c == 'r' && *v == 'i' || *c == 'g' && *v != 'g' && *v != 'n' => format!("{stem}e"),
            _ => stem.to_owned(),
        })
    }
}

/// A verb's form in `-s`.
pub fn third_of(verb: &str) -> String {
    let stem = |ending: &str| verb.strip_suffix(ending).filter(|s| !s.ends_with(['a', 'e', 'i', 'o', 'u']));
    match verb {
        "have" => "has".to_owned(),
        _ if ["s", "x", "z", "ch", "sh", "o"].iter().any(|e| verb.ends_with(e)) => format!("{verb}es"),
        _ => stem("y").map_or_else(|| format!("{verb}s"), |s| format!("{s}ies")),
    }
}
