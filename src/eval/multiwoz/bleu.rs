//! Corpus BLEU with one reference, tokenised as mteval-v13a does and smoothed like sacreBLEU.

use std::collections::BTreeMap;

/// Corpus BLEU, 0 to 100, of pairs of response and reference.
pub fn corpus<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> f64 {
    let mut total = Counts::default();
    for (said, reference) in pairs {
        total.add(said, reference);
    }
    total.score()
}

/// What BLEU counts, summed over a corpus.
#[derive(Clone, Debug, Default)]
struct Counts {
    said: usize,
    reference: usize,
    matched: [usize; 4],
    grams: [usize; 4],
}

impl Counts {
    fn add(&mut self, said: &str, reference: &str) {
        let (said, reference) = (tokens(said), tokens(reference));
        self.said += said.len();
        self.reference += reference.len();
        for ((n, matched), grams) in (1..).zip(&mut self.matched).zip(&mut self.grams) {
            let have = ngrams(&reference, n);
            for (gram, count) in ngrams(&said, n) {
                *grams += count;
                *matched += count.min(have.get(gram).copied().unwrap_or(0));
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "corpora have fewer than 2^52 tokens")]
    fn score(&self) -> f64 {
        if self.matched.iter().all(|m| *m == 0) || self.said == 0 {
            return 0.0;
        }
        let mut smooth = 1.0;
        let mut sum = 0.0;
        for (matched, grams) in self.matched.iter().zip(self.grams) {
            if grams == 0 {
                return 0.0;
            }
            let p = if *matched == 0 {
                smooth *= 2.0;
                1.0 / (smooth * grams as f64)
            } else {
                *matched as f64 / grams as f64
            };
            sum += p.ln();
        }
        let brevity = if self.said >= self.reference { 0.0 } else { 1.0 - self.reference as f64 / self.said as f64 };
        100.0 * (sum / 4.0 + brevity).exp()
    }
}

fn ngrams(tokens: &[String], n: usize) -> BTreeMap<&[String], usize> {
    let mut out = BTreeMap::new();
    for gram in tokens.windows(n) {
        *out.entry(gram).or_insert(0) += 1;
    }
    out
}

/// The tokens of mteval-v13a: punctuation apart, full stops and commas only outside numbers.
fn tokens(text: &str) -> Vec<String> {
    let text = text.replace("&quot;", "\"").replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">");
    let chars: Vec<char> = std::iter::once(' ').chain(text.trim_end().chars()).chain([' ']).collect();
    let digit = |i: Option<usize>| i.and_then(|i| chars.get(i)).is_some_and(char::is_ascii_digit);
    let mut out = String::new();
    for (i, c) in chars.iter().enumerate() {
        let before = i.checked_sub(1);
        let apart = match c {
            '!'..='&' | '('..='+' | ':'..='@' | '['..='`' | '{'..='~' | '/' => true,
            '.' | ',' => !(digit(before) && digit(Some(i + 1))),
            '-' => digit(before),
            _ => false,
        };
        if apart { out.extend([' ', *c, ' ']) } else { out.push(*c) }
    }
    out.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_its_own_best_translation() {
        let text = "the train leaves at TIME, and arrives at TIME. ok?";
        assert!((corpus([(text, text)]) - 100.0).abs() < 1e-9);
        assert!(corpus([("nothing shared here whatsoever", text)]).abs() < f64::EPSILON);
    }

    #[test]
    fn shorter_responses_pay_for_it() {
        let long = "is there anything else i can help you with today?";
        let short = "is there anything else i can help";
        assert!(corpus([(short, long)]) < 100.0 * (1.0_f64 - 11.0 / 7.0).exp() + 1e-9);
    }

    #[test]
    fn tokens_follow_mteval() {
        assert_eq!(tokens("at 9.30, costs 10,000 (or 5-10)."), ["at", "9.30", ",", "costs", "10,000", "(", "or", "5", "-", "10", ")", "."]);
    }
}
