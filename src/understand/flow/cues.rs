//! What an utterance does apart from naming values: greet, thank, agree, refuse, ask, take back.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

/// Compiles a constant pattern.
#[expect(clippy::expect_used, reason = "the patterns are constants, and a test compiles every one of them")]
pub(super) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

macro_rules! patterns {
    ($($name:ident = $text:expr;)*) => {
        $(pub(super) static $name: LazyLock<Regex> = LazyLock::new(|| pattern($text));)*
        #[cfg(test)]
        pub(super) fn all() -> Vec<&'static Regex> { vec![$(&*$name),*] }
    };
}

patterns! {
    BYE = r"\b(good ?bye|bye|bye-bye|see you|see ya|good night|goodnight|farewell|take care|have a (?:great|good|nice|wonderful|lovely|awesome|fantastic|blessed|amazing) (?:day|one|night|evening|week|weekend|time|rest)|(?:good|great|nice) day|cya|later gator|so long|gotta go|ciao|cheers)\b";
    THANKS = r"\b(thank(?:s| you|you| u)|thx|thanx|ty|appreciate)\b";
    DONE = r"\b(that(?:'s|s| is| was| will be| would be|'ll be) (?:all|it|everything)\b|that(?:'ll| will| would|'d) (?:do|be) (?:it|all)|nothing else|no(?:thing)? more|i'?m (?:all )?(?:good|done|set|finished)\b|all set|all good|i am (?:good|done|all set)|that(?:'s| is) (?:about )?all|not (?:right now|today|at the moment|at this time)|nope|all i need(?:ed)?|we'?re done|i'm all|that concludes|stop here)";
    AFFIRM = r"\b(yes|yeah|yep|yup|yea|ya|sure|absolutely|definitely|of course|go ahead|please do|book it|do it|sounds? (?:good|great|perfect|awesome|fantastic|nice|wonderful)|perfect|ok|okay|k|alright|great|that works|works for me|fine|awesome|excellent|please|correct|right|confirm|cool|wonderful|fantastic|amazing|proceed|continue|next|go on|that'?s good|let'?s do|good|reserve it|lock it in|got it|affirmative|indeed|i do|i would|works|ready|move on)\b";
    REFUSES = r"\b(no|nope|nah|don'?t|do not|not|never ?mind|cancel|nevermind|stop|negative|wait|hold on)\b";
    DENIES = r"^(?:um+,? |oh,? |well,? |actually,? |hmm+,? |sorry,? )*(no|nope|nah|never ?mind|not really|no thanks?|negative|not yet|wait|cancel|actually,? no)\b|\b(never ?mind|cancel (?:it|that|the)|don'?t book|do not book|don't want (?:it|that)|rather not)\b";
    QUESTION = r"\?|^(?:so |and |but |ok(?:ay)?,? |great,? |thanks,? |hmm,? |well,? )*(what|when|where|who|how|which|why|is|are|does|do|can|could|will|would|should|did|has|have)\b";
    QUESTION_START = r"^(?:(?:so |and |but |ok(?:ay)?,? |great,? |thanks,? |hmm,? |well,? )*(what|when|where|who|how|which|why|is|are|does|do|can|could|will|would|should|did|has|have)\b|\?)";
    UNKNOWING = r"\b(don'?t (?:know|remember|recall|have)|do not (?:know|remember|recall|have)|dont (?:know|remember|have|recall)|can'?t (?:remember|recall|find)|cannot (?:remember|recall)|forgot(?:ten)?|not sure|no idea|unsure|lost (?:my|it)|don'?t|haven'?t got|i have no|no clue|unknown|never had|didn'?t have)\b";
    INDIFFERENT = r"\b(any(?:thing|where|time| of)?|doesn'?t (?:really )?matter|does not matter|don'?t (?:really )?care|no preference|not (?:really )?picky|whatever|whichever|either|up to you|flexible|not important|don'?t mind|doesn'?t)\b";
    OTHER = r"\b(another|other|different|else|instead|change|actually|again|compare|also|what about|how about|next)\b";
    WAIT = r"\b(wait|hold on|one (?:sec|moment|minute)|hang on|oh no|oops|oh shoot|actually)\b";
    REQUEST = r"\b(i(?:'d| would) like|i(?:'m| am)? (?:want|need|looking|trying|interested|searching)|i (?:want|need|wanna)|can you|could you|can i|could i|please (?:find|book|check|tell)|find me|book (?:me|a)|tell me|help me|looking for|look for|search|let'?s|what(?:'s| is)|i (?:have|just|lost|am|was)|there)\b";
    BOOK = r"\b(book|reserve|schedule it|go ahead|confirm|lock it|do it|take it)\b";
    DETAIL = r"\b(more details?|details?|detailed|more|explain|clarif\w*|confus\w*|elaborate|unclear|repeat|specific|(?:don'?t|do not|didn'?t|not) (?:\w+ )?(?:understand|get|know)|how do i|which way|where)\b";
    DETAIL_PLAIN = r"\b(more details?|detailed)\b";
    DETAIL_REFUSED = r"not? (?:more|need|other)|don't need";
    GO_ON = r"\b(proceed|next|continue|now what|what now|then what|what'?s next|keep going|move on|i understand|got it|ok|okay|yes|go on)\b";
    RETRACTS = r"\b((?:can'?t|can not|cannot|won'?t|unable to) (?:make|do|be|attend|come|go|meet)\b|already have|forgot (?:i|that|about)|(?:is|be|are|am) (?:busy|away|out of town)|conflict|(?:another|prior) (?:commitment|appointment|meeting)|won'?t be (?:available|able)|not (?:be )?available|(?:change|switch|different|another|move|reschedule)\b.{0,20}\b(?:day|date|time)|that (?:day|time) (?:doesn'?t|won'?t|isn'?t)|(?:isn'?t|not) going to work|won'?t work|(?:have|got) an? (?:[a-z]+ ){0,2}[a-z]+ (?:then|on|at)\b|need to change (?:that|my|the)\b)";
    OF_TIME = r"\b(time|hour|then|earlier|later)\b";
    OF_DAY = r"\bday|date\b";
    AGAIN = r"\b((?:check|look|try|search) (?:again|one more|once more)|any ?(?:other )?(?:time|day|where|thing)|(?:another|other|different|earlier|later|next|soonest|earliest) (?:one|times?|days?|dates?|slot|options?|place))\b";
    ANOTHER = r"\b(other|another|different|else|instead|how about|what about|when|next|compare|change|any|available|also|again|nicer)\b";
    NEEDS = r"\b(need|want|would like|i'd like|too (?:long|late|early|expensive)|quicker|faster|earlier|later|cheaper|usually)\b";
    GIVES_UP = r"\b(don'?t need|instead|changed my mind|no longer)\b";
    OFFERS = r"\b(would you like|do you want|should i|shall i|can i|want me to|like me to|may i)\b.*\b(book|reserve|schedule|confirm|go ahead|proceed|reservation)";
}

