//! C functions over `tokenizers`, `minijinja` and `llguidance`; cairn/text/ffi.h declares the same ones.
//!
//! Bytes go in as pointer and length and stay the caller's; bytes come out as a `Buffer` that the
//! caller gives back with `cairn_text_buffer_free`. Every fallible function returns 0 or `FAILED`
//! and then leaves a one-line message in the buffer. No panic crosses the boundary.
//! Handles may be shared between threads; only freeing needs exclusive ownership.

mod boundary;
mod decoding;
mod grammar;
mod python_json;
mod template;
mod tokenizer;

use boundary::{guard, Buffer, Bytes, Strings};
use grammar::{Follower, GrammarFactory};
use template::ChatTemplate;
use tokenizer::{BpeVocabulary, TextTokenizer};

/// Also add the tokens that the tokenizer's own post-processor puts around a text.
const ENCODE_ADD_SPECIAL: u32 = 1;
/// Let the text of a special token stand for that token.
const ENCODE_PARSE_SPECIAL: u32 = 2;

/// # Safety
/// `json` must point to its bytes, `out` and `result` to writable places.
#[no_mangle]
pub unsafe extern "C" fn cairn_text_tokenizer_from_json(
    json: Bytes,
    out: *mut *mut TextTokenizer,
    result: *mut Buffer,
) -> i32 {
    guard(result, || {
        let tokenizer = TextTokenizer::from_json(json.as_slice())?;
        *out = Box::into_raw(Box::new(tokenizer));
        Ok(Vec::new())
    })
}

/// # Safety
/// As above; `kinds` holds one byte per token.
#[no_mangle]
pub unsafe extern "C" fn cairn_text_tokenizer_from_bpe(
    settings_json: Bytes,
    tokens: Strings,
    kinds: *const u8,
    merges: Strings,
    out: *mut *mut TextTokenizer,
    result: *mut Buffer,
) -> i32 {
    guard(result, || {
        let kinds = Bytes { data: kinds, size: tokens.count };
        let vocabulary = BpeVocabulary {
            tokens: tokens.as_slice(),
            kinds: kinds.as_slice(),
            merges: merges.as_slice(),
        };
        let tokenizer = TextTokenizer::from_bpe(settings_json.as_slice(), &vocabulary)?;
        *out = Box::into_raw(Box::new(tokenizer));
        Ok(Vec::new())
    })
}

/// # Safety
/// `tokenizer` comes from one of the functions above and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn cairn_text_tokenizer_free(tokenizer: *mut TextTokenizer) {
    if !tokenizer.is_null() {
        drop(Box::from_raw(tokenizer));
    }
}

/// Leaves the token ids in `result`, four bytes each.
///
/// # Safety
/// `tokenizer` is a live handle, `text` points to its bytes, `result` is writable.
#[no_mangle]
pub unsafe extern "C" fn cairn_text_encode(
    tokenizer: *const TextTokenizer,
    text: Bytes,
    flags: u32,
    result: *mut Buffer,
) -> i32 {
    guard(result, || {
        let text = std::str::from_utf8(text.as_slice())
            .map_err(|e| format!("the text is not UTF-8 at byte {}", e.valid_up_to()))?;
        let ids = (*tokenizer).encode(
            text,
            flags & ENCODE_ADD_SPECIAL != 0,
            flags & ENCODE_PARSE_SPECIAL != 0,
        )?;
        Ok(ids.iter().flat_map(|id| id.to_ne_bytes()).collect())
    })
}

/// Leaves one record per token id, from 0 without gaps, in `result` (decoding.rs describes it).
///
/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn cairn_text_token_table(
    tokenizer: *const TextTokenizer,
    result: *mut Buffer,
) -> i32 {
    guard(result, || (*tokenizer).token_table())
}

/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn cairn_text_template_parse(
    source: Bytes,
    out: *mut *mut ChatTemplate,
    result: *mut Buffer,
) -> i32 {
    guard(result, || {
        let template = ChatTemplate::parse(source.as_slice())?;
        *out = Box::into_raw(Box::new(template));
        Ok(Vec::new())
    })
}

/// Leaves the rendered text in `result`. `now_unix_s` is what the template's clock shows.
///
/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn cairn_text_template_render(
    template: *const ChatTemplate,
    context_json: Bytes,
    now_unix_s: i64,
    result: *mut Buffer,
) -> i32 {
    guard(result, || (*template).render(context_json.as_slice(), now_unix_s))
}

/// # Safety
/// `template` comes from `cairn_text_template_parse` and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn cairn_text_template_free(template: *mut ChatTemplate) {
    if !template.is_null() {
        drop(Box::from_raw(template));
    }
}

/// # Safety
/// As above; `special` holds one byte per token.
#[no_mangle]
pub unsafe extern "C" fn cairn_text_grammar_factory_new(
    tokens: Strings,
    special: *const u8,
    end: u32,
    out: *mut *mut GrammarFactory,
    result: *mut Buffer,
) -> i32 {
    guard(result, || {
        let special = Bytes { data: special, size: tokens.count };
        let words: Vec<&[u8]> = tokens.as_slice().iter().map(|token| token.as_slice()).collect();
        let factory = GrammarFactory::new(&words, special.as_slice(), end)?;
        *out = Box::into_raw(Box::new(factory));
        Ok(Vec::new())
    })
}

/// # Safety
/// `factory` comes from the function above and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn cairn_text_grammar_factory_free(factory: *mut GrammarFactory) {
    if !factory.is_null() {
        drop(Box::from_raw(factory));
    }
}

/// # Safety
/// `factory` is a live handle, `schema_json` points to its bytes, `out` and `result` are writable.
#[no_mangle]
pub unsafe extern "C" fn cairn_text_follow_schema(
    factory: *const GrammarFactory,
    schema_json: Bytes,
    out: *mut *mut Follower,
    result: *mut Buffer,
) -> i32 {
    guard(result, || {
        let follower = (*factory).follow_schema(schema_json.as_slice())?;
        *out = Box::into_raw(Box::new(follower));
        Ok(Vec::new())
    })
}

/// Leaves a bit for each token in `result`.
///
/// # Safety
/// `follower` is a live handle that nobody else uses now, `result` is writable.
#[no_mangle]
pub unsafe extern "C" fn cairn_text_follower_allowed(
    follower: *mut Follower,
    result: *mut Buffer,
) -> i32 {
    guard(result, || (*follower).allowed())
}

/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn cairn_text_follower_accept(
    follower: *mut Follower,
    token: u32,
    result: *mut Buffer,
) -> i32 {
    guard(result, || (*follower).accept(token).map(|()| Vec::new()))
}

/// # Safety
/// As above; `out` is writable.
#[no_mangle]
pub unsafe extern "C" fn cairn_text_follower_copy(
    follower: *const Follower,
    out: *mut *mut Follower,
    result: *mut Buffer,
) -> i32 {
    guard(result, || {
        *out = Box::into_raw(Box::new((*follower).copy()));
        Ok(Vec::new())
    })
}

/// # Safety
/// `follower` comes from one of the functions above and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn cairn_text_follower_free(follower: *mut Follower) {
    if !follower.is_null() {
        drop(Box::from_raw(follower));
    }
}

/// # Safety
/// `buffer` was filled by one of the functions above and is not used afterwards.
#[no_mangle]
pub unsafe extern "C" fn cairn_text_buffer_free(buffer: Buffer) {
    buffer.free();
}
