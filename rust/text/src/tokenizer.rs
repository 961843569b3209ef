//! Tokenizers from a tokenizer.json, or from the vocabulary and merges of a byte pair encoding.

use crate::boundary::Bytes;
use crate::decoding::{append_record, Decoding, FLAG_PRESENT, FLAG_SPECIAL};
use serde::Deserialize;
use std::collections::HashMap;
use tokenizers::models::bpe::BpeBuilder;
use tokenizers::tokenizer::{AddedVocabulary, Model, OffsetType, PostProcessor, PreTokenizer};
use tokenizers::{AddedToken, DecoderWrapper, NormalizerWrapper, PreTokenizerWrapper, Tokenizer};

/// Ids from here on are refused: the token table has a record for every id below the largest.
const MAX_TOKENS: u32 = 1 << 22;

/// Values of `BpeVocabulary::kinds`; cairn/text/ffi.h has the same.
const KIND_SPECIAL: u8 = 1;
const KIND_USER_DEFINED: u8 = 2;

pub struct TextTokenizer {
    inner: Tokenizer,
    /// The added tokens, for texts in which special tokens are only text.
    without_special: AddedVocabulary,
    decoding: Decoding,
    /// Added tokens decode to their own text, whatever the decoder would make of it.
    added_are_literal: bool,
    /// The table has at least this many records.
    id_end: u32,
    /// Tokens that lost their text to an earlier token with the same one.
    duplicates: HashMap<u32, String>,
}

/// The vocabulary of a byte pair encoding; a token's index is its id.
pub struct BpeVocabulary<'a> {
    pub tokens: &'a [Bytes],
    pub kinds: &'a [u8],
    /// "left right", in order of priority.
    pub merges: &'a [Bytes],
}

/// The parts of a tokenizer.json around the vocabulary.
#[derive(Deserialize)]
struct BpeSettings {
    normalizer: Option<NormalizerWrapper>,
    pre_tokenizer: Option<PreTokenizerWrapper>,
    decoder: DecoderWrapper,
    ignore_merges: bool,
    byte_fallback: bool,
}

impl TextTokenizer {
    pub fn from_json(json: &[u8]) -> Result<Self, String> {
        let mut inner = Tokenizer::from_bytes(json).map_err(|e| e.to_string())?;
        inner.with_padding(None);
        inner.with_truncation(None).map_err(|e| e.to_string())?;
        Self::new(inner)
    }

    pub fn from_bpe(settings: &[u8], vocabulary: &BpeVocabulary) -> Result<Self, String> {
        let settings: BpeSettings = serde_json::from_slice(settings).map_err(|e| e.to_string())?;
        let mut ids = HashMap::with_capacity(vocabulary.tokens.len());
        let mut duplicates = HashMap::new();
        let mut added = Vec::new();
        for (index, (token, kind)) in vocabulary.tokens.iter().zip(vocabulary.kinds).enumerate() {
            let text = utf8(*token, "token", index)?;
            if text.is_empty() {
                continue;
            }
            if ids.contains_key(text) {
                duplicates.insert(index as u32, text.to_owned());
                continue;
            }
            ids.insert(text.to_owned(), index as u32);
            if *kind == KIND_SPECIAL || *kind == KIND_USER_DEFINED {
                let special = *kind == KIND_SPECIAL;
                added.push(AddedToken::from(text, special).normalized(false));
            }
        }
        let mut merges = Vec::with_capacity(vocabulary.merges.len());
        for (index, merge) in vocabulary.merges.iter().enumerate() {
            merges.push(split_merge(utf8(*merge, "merge", index)?, index)?);
        }
        let model = BpeBuilder::new()
            .vocab_and_merges(ids.into_iter().collect::<tokenizers::models::bpe::Vocab>(), merges)
            .ignore_merges(settings.ignore_merges)
            .byte_fallback(settings.byte_fallback)
            .build()
            .map_err(|e| e.to_string())?;
        let mut inner = Tokenizer::new(model);
        inner.with_normalizer(settings.normalizer).map_err(|e| e.to_string())?;
        inner.with_pre_tokenizer(settings.pre_tokenizer);
        inner.with_decoder(Some(settings.decoder));
        inner.add_tokens(added).map_err(|e| e.to_string())?;
        let id_end = vocabulary.tokens.len() as u32;
        Ok(Self { added_are_literal: true, id_end, duplicates, ..Self::new(inner)? })
    }

