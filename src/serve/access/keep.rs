//! The file of tokens: the key that signs conversations, and the hashes of the operators' tokens.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use super::{Bearer, Claims, Token, hash, sign, verify};
use crate::serve::error::ApiError;

/// Why the tokens cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The file cannot be read or written.
    #[error("{file}: {detail}")]
    File {
        /// The file.
        file: String,
        /// What is wrong.
        detail: String,
    },
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    Random,
    /// No such token.
    #[error("there is no token `{0}`; `duologue token list` shows what there is")]
    Unknown(String),
}

/// What a new token is to be for.
#[derive(Clone, Debug)]
pub struct New {
    /// The site.
    pub site: String,
    /// The role.
    pub role: String,
    /// Whether all conversations of the site may be read.
    pub observe: bool,
    /// For how long, in milliseconds.
    pub millis: i64,
    /// What for.
    pub note: String,
}

/// The file's content.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    /// The key that signs the tokens of conversations.
    key: String,
    /// The operators' tokens.
    #[serde(default)]
    tokens: Vec<Token>,
}

/// The tokens of a service, from a file that other processes may change, or in memory alone.
pub struct Keys {
    file: Option<PathBuf>,
    loaded: Mutex<Loaded>,
}

struct Loaded {
    kept: Kept,
    signing: hmac::Key,
    changed: Option<SystemTime>,
}

impl Loaded {
    fn of(kept: Kept, changed: Option<SystemTime>) -> Self {
        let signing = hmac::Key::new(hmac::HMAC_SHA256, kept.key.as_bytes());
        Self { kept, signing, changed }
    }
}

impl Keys {
    /// Keys that end with the process.
    pub fn in_memory() -> Result<Self, KeysError> {
        Ok(Self { file: None, loaded: Mutex::new(Loaded::of(Kept { key: random(32)?, tokens: vec![] }, None)) })
    }

    /// The keys of a file, which is made if it is missing.
    pub fn open(file: &Path) -> Result<Self, KeysError> {
        if !file.exists() {
            write(file, &Kept { key: random(32)?, tokens: vec![] })?;
        }
        let (kept, changed) = read(file)?;
        Ok(Self { file: Some(file.to_owned()), loaded: Mutex::new(Loaded::of(kept, changed)) })
    }

    /// The token of a conversation.
    pub fn sign(&self, claims: &Claims) -> String {
        sign(&self.lock().signing, claims)
    }

    /// Whose token this is.
    pub fn bearer(&self, token: &str, now: i64) -> Result<Bearer, ApiError> {
        self.refresh();
        let loaded = self.lock();
        let known = |id: &str| loaded.kept.tokens.iter().find(|t| t.id == id && t.expires > now);
        if let Some((id, secret)) = token.strip_prefix("duo_").and_then(|t| t.split_once('_')) {
            // The hash of a guess tells nothing of the secret, so comparing hashes need not take always the same time.
            let found = known(id).filter(|t| t.hash == hash(secret));
            return found.cloned().map(Bearer::Operator).ok_or_else(|| ApiError::unauthorised("this token does not hold"));
        }
        match verify(&loaded.signing, token) {
            Some(claims) if claims.expires > now && (claims.by.is_empty() || known(&claims.by).is_some()) => Ok(Bearer::Speaker(claims)),
            Some(_) => Err(ApiError::unauthorised("this conversation's token has expired; open a new session")),
            None => Err(ApiError::unauthorised("this token does not hold")),
        }
    }

    /// A new token; its secret is told now and never again.
    pub fn make(&self, new: New, now: i64) -> Result<(Token, String), KeysError> {
        let (id, secret) = (random(9)?.replace(['_', '-'], "x"), random(32)?);
        let New { site, role, observe, millis, note } = new;
        let token = Token { id, hash: hash(&secret), site, role, observe, created: now, expires: now.saturating_add(millis), note };
        self.change(|kept| kept.tokens.push(token.clone()))?;
        let shown = format!("duo_{}_{secret}", token.id);
        Ok((token, shown))
    }

    /// The same token with another secret.
    pub fn rotate(&self, id: &str) -> Result<String, KeysError> {
        let secret = random(32)?;
        let found = self.change(|kept| kept.tokens.iter_mut().find(|t| t.id == id).map(|t| t.hash = hash(&secret)))?;
        found.map(|()| format!("duo_{id}_{secret}")).ok_or_else(|| KeysError::Unknown(id.to_owned()))
    }

    /// Ends a token, and with it the conversations that were opened with it.
    pub fn revoke(&self, id: &str) -> Result<(), KeysError> {
        let found = self.change(|kept| {
            let before = kept.tokens.len();
            kept.tokens.retain(|t| t.id != id);
            before > kept.tokens.len()
        })?;
        if found { Ok(()) } else { Err(KeysError::Unknown(id.to_owned())) }
    }

    /// The tokens, without their secrets.
    pub fn list(&self) -> Vec<Token> {
        self.refresh();
        self.lock().kept.tokens.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Loaded> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Kept) -> T) -> Result<T, KeysError> {
        self.refresh();
        let mut loaded = self.lock();
        let mut kept = loaded.kept.clone();
        let out = change(&mut kept);
        let changed = match &self.file {
            Some(file) => write(file, &kept)?,
            None => None,
        };
        *loaded = Loaded::of(kept, changed);
        Ok(out)
    }

    /// Reads the file again if it has changed. A file that became unreadable leaves what was known: nobody gains by it.
    fn refresh(&self) {
        let Some(file) = &self.file else { return };
        let changed = modified(file);
        let mut loaded = self.lock();
        if changed == loaded.changed {
            return;
        }
        match read(file) {
            Ok((kept, changed)) => *loaded = Loaded::of(kept, changed),
            Err(e) => {
                tracing::error!("the tokens cannot be read again, the old ones hold: {e}");
                loaded.changed = changed;
            }
        }
    }
}

fn modified(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|m| m.modified()).ok()
}

fn read(file: &Path) -> Result<(Kept, Option<SystemTime>), KeysError> {
    let told = |e: &dyn std::fmt::Display| KeysError::File { file: file.display().to_string(), detail: e.to_string() };
    let changed = modified(file);
    let text = std::fs::read_to_string(file).map_err(|e| told(&e))?;
    Ok((serde_json::from_str(&text).map_err(|e| told(&e))?, changed))
}

/// Writes beside the file and renames, so that nobody reads half of it; only its owner may read it.
fn write(file: &Path, kept: &Kept) -> Result<Option<SystemTime>, KeysError> {
    let told = |e: std::io::Error| KeysError::File { file: file.display().to_string(), detail: e.to_string() };
    let beside = file.with_extension(format!("new-{}", std::process::id()));
    let text = serde_json::to_string_pretty(kept).unwrap_or_default();
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut out = options.open(&beside).map_err(told)?;
    std::io::Write::write_all(&mut out, text.as_bytes()).and_then(|()| out.sync_all()).map_err(told)?;
    std::fs::rename(&beside, file).map_err(told)?;
    Ok(modified(file))
}

/// So many random bytes as text.
pub(in crate::serve) fn random(bytes: usize) -> Result<String, KeysError> {
    let mut out = vec![0; bytes];
    SystemRandom::new().fill(&mut out).map_err(|_| KeysError::Random)?;
    Ok(URL_SAFE_NO_PAD.encode(out))
}
