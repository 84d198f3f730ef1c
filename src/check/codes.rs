//! What every code means.
