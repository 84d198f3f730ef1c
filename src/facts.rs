//! Facts: three scopes in one typed store with provenance.