const GREETING_WORDS: [&str; 16] =
    ["hi", "hello", "hey", "hallo", "howdy", "yo", "greetings", "hiya", "heya", "hola", "sup", "helo", "hii", "morning", "afternoon", "evening"];
const GREETING_COMPANY: [&str; 27] = [
    "good", "there", "day", "dear", "sir", "how", "are", "you", "today", "doing", "what's", "up", "can", "help", "me", "i", "need", "some", "please", "anyone",
    "nice", "to", "meet", "oh", "hellooo", "again", "everyone",
];

/// Lower case, plain apostrophes, single spaces.
pub fn normal(text: &str) -> String {
    let lower = text.to_lowercase().replace('\u{2019}', "'");
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Words of letters, digits and apostrophes.
pub fn words(text: &str) -> Vec<String> {
    normal(text).split(|c: char| !(c.is_ascii_alphanumeric() || c == '\'')).filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

/// What an utterance conveys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signals(BTreeSet<&'static str>);

impl Signals {
    /// Reads the signals of an utterance.
    pub fn of(text: &str) -> Self {
        let n = normal(text);
        let w = words(text);
        let mut s = BTreeSet::new();
        let mut add = |name, holds: bool| {
            if holds {
                s.insert(name);
            }
        };
        let greets = |x: &String| GREETING_WORDS.contains(&x.as_str());
        add("greeting", w.iter().take(3).any(greets));
        add("greeting_only", w.iter().any(greets) && w.iter().all(|x| greets(x) || GREETING_COMPANY.contains(&x.as_str())));
        let by_pattern: [(&'static str, &Regex); 18] = [
            ("bye", &BYE),
            ("thanks", &THANKS),
            ("done", &DONE),
            ("deny", &DENIES),
            ("refuse", &REFUSES),
            ("affirm", &AFFIRM),
            ("question", &QUESTION),
            ("unknowing", &UNKNOWING),
            ("indifferent", &INDIFFERENT),
            ("other", &OTHER),
            ("wait", &WAIT),
            ("request", &REQUEST),
            ("book", &BOOK),
            ("again", &AGAIN),
            ("another", &ANOTHER),
            ("need", &NEEDS),
            ("abandon", &GIVES_UP),
            ("go_on", &GO_ON),
        ];
        for (name, p) in by_pattern {
            add(name, p.is_match(&n));
        }
        add("mark", n.contains('?'));
        add("negation", n.contains("not"));
        add("short", w.len() <= 7);
        add("wordy", w.len() > 6);
        add("long", w.len() > 8);
        let detail = DETAIL.is_match(&n) && !GO_ON.is_match(&n) || DETAIL_PLAIN.is_match(&n) && !DETAIL_REFUSED.is_match(&n);
        add("more_detail", detail);
        Self(s)
    }

    /// Whether the utterance conveys something.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// All signals, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(all().len() > 20);
    }

    #[test]
    fn signals_of_plain_sentences() {
        let has = |text: &str, name: &str| Signals::of(text).has(name);
        assert!(has("Hello there!", "greeting_only"));
        assert!(!has("Hello, I need a ride", "greeting_only"));
        assert!(has("No thank you, that's all", "done") && has("No thank you, that's all", "deny"));
        assert!(has("Yes, please book it", "book") && has("Yes, please book it", "affirm"));
        assert!(has("I don’t remember my number", "unknowing"));
        assert!(has("can I have more details?", "more_detail"));
        assert!(!has("no more details needed, proceed", "more_detail") || has("no more details needed, proceed", "go_on"));
    }
}
