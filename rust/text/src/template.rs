//! Chat templates: a model's own Jinja, in the environment that transformers gives it
//! (trim_blocks, lstrip_blocks, loop controls, Python's methods, tojson, raise_exception,
//! strftime_now). Rendering is bounded in time and memory by minijinja's fuel.

use crate::python_json::tojson;
use minijinja::machinery::{tokenize, Token};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, Value};
use minijinja_contrib::pycompat::unknown_method_callback;
use std::collections::BTreeMap;
use std::ffi::CString;

const NAME: &str = "chat_template";
/// The largest known template has 17 KB.
const MAX_SOURCE_BYTES: usize = 128 << 10;
/// Within one tag. The largest known has 57; folding constants takes time that grows faster
/// than an expression.
const MAX_TAG_TOKENS: usize = 1000;
/// One unit of fuel is an instruction or 64 bytes. What a template has to do grows with what it is
/// given: a message or a tool takes a few hundred units.
const FUEL_BASE: u64 = 1_000_000;
const FUEL_PER_CONTEXT_BYTE: u64 = 50;
const FUEL_MOST: u64 = 8_000_000;
/// Nested values take about 500 bytes of stack a level, and ten units of fuel to make one. The
/// system only provides the pages that are used.
const STACK_BYTES: usize = 512 << 20;
const MAX_OUTPUT_BYTES: usize = 64 << 20;
/// The variable that carries the clock into `strftime_now`.
const NOW: &str = "cairn_now_unix_s";

pub struct ChatTemplate {
    environment: Environment<'static>,
}

impl ChatTemplate {
    pub fn parse(source: &[u8]) -> Result<Self, String> {
        let source = std::str::from_utf8(source).map_err(|_| "the template is not UTF-8")?;
        if source.len() > MAX_SOURCE_BYTES {
            return Err(format!(
                "it has {} bytes; at most {MAX_SOURCE_BYTES} can be",
                source.len()
            ));
        }
        on_deep_stack(|| Self::parse_here(source))
    }

    fn parse_here(source: &str) -> Result<Self, String> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()
            .map_err(|e| describe(&e))?;
        check_tags(source, &syntax)?;
        environment.set_syntax(syntax);
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.add_filter("tojson", tojson);
        environment.add_test("iterable", is_iterable);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", strftime_now);
        environment
            .add_template_owned(NAME, without_generation_tags(source))
            .map_err(|e| describe(&e))?;
        Ok(Self { environment })
    }

    pub fn render(&self, context_json: &[u8], now_unix_s: i64) -> Result<Vec<u8>, String> {
        on_deep_stack(|| self.render_here(context_json, now_unix_s))
    }

    fn render_here(&self, context_json: &[u8], now_unix_s: i64) -> Result<Vec<u8>, String> {
        let mut context: BTreeMap<String, Value> =
            serde_json::from_slice(context_json).map_err(|e| e.to_string())?;
        context.insert(NOW.into(), now_unix_s.into());
        let fuel = FUEL_BASE + FUEL_PER_CONTEXT_BYTE * context_json.len() as u64;
        let mut environment = self.environment.clone();
        environment.set_fuel(Some(fuel.min(FUEL_MOST)));
        let template = environment.get_template(NAME).map_err(|e| describe(&e))?;
        let text = template.render(Value::from(context)).map_err(|e| describe(&e))?;
        if text.len() > MAX_OUTPUT_BYTES {
            return Err(format!("the rendered text is larger than {MAX_OUTPUT_BYTES} bytes"));
        }
        Ok(text.into_bytes())
    }
}

fn check_tags(source: &str, syntax: &SyntaxConfig) -> Result<(), String> {
    let mut count = 0;
    for token in tokenize(source, false, syntax.clone()) {
        let (token, span) = token.map_err(|e| describe(&e))?;
        count = match token {
            Token::VariableEnd | Token::BlockEnd => 0,
            _ => count + 1,
        };
        if count > MAX_TAG_TOKENS {
            return Err(format!("line {}: the tag is too long", span.start_line));
        }
    }
    Ok(())
}

/// Runs `work` on a thread of its own with room for deep recursion.
fn on_deep_stack<T: Send>(work: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        match thread {
            // A panic goes on here, to the guard of the C boundary.
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(problem) => Err(format!("there is no thread for the template: {problem}")),
        }
    })
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

/// As in Python, where none is not iterable and undefined is.
fn is_iterable(value: &Value) -> bool {
    matches!(
        value.kind(),
        ValueKind::Undefined
            | ValueKind::String
            | ValueKind::Seq
            | ValueKind::Map
            | ValueKind::Iterable
    )
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
