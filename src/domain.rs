//! Domains: an ontology with its rules, facts and templates, from a folder or built in.
