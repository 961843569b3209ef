//! Chat templates: a model's own Jinja, in the environment that transformers gives it
//! (trim_blocks, lstrip_blocks, loop controls, Python's methods, tojson, raise_exception,
//! strftime_now). Rendering is bounded in time and memory by minijinja's fuel.

use crate::python_json::tojson;
use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, ErrorKind, Value};
use minijinja_contrib::pycompat::unknown_method_callback;
use std::collections::BTreeMap;
use std::ffi::CString;

const NAME: &str = "chat_template";
/// One unit is an instruction or 64 bytes; a chat of a thousand turns takes well under a million.
const FUEL: u64 = 20_000_000;
const MAX_OUTPUT_BYTES: usize = 64 << 20;
/// The variable that carries the clock into `strftime_now`.
const NOW: &str = "cairn_now_unix_s";

pub struct ChatTemplate {
    environment: Environment<'static>,
}

impl ChatTemplate {
    pub fn parse(source: &[u8]) -> Result<Self, String> {
        let source = std::str::from_utf8(source).map_err(|_| "the template is not UTF-8")?;
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .map_err(|e| describe(&e))?;
        environment.set_syntax(syntax);
        environment.set_fuel(Some(FUEL));
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.add_filter("tojson", tojson);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", strftime_now);
        environment
            .add_template_owned(NAME, without_generation_tags(source))
            .map_err(|e| describe(&e))?;
        Ok(Self { environment })
    }

    pub fn render(&self, context_json: &[u8], now_unix_s: i64) -> Result<Vec<u8>, String> {
        let mut context: BTreeMap<String, Value> =
            serde_json::from_slice(context_json).map_err(|e| e.to_string())?;
        context.insert(NOW.into(), now_unix_s.into());
        let template = self.environment.get_template(NAME).map_err(|e| describe(&e))?;
        let text = template.render(Value::from(context)).map_err(|e| describe(&e))?;
        if text.len() > MAX_OUTPUT_BYTES {
            return Err(format!("the rendered text is larger than {MAX_OUTPUT_BYTES} bytes"));
        }
        Ok(text.into_bytes())
    }
}

fn describe(error: &Error) -> String {
    let what = match (error.kind(), error.detail()) {
        (_, Some(detail)) => detail.to_owned(),
        (ErrorKind::OutOfFuel, None) => "the template runs too long".to_owned(),
        (kind, None) => kind.to_string(),
    };
    match error.line() {
        Some(line) => format!("line {line}: {what}"),
        None => what,
    }
}

fn raise_exception(message: &str) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message.to_owned()))
}

fn strftime_now(state: &minijinja::State, format: &str) -> Result<Value, Error> {
    let invalid = |what: &str| Error::new(ErrorKind::InvalidOperation, what.to_owned());
    let now = state.lookup(NOW).and_then(|now| i64::try_from(now).ok()).unwrap_or(0);
    let format = CString::new(format).map_err(|_| invalid("strftime_now: NUL in the format"))?;
    let mut text = vec![0u8; 1024];
    // SAFETY: all pointers are to live local values, and strftime is told the buffer's size.
    let size = unsafe {
        let mut fields: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&(now as libc::time_t), &mut fields).is_null() {
            return Err(invalid("strftime_now: the time is out of range"));
        }
        libc::strftime(text.as_mut_ptr().cast(), text.len(), format.as_ptr(), &fields)
    };
    text.truncate(size);
    Ok(Value::from(String::from_utf8_lossy(&text).into_owned()))
}

/// transformers marks the assistant's text with `{% generation %}` for training. The marks print
/// nothing, so they become an `if` that is always taken, on the same line.
fn without_generation_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find("{%") {
        let Some(length) = rest[start..].find("%}") else { break };
        let (tag, after) = rest[start..].split_at(length);
        let word = tag[2..].trim_matches(|c: char| c == '-' || c == '+' || c.is_whitespace());
        out.push_str(&rest[..start]);
        match word {
            "generation" => out.push_str(&tag.replacen("generation", "if true", 1)),
            "endgeneration" => out.push_str(&tag.replacen("endgeneration", "endif", 1)),
            _ => out.push_str(tag),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}
