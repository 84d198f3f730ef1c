//! Ontology: one file per domain declares sorts, inputs, actions, facts and rights.
