//! Language models behind one small trait.
