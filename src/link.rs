//! Linking: said names to known names.
