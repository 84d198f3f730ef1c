//! What can go wrong with a store, each with what to do about it.

use crate::term::Name;

/// What a stale turn had read that is no longer so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Overtaken {
    /// Another turn of the session was taken, or this one skips ahead.
    #[error("turn {given} was committed where turn {next} is next")]
    Turn {
        /// The number that came.
        given: u64,
        /// The number that is due.
        next: u64,
    },
    /// The session ended, or its id lives again.
    #[error("epoch {given} of the session is over or not yet begun (epoch {current} is current)")]
    Epoch {
        /// The epoch that came.
        given: u64,
        /// The epoch a turn may belong to now.
        current: u64,
    },
    /// The kb moved on before the session's first turn, or the turn names another version than its session's.
    #[error("the turn was decided on kb version {given}, its session has version {current}")]
    Kb {
        /// The version that came.
        given: u64,
        /// The version that holds.
        current: u64,
    },
    /// Somebody changed the shared facts meanwhile.
    #[error("the turn was decided on revision {given} of the shared facts, they are at {current}")]
    Shared {
        /// The revision that was read.
        given: u64,
        /// The revision that holds.
        current: u64,
    },
    /// Somebody collected or handed over kb changes meanwhile, or made them a version.
    #[error("the turn was decided on other collected kb changes than there are now")]
    Pending,
    /// Another session began or ended meanwhile, so that this one's end makes a kb version where it made none, or none where it did.
    #[error("other sessions of the site began or ended since the turn was decided")]
    Others,
}

/// What can go wrong with a store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The turn was decided on facts that are no longer so: read again and decide again.
    #[error("stale turn in session `{session}`: {overtaken}")]
    Stale {
        /// The session.
        session: Name,
        /// What overtook it.
        overtaken: Overtaken,
    },
    /// The session is open for another role.
    #[error("session `{session}` is open for the role `{holder}`, not for `{asked}`")]
    OtherRole {
        /// The session.
        session: Name,
        /// Whose it is.
        holder: Name,
        /// Who asked.
        asked: Name,
    },
    /// No such site.
    #[error("the store has no site `{0}`")]
    UnknownSite(String),
    /// An entry of another store's log does not go on where the site stands.
    #[error("entry {seq} of another log does not follow: site `{site}` stands at entry {stands}")]
    NotNext {
        /// The site.
        site: String,
        /// The entry's number.
        seq: u64,
        /// The number of the site's last entry, 0 if there is no such site.
        stands: u64,
    },
    /// No such kb version.
    #[error("site `{site}` has no kb version {version} (the newest is {head})")]
    UnknownVersion {
        /// The site.
        site: String,
        /// The version asked for.
        version: u64,
        /// The newest.
        head: u64,
    },
    /// A site, session, role or request name cannot be used.
    #[error("the {kind} name `{shown}` is empty, longer than {limit} bytes or holds control characters")]
    BadName {
        /// Which name.
        kind: &'static str,
        /// Its beginning.
        shown: String,
        /// The limit.
        limit: usize,
    },
    /// A fact cannot be written in a way that reads back the same.
    #[error("`{0}` cannot be stored as a fact")]
    BadFact(String),
    /// A turn's record or changes pass the limit.
    #[error("the turn has {found} {what}, the store takes {limit}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// The folder of the file does not exist.
    #[error("the folder `{0}` for the store does not exist")]
    MissingFolder(String),
    /// The file cannot be opened.
    #[error("cannot open the store `{file}`: {detail}")]
    CannotOpen {
        /// The file.
        file: String,
        /// What the system said.
        detail: String,
    },
    /// The server of the store is not there, or was lost.
    #[error("cannot reach the store `{place}`: {detail}")]
    Unreachable {
        /// The address, without its password.
        place: String,
        /// What happened.
        detail: String,
    },
    /// The file cannot be written.
    #[error("the store `{0}` is read-only")]
    ReadOnly(String),
    /// The file is no SQLite database.
    #[error("`{0}` is not a store (no SQLite database)")]
    NotADatabase(String),
    /// The file is a database of another program.
    #[error("`{0}` is a SQLite database of another program")]
    Foreign(String),
    /// The file was written by a later version of this program.
    #[error("the store `{file}` has schema {found}, this program knows schemas up to {known}")]
    NewerSchema {
        /// The file.
        file: String,
        /// Its schema.
        found: i64,
        /// The newest schema this program knows.
        known: i64,
    },
    /// The database is damaged.
    #[error("the store `{file}` is damaged: {detail}")]
    Corrupt {
        /// The file.
        file: String,
        /// What is wrong.
        detail: String,
    },
    /// No room on the device.
    #[error("no space left for the store `{0}`; the turn was not taken")]
    Full(String),
    /// Another process held the file for too long.
    #[error("the store `{file}` was held by another process for more than {waited_ms} ms; the turn was not taken")]
    Busy {
        /// The file.
        file: String,
        /// How long it was waited for.
        waited_ms: u64,
    },
    /// The system failed to read or write.
    #[error("cannot read or write the store `{file}`: {detail}")]
    Io {
        /// The file.
        file: String,
        /// What the system said.
        detail: String,
    },
}

