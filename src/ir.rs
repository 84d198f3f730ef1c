//! The intermediate representation that every authoring language lowers to.