    fn new(inner: Tokenizer) -> Result<Self, String> {
        let decoder = inner.get_decoder().ok_or("there is no decoder")?;
        let decoder = serde_json::to_value(decoder).map_err(|e| e.to_string())?;
        let decoding = Decoding::from_json(&decoder)?;
        let mut without_special = inner.get_added_vocabulary().clone();
        without_special.set_encode_special_tokens(true);
        Ok(Self {
            inner,
            without_special,
            decoding,
            added_are_literal: false,
            id_end: 0,
            duplicates: HashMap::new(),
        })
    }

    pub fn encode(
        &self,
        text: &str,
        add_special: bool,
        parse_special: bool,
    ) -> Result<Vec<u32>, String> {
        let added = match parse_special {
            true => self.inner.get_added_vocabulary(),
            false => &self.without_special,
        };
        let mut pieces = added.extract_and_normalize(self.inner.get_normalizer(), text);
        if let Some(pre_tokenizer) = self.inner.get_pre_tokenizer() {
            pre_tokenizer.pre_tokenize(&mut pieces).map_err(|e| e.to_string())?;
        }
        let model = self.inner.get_model();
        pieces.tokenize(|piece| model.tokenize(piece.get())).map_err(|e| e.to_string())?;
        let mut encoding =
            pieces.into_encoding(None, 0, OffsetType::None).map_err(|e| e.to_string())?;
        if let (true, Some(processor)) = (add_special, self.inner.get_post_processor()) {
            encoding = processor.process(encoding, None, true).map_err(|e| e.to_string())?;
        }
        Ok(encoding.get_ids().to_vec())
    }

    pub fn token_table(&self) -> Result<Vec<u8>, String> {
        let model = self.inner.get_model();
        let added = self.inner.get_added_vocabulary();
        let added_by_id = added.get_added_tokens_decoder();
        let mut missing = model.get_vocab_size() + self.duplicates.len();
        let added_end = added_by_id.keys().max().map_or(0, |largest| largest.saturating_add(1));
        let mut count = 0u32;
        let mut table = vec![0; 8];
        while missing > 0 || count < added_end.max(self.id_end) {
            if count == MAX_TOKENS {
                return Err(format!("a token id is {MAX_TOKENS} or larger"));
            }
            let of_model =
                model.id_to_token(count).or_else(|| self.duplicates.get(&count).cloned());
            missing -= usize::from(of_model.is_some());
            // An added token decodes from its normalized form, but is known by its own text.
            let text = added_by_id.get(&count).map(|token| token.content.clone());
            let form = added.simple_id_to_token(count).or_else(|| of_model.clone());
            match (text.or(of_model), form) {
                (Some(text), Some(form)) => {
                    let special = added.is_special_token(&text);
                    let flags = FLAG_PRESENT | if special { FLAG_SPECIAL } else { 0 };
                    let literal = self.added_are_literal && added_by_id.contains_key(&count);
                    let decoded = match literal {
                        true => text.clone().into_bytes(),
                        false => self.decoding.decode(&form),
                    };
                    append_record(&mut table, flags, text.as_bytes(), &decoded);
                }
                _ => append_record(&mut table, 0, b"", b""),
            }
            count += 1;
        }
        table[..4].copy_from_slice(&count.to_ne_bytes());
        table[4..8].copy_from_slice(&self.decoding.leading_spaces_dropped().to_ne_bytes());
        Ok(table)
    }
}

fn utf8<'a>(bytes: Bytes, what: &str, index: usize) -> Result<&'a str, String> {
    // The caller keeps the vocabulary alive during the call.
    std::str::from_utf8(unsafe { bytes.as_slice() })
        .map_err(|_| format!("{what} {index} is not UTF-8"))
}

/// Splits at the first space that has something before it, as a token may itself be a space.
fn split_merge(merge: &str, index: usize) -> Result<(String, String), String> {
    let start = merge.chars().next().map_or(0, char::len_utf8);
    match merge[start..].find(' ') {
        Some(at) if start + at + 1 < merge.len() => {
            Ok((merge[..start + at].to_owned(), merge[start + at + 1..].to_owned()))
        }
        _ => Err(format!("merge {index} ({merge:?}) is not two tokens with a space between")),
    }
}
