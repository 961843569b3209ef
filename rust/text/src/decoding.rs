//! What each token becomes in decoded text, worked out once per vocabulary.
//!
//! A language model's decoder treats every token by itself, except that it may drop spaces at the
//! very start of a text. So the decoder of a tokenizer.json is read as a list of steps per token
//! plus that one rule; decoders of other kinds (WordPiece, CTC) are refused.
//!
//! The table handed to C++ is, in native byte order:
//!     u32 count, u32 leading spaces dropped at the start of a text,
//!     count x { u8 flags, u32 text size, u32 decoded size, text, decoded }

use serde_json::Value;

/// The id belongs to a token.
pub const FLAG_PRESENT: u8 = 1;
/// A control token: left out when special tokens are skipped.
pub const FLAG_SPECIAL: u8 = 2;

enum Step {
    Replace { from: String, to: String },
    ByteFallback,
    ByteLevel,
}

pub struct Decoding {
    steps: Vec<Step>,
    leading_spaces_dropped: u32,
}

impl Decoding {
    /// Reads the "decoder" of a tokenizer.json.
    pub fn from_json(decoder: &Value) -> Result<Self, String> {
        let mut decoding = Self { steps: Vec::new(), leading_spaces_dropped: 0 };
        decoding.add(decoder)?;
        Ok(decoding)
    }

    pub fn leading_spaces_dropped(&self) -> u32 {
        self.leading_spaces_dropped
    }

    fn add(&mut self, decoder: &Value) -> Result<(), String> {
        let refuse = || Err(format!("decoder {decoder} is not one of a language model"));
        match decoder["type"].as_str() {
            Some("Sequence") => {
                for part in decoder["decoders"].as_array().into_iter().flatten() {
                    self.add(part)?;
                }
            }
            Some("ByteLevel") => self.steps.push(Step::ByteLevel),
            Some("ByteFallback") => self.steps.push(Step::ByteFallback),
            Some("Fuse") => {}
            Some("Replace") => {
                let (Some(from), Some(to)) =
                    (decoder["pattern"]["String"].as_str(), decoder["content"].as_str())
                else {
                    return refuse();
                };
                self.steps.push(Step::Replace { from: from.into(), to: to.into() });
            }
            Some("Strip") => {
                if decoder["content"].as_str() != Some(" ") || decoder["stop"].as_u64() != Some(0) {
                    return refuse();
                }
                self.leading_spaces_dropped += decoder["start"].as_u64().unwrap_or(0) as u32;
            }
            Some("Metaspace") => {
                let replacement = decoder["replacement"].as_str().unwrap_or("\u{2581}");
                self.steps.push(Step::Replace { from: replacement.into(), to: " ".into() });
                if decoder["prepend_scheme"].as_str() != Some("never") {
                    self.leading_spaces_dropped += 1;
                }
            }
            _ => return refuse(),
        }
        Ok(())
    }

    /// The bytes of one token in decoded text.
    pub fn decode(&self, token: &str) -> Vec<u8> {
        let mut text = token.to_owned();
        for step in &self.steps {
            match step {
                Step::Replace { from, to } => text = text.replace(from.as_str(), to),
                Step::ByteFallback => {
                    if let Some(byte) = fallback_byte(&text) {
                        return vec![byte];
                    }
                }
                Step::ByteLevel => {
                    if let Some(bytes) = text.chars().map(level_byte).collect::<Option<Vec<u8>>>() {
                        return bytes;
                    }
                }
            }
        }
        text.into_bytes()
    }
}

/// The byte that a token like `<0x0A>` stands for.
fn fallback_byte(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    if digits.len() != 2 {
        return None;
    }
    u8::from_str_radix(digits, 16).ok()
}

/// The byte that a character of GPT-2's byte alphabet stands for: printable Latin-1 characters are
/// themselves, the other 68 bytes follow from U+0100 on.
fn level_byte(character: char) -> Option<u8> {
    let is_itself = |code: u32| matches!(code, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF);
    let code = character as u32;
    if is_itself(code) {
        return Some(code as u8);
    }
    let rank = code.checked_sub(0x100)? as usize;
    (0..=255u32).filter(|&byte| !is_itself(byte)).nth(rank).map(|byte| byte as u8)
}

/// Appends one record of the table.
pub fn append_record(table: &mut Vec<u8>, flags: u8, text: &[u8], decoded: &[u8]) {
    table.push(flags);
    table.extend_from_slice(&(text.len() as u32).to_ne_bytes());
    table.extend_from_slice(&(decoded.len() as u32).to_ne_bytes());
    table.extend_from_slice(text);
    table.extend_from_slice(decoded);
}
