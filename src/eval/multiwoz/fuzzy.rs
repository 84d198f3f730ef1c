//! Partial string similarity as the benchmark's fuzzy matcher computes it.
//!
//! The shorter text is compared with those windows of the longer one that an optimal alignment suggests, not
//! with all of them; to reproduce published scores the alignment has to break ties in the same way.

/// How well the shorter text fits somewhere in the longer one, 0 to 100.
pub fn partial_ratio(a: &str, b: &str) -> u32 {
    if a == b {
        return 100;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let (short, long) = if a.len() <= b.len() { (&a, &b) } else { (&b, &a) };
    if short.is_empty() {
        return 0;
    }
    let mut best = 0.0_f64;
    for (at_short, at_long) in blocks(short, long) {
        let start = at_long.saturating_sub(at_short);
        let end = (start + short.len()).min(long.len());
        let r = ratio(short, long.get(start..end).unwrap_or_default());
        if r > 0.995 {
            return 100;
        }
        best = best.max(r);
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the value lies between 0 and 100")]
    {
        (100.0 * best).round_ties_even() as u32
    }
}

/// Twice the longest common subsequence over the sum of lengths.
fn ratio(a: &[char], b: &[char]) -> f64 {
    let mut row = vec![0_u32; b.len() + 1];
    for x in a {
        let mut diagonal = 0;
        let mut left = 0;
        for (y, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let above = *cell;
            *cell = if x == y { diagonal + 1 } else { above.max(left) };
            diagonal = above;
            left = *cell;
        }
    }
    let common = row.last().copied().unwrap_or(0);
    let sum = u32::try_from(a.len() + b.len()).unwrap_or(u32::MAX);
    if sum == 0 { 1.0 } else { 2.0 * f64::from(common) / f64::from(sum) }
}

/// Where the equal runs of an optimal edit script begin, with the empty run at both ends.
fn blocks(a: &[char], b: &[char]) -> Vec<(usize, usize)> {
    let prefix = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (rest_a, rest_b) = (a.get(prefix..).unwrap_or_default(), b.get(prefix..).unwrap_or_default());
    let suffix = rest_a.iter().rev().zip(rest_b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (n, m) = (rest_a.len() - suffix, rest_b.len() - suffix);
    let width = m + 1;
    let mut table: Vec<usize> = vec![0; (n + 1) * width];
    let get = |t: &[usize], i: usize, j: usize| t.get(i * width + j).copied().unwrap_or(usize::MAX / 2);
    for i in 0..=n {
        for j in 0..=m {
            let v = match (i.checked_sub(1), j.checked_sub(1)) {
                (None, None) => 0,
                (None, Some(_)) => j,
                (Some(_), None) => i,
                (Some(x), Some(y)) => {
                    let change = usize::from(rest_a.get(x) != rest_b.get(y));
                    (get(&table, x, y) + change).min(get(&table, x, j) + 1).min(get(&table, i, y) + 1)
                }
            };
            if let Some(cell) = table.get_mut(i * width + j) {
                *cell = v;
            }
        }
    }
    // From the end: a deletion where it fits, else an insertion, else a pair; pairs that agree are runs.
    let mut equal = Vec::new();
    let (mut i, mut j) = (n, m);
    while i > 0 && j > 0 {
        if get(&table, i, j) == get(&table, i - 1, j) + 1 {
            i -= 1;
            continue;
        }
        j -= 1;
        if j > 0 && get(&table, i, j) + 1 == get(&table, i - 1, j) {
            continue;
        }
        i -= 1;
        if rest_a.get(i) == rest_b.get(j) {
            equal.push((i + prefix, j + prefix));
        }
    }
    equal.reverse();
    let mut pairs: Vec<(usize, usize)> = (0..prefix).map(|k| (k, k)).collect();
    pairs.extend(equal);
    pairs.extend((0..suffix).map(|k| (a.len() - suffix + k, b.len() - suffix + k)));
    let mut starts: Vec<(usize, usize)> = Vec::new();
    let mut last = None;
    for (x, y) in pairs {
        if last != Some((x, y)) {
            starts.push((x, y));
        }
        last = Some((x + 1, y + 1));
    }
    starts.push((a.len(), b.len()));
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that the benchmark's own matcher printed.
    #[test]
    fn it_agrees_with_the_benchmark() {
        for line in include_str!("../../../tests/data/multiwoz/fuzzy.tsv").lines() {
            let cells: Vec<&str> = line.split('\t').collect();
            assert_eq!(partial_ratio(cells[0], cells[1]).to_string(), cells[2], "{line}");
        }
    }
}
