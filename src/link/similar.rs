//! How alike two spellings are: edit distance with neighbouring swaps, helped by a sound key.

/// What a word sounds like, roughly: letters that sound alike share one sign, vowels after the first are dropped, doubles too.
pub fn sound_key(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let chars: Vec<char> = word.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or(' ');
    let mut i = 0;
    // "xtra" says its first letter's name.
    if at(0) == 'x' && !matches!(at(1), 'a' | 'e' | 'i' | 'o' | 'u' | 'y' | ' ') {
        out.push('a');
    }
    while i < chars.len() {
        let (sign, used) = match (at(i), at(i + 1)) {
            ('p', 'h') => ('f', 2),
            ('g', 'g') => ('g', 2),
            ('g', 'h') if i > 0 => (' ', 2),
            ('q', 'u') => ('k', 2),
            ('c', 'k') => ('k', 2),
            ('c', 'h') | ('s', 'h') => ('x', 2),
            ('c', 'e' | 'i' | 'y') => ('s', 1),
            ('c' | 'k' | 'q', _) => ('k', 1),
            ('x', _) => ('k', 1),
            ('z' | 's', _) => ('s', 1),
            ('g', 'e' | 'i') | ('j', _) => ('j', 1),
            ('d', 't') | ('t', 'd') => ('t', 2),
            ('v', _) => ('f', 1),
            ('h' | 'w', _) if i > 0 => (' ', 1),
            ('y', _) if i > 0 => ('a', 1),
            ('a' | 'e' | 'i' | 'o' | 'u', _) => ('a', 1),
            (c, _) => (c, 1),
        };
        let vowel_inside = sign == 'a' && !out.is_empty();
        if sign != ' ' && !vowel_inside && !out.ends_with(sign) {
            out.push(sign);
        }
        i += used;
    }
    out
}

/// Closeness of a said stem to a known one, 0 if too far: one slip in a short word, two or three in a long one, and a slip
/// less strict if the two sound the same.
pub fn closeness(said: &str, said_sound: &str, known: &str, known_sound: &str) -> f32 {
    let length = said.chars().count().max(known.chars().count());
    let shorter = said.chars().count().min(known.chars().count());
    let sounds_same = said_sound == known_sound && (said_sound.len() > 2 || said_sound.len() == 2 && length - shorter < 2);
    let allowed = match (shorter, sounds_same) {
        (0..=2, _) => 0,
        (3, true) => 1,
        (3, false) => 0,
        (4..=5, false) => 1,
        (4..=5, true) if length > 4 => 2,
        (4..=5, true) => 1,
        (6..=8, false) => 2,
        (_, true) => 3,
        (_, false) => {
            if shorter >= 10 {
                3
            } else {
                2
            }
        }
    };
    // The last letter of a short word left out.
    if shorter == 3 && length == 4 && known.starts_with(said) {
        return 0.75;
    }
    if allowed == 0 || length - shorter > allowed {
        return 0.0;
    }
    let same_start = said.chars().next() == known.chars().next();
    if !same_start && !sounds_same {
        return 0.0;
    }
    let distance = strsim::damerau_levenshtein(said, known);
    if distance > allowed {
        return 0.0;
    }
    // Two slips in a word of six letters or fewer turn one word into another, also where little of it is sounded: churro, cherry.
    if distance == 2 && shorter <= 6 && (!sounds_same || said_sound.len() <= 2) {
        let same_end = said.chars().last() == known.chars().last();
        if shorter < 6 || !same_end {
            return 0.0;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "word lengths are small")]
    let base = 1.0 - distance as f32 / length as f32;
    // Two letters in the wrong order are a slip of the fingers, hardly another word.
    let swapped = distance == 1 && shorter == length;
    let base = if swapped && is_swap(said, known) { base.max(0.9) } else { base };
    if sounds_same { (base + 0.15).min(0.99) } else { base }
}

fn is_swap(a: &str, b: &str) -> bool {
    let sorted = |w: &str| {
        let mut letters: Vec<char> = w.chars().collect();
        letters.sort_unstable();
        letters
    };
    sorted(a) == sorted(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sounds_alike() {
        for (a, b) in [("cheesy", "cheezy"), ("quesadilla", "kesadila"), ("coffee", "cofee"), ("crunchy", "krunchy")] {
            assert_eq!(sound_key(a), sound_key(b), "{a} {b}");
        }
    }
}
