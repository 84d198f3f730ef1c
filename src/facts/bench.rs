//! Measures a store: turns per second and the time of one turn.
