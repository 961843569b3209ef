//! Answers that follow a JSON schema, by `llguidance`: which tokens may come next.
//!
//! A schema comes from a client and is not trusted: the crate bounds the grammar's size, the lexer's
//! states and the work of a step, and what it can't follow exactly it refuses.

use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::{ApproximateTokEnv, InferenceCapabilities, TokRxInfo, TokTrie};
use llguidance::{Matcher, ParserFactory};
use serde_json::{json, Value};
use std::sync::Arc;

/// The vocabulary, prepared once for all answers.
pub struct GrammarFactory {
    parsers: ParserFactory,
}

impl GrammarFactory {
    /// `words` are the bytes of each token, `special` whether it isn't text; `end` ends an answer.
    pub fn new(words: &[&[u8]], special: &[u8], end: u32) -> Result<Self, String> {
        let count = u32::try_from(words.len()).map_err(|_| "the vocabulary is too large")?;
        if end >= count {
            return Err("the token that ends answers is not in the vocabulary".into());
        }
        let words: Vec<Vec<u8>> = words
            .iter()
            .zip(special)
            .map(|(word, special)| match special {
                0 => word.to_vec(),
                // No text can be mistaken for it.
                _ => [&[TokTrie::SPECIAL_TOKEN_MARKER][..], word].concat(),
            })
            .collect();
        let trie = TokTrie::from(&TokRxInfo::new(count, end), &words);
        let environment: llguidance::toktrie::TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        let slices = llguidance::earley::SlicedBiasComputer::general_slices();
        let mut parsers =
            ParserFactory::new(&environment, InferenceCapabilities::default(), &slices)
                .map_err(|e| e.to_string())?;
        parsers.quiet();
        Ok(Self { parsers })
    }

    /// Separators have one form, so that no answer is spaces without end.
    pub fn follow_schema(&self, schema: &[u8]) -> Result<Follower, String> {
        let mut schema: Value = serde_json::from_slice(schema).map_err(|e| e.to_string())?;
        let style = json!({"whitespace_flexible": false, "item_separator": ", ", "key_separator": ": "});
        match schema.as_object_mut() {
            Some(object) => object.insert("x-guidance".into(), style),
            None => return Err("the schema is not an object".into()),
        };
        let grammar = TopLevelGrammar::from_json_schema(schema);
        let parser = self.parsers.create_parser(grammar).map_err(|e| e.to_string())?;
        let mut matcher = Matcher::new(Ok(parser));
        matcher.compute_mask_or_eos().map_err(|e| e.to_string())?;
        Ok(Follower { matcher })
    }
}

/// One answer's place in its grammar.
pub struct Follower {
    matcher: Matcher,
}

impl Follower {
    /// A bit for each token, 32 in a word, lowest first.
    pub fn allowed(&mut self) -> Result<Vec<u8>, String> {
        let mask = self.matcher.compute_mask_or_eos().map_err(|e| e.to_string())?;
        Ok(mask.as_slice().iter().flat_map(|word| word.to_ne_bytes()).collect())
    }

    pub fn accept(&mut self, token: u32) -> Result<(), String> {
        if self.matcher.is_stopped() {
            return Ok(());
        }
        self.matcher.consume_token(token).map_err(|e| e.to_string())
    }

    pub fn copy(&self) -> Self {
        Self { matcher: self.matcher.deep_clone() }
    }
}
