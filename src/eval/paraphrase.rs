//! Proposals for a bank of wordings, checked in depth: each in every reply that reaches its sentence, by both judges.

use std::collections::BTreeSet;

use crate::diag::{Diagnostic, Source};
use crate::domain::Domain;
use crate::render::Render;
use crate::render::templates::Templates;
use crate::render::templates::bank::{Banked, written};

/// What came of a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The proposal.
    pub wording: Banked,
    /// Replies that it was tried in.
    pub tried: usize,
    /// Why it may not be said; nothing if it may.
    pub fault: Option<String>,
}

/// The templates of a domain with these proposals beside its bank, as far as they can be read; and what is wrong with the others.
pub fn readable(domain: &Domain, proposals: &[Banked]) -> Result<(Templates, Vec<Verdict>), Vec<Diagnostic>> {
    let path = format!("kb/{}/templates.yaml", domain.ontology.domain);
    let source = Source::new(&path, &domain.files.read(&path).unwrap_or_default());
    let load = |bank: &[Banked]| Templates::with_bank(&source, &Source::new("proposals", &written("Proposals.", bank)), &domain.ontology);
    let (mut good, mut bad, mut seen) = (vec![], vec![], BTreeSet::new());
    for wording in proposals {
        let own = domain.templates.own().iter().any(|own| own.contains(&wording.of) && own.contains(&wording.say));
        let known = domain.templates.bank().iter().any(|b| (&b.of, &b.say) == (&wording.of, &wording.say));
        if own || known || !seen.insert((wording.of.clone(), wording.say.clone())) {
            bad.push(Verdict { wording: wording.clone(), tried: 0, fault: Some("it is known already".to_owned()) });
            continue;
        }
        good.push(wording.clone());
    }
    // All at once; one by one only to find those that cannot be read.
    if let Ok(templates) = load(&good) {
        return Ok((templates, bad));
    }
    good.retain(|wording| match load(std::slice::from_ref(wording)) {
        Ok(_) => true,
        Err(found) => {
            bad.push(Verdict { wording: wording.clone(), tried: 0, fault: found.first().map(|d| d.message.clone()) });
            false
        }
    });
    Ok((load(&good)?, bad))
}

/// Tries every wording of a bank in every reply that reaches its sentence: the reply must be read back as exactly its actions.
pub fn check(domain: &Domain, templates: &Templates) -> Vec<Verdict> {
    let faithful = domain.faithful();
    let samples = templates.samples(&domain.ontology, &domain.facts);
    let judged = |(place, wording): (usize, &Banked)| {
        let (mut tried, mut fault) = (0, None);
        for sample in samples.iter().filter(|s| s.places.contains(&place)) {
            // An action without an input does not tell to whom it is said: one of those whom it may be said to must be told it rightly.
            let verdicts = sample.tones.iter().map(|tone| {
                let text = templates.in_wording(place, &sample.says, tone).into_iter().map(|s| s.text).collect::<Vec<_>>().join(" ");
                // A hole that nothing fills shows that the sample is no whole reply.
                if text.contains("  ") || text == domain.templates.render(&sample.says, tone) {
                    return None;
                }
                Some(faithful.check(&text, &sample.says, tone, &*domain.templates).map_err(|violation| format!("in \"{text}\": {violation}")))
            });
            let verdicts: Vec<Result<(), String>> = verdicts.flatten().collect();
            tried += usize::from(!verdicts.is_empty());
            if let (Some(Err(first)), true) = (verdicts.first(), verdicts.iter().all(Result::is_err)) {
                fault = Some(first.clone());
                break;
            }
        }
        if tried == 0 {
            fault = Some("no reply reaches it, so it cannot be tried".to_owned());
        }
        Verdict { wording: wording.clone(), tried, fault }
    };
    templates.bank().iter().enumerate().map(judged).collect()
}
