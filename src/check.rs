//! Checking a domain: everything an author got wrong.
