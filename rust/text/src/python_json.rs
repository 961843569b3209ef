//! The `tojson` filter as Hugging Face's chat templates know it: Python's `json.dumps` with
//! `ensure_ascii=False`, not Jinja's HTML-safe form.

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, Value};
use std::fmt::Write;

const MAX_DEPTH: usize = 100;

struct Style {
    indent: Option<usize>,
    item_separator: String,
    key_separator: String,
    sort_keys: bool,
    ensure_ascii: bool,
}

/// `tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False)`
pub fn tojson(value: &Value, ensure_ascii: Option<bool>, kwargs: Kwargs) -> Result<Value, Error> {
    let indent: Option<usize> = kwargs.get("indent")?;
    let separators: Option<Vec<String>> = kwargs.get("separators")?;
    let (item_separator, key_separator) = match separators.as_deref() {
        Some([item, key]) => (item.clone(), key.clone()),
        Some(_) => return Err(invalid("tojson: separators must be two strings")),
        None if indent.is_some() => (",".into(), ": ".into()),
        None => (", ".into(), ": ".into()),
    };
    let style = Style {
        indent,
        item_separator,
        key_separator,
        sort_keys: kwargs.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
        ensure_ascii: match ensure_ascii {
            Some(set) => set,
            None => kwargs.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
        },
    };
    kwargs.assert_all_used()?;
    let mut out = String::new();
    dump(value, &style, 0, &mut out)?;
    Ok(Value::from(out))
}

fn invalid(message: &str) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.to_owned())
}

fn dump(value: &Value, style: &Style, depth: usize, out: &mut String) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        return Err(invalid("tojson: the value is nested too deeply"));
    }
    match value.kind() {
        ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => dump_number(value, out),
        ValueKind::String => dump_string(value.as_str().unwrap_or_default(), style, out),
        ValueKind::Seq | ValueKind::Iterable => {
            let items = value.try_iter()?.collect::<Vec<_>>();
            dump_items(('[', ']'), &items, style, depth, out, |item, out| {
                dump(item, style, depth + 1, out)
            })?;
        }
        ValueKind::Map => {
            let mut keys = value.try_iter()?.collect::<Vec<_>>();
            if style.sort_keys {
                keys.sort();
            }
            dump_items(('{', '}'), &keys, style, depth, out, |key, out| {
                match key.as_str() {
                    Some(text) => dump_string(text, style, out),
                    None => dump_string(&key.to_string(), style, out),
                }
                out.push_str(&style.key_separator);
                dump(&value.get_item(key)?, style, depth + 1, out)
            })?;
        }
        kind => return Err(invalid(&format!("tojson: {kind} is not JSON"))),
    }
    Ok(())
}

fn dump_items(
    brackets: (char, char),
    items: &[Value],
    style: &Style,
    depth: usize,
    out: &mut String,
    mut dump_item: impl FnMut(&Value, &mut String) -> Result<(), Error>,
) -> Result<(), Error> {
    let break_line = |depth: usize, out: &mut String| {
        if let Some(width) = style.indent {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', width.min(64) * depth));
        }
    };
    out.push(brackets.0);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(&style.item_separator);
        }
        break_line(depth + 1, out);
        dump_item(item, out)?;
    }
    if !items.is_empty() {
        break_line(depth, out);
    }
    out.push(brackets.1);
    Ok(())
}

fn dump_number(value: &Value, out: &mut String) {
    if value.is_integer() {
        let _ = write!(out, "{value}");
        return;
    }
    match f64::try_from(value.clone()) {
        Ok(number) if number.is_nan() => out.push_str("NaN"),
        Ok(number) if number.is_infinite() => {
            out.push_str(if number > 0.0 { "Infinity" } else { "-Infinity" })
        }
        Ok(number) => out.push_str(&python_float(number)),
        Err(_) => out.push_str("null"),
    }
}

/// Python's repr: the shortest digits, an exponent outside 1e-4 .. 1e16.
fn python_float(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(rest) => ('-', rest),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    format!("{number:?}")
}

fn dump_string(text: &str, style: &Style, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", character as u32);
            }
            _ if style.ensure_ascii && !character.is_ascii() => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}