impl StoreError {
    /// Whether the same turn can be decided again on fresh facts and may then succeed.
    pub fn is_stale(&self) -> bool {
        matches!(self, Self::Stale { .. })
    }

    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Stale { .. } => "store::stale",
            Self::OtherRole { .. } => "store::other_role",
            Self::UnknownSite(_) => "store::unknown_site",
            Self::NotNext { .. } => "store::not_next",
            Self::UnknownVersion { .. } => "store::unknown_version",
            Self::BadName { .. } => "store::bad_name",
            Self::BadFact(_) => "store::bad_fact",
            Self::TooLarge { .. } => "store::too_large",
            Self::MissingFolder(_) => "store::missing_folder",
            Self::CannotOpen { .. } => "store::cannot_open",
            Self::Unreachable { .. } => "store::unreachable",
            Self::ReadOnly(_) => "store::read_only",
            Self::NotADatabase(_) => "store::not_a_database",
            Self::Foreign(_) => "store::foreign",
            Self::NewerSchema { .. } => "store::newer_schema",
            Self::Corrupt { .. } => "store::corrupt",
            Self::Full(_) => "store::full",
            Self::Busy { .. } => "store::busy",
            Self::Io { .. } => "store::io",
        }
    }

    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Stale { .. } => "open the session again and decide the turn on what it holds now",
            Self::OtherRole { .. } => "use another session id, or end the open session first",
            Self::UnknownSite(_) => "install the domain's facts for the site first",
            Self::NotNext { .. } => "copy into a store that does not know the site, or that holds the beginning of the same log",
            Self::UnknownVersion { .. } => "ask for a version up to the newest",
            Self::BadName { .. } => "use a short printable name",
            Self::BadFact(_) => "store predicates over numbers, constants, strings and shallow functions of them",
            Self::TooLarge { .. } => "split the turn or record less of it",
            Self::MissingFolder(_) => "create the folder, or name a file in a folder that exists",
            Self::CannotOpen { .. } => "name a file that this user may read and write, or use `:memory:`",
            Self::Unreachable { .. } => "see that the server runs and takes connections, then send the same request again: a turn is taken once",
            Self::ReadOnly(_) => "give this user the right to write the file and its folder, or copy the file elsewhere",
            Self::NotADatabase(_) => "name another file: this one is left as it is",
            Self::Foreign(_) => "name another file: this one belongs to another program and is left as it is",
            Self::NewerSchema { .. } => "use the newer version of this program that wrote the file",
            Self::Corrupt { .. } => "restore the file from a backup; `sqlite3 FILE .recover` may save most of it",
            Self::Full(_) => "free some space and take the turn again",
            Self::Busy { .. } => "try again; if it stays so, look for a process that holds the file",
            Self::Io { .. } => "check the device and the file's rights, then take the turn again",
        }
    }
}
