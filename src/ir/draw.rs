//! Drawings of flows.
