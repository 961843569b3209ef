// The report's sections as the estimator gives them: fields, tables, bars, notes. Nothing here
// knows which sections there are.

function tableElement({ label, columns, numbers, rows }) {
  const cell = (name, text, index, more = {}) =>
    html(name, numbers[index] ? { class: "number", ...more } : more, text);
  const head = html("tr", {}, ...columns.map((text, i) => cell("th", text, i, { scope: "col" })));
  const body = rows.map((row) => html("tr", {}, ...row.map((text, i) => cell("td", text, i))));
  const table = html("table", {}, html("thead", {}, head), html("tbody", {}, ...body));
  if (label) table.prepend(html("caption", {}, label));
  return html("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label || "table" }, table);
}

function fieldElements({ key, label, text, formula }) {
  const value = html("dd", { "data-key": key }, html("span", { class: "value" }, text));
  if (formula) value.append(html("span", { class: "formula" }, formula));
  return [html("dt", {}, label), value];
}

function sectionElement(section) {
  const made = html("section", { "data-section": section.key, "aria-label": section.title || section.key });
  if (section.title) made.append(html("h2", {}, section.title));
  if (section.bar.length) made.append(...bar(section.bar, section.title));
  if (section.fields.length) made.append(html("dl", {}, ...section.fields.flatMap(fieldElements)));
  made.append(...section.tables.filter(({ rows }) => rows.length > 0).map(tableElement));
  made.append(...section.warnings.map((text) => html("p", { class: "warning" }, text)));
  made.append(...section.notes.map((text) => html("p", { class: "muted" }, text)));
  return made;
}

// A word of a shell's command line.
function shellWord(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

// The question as flags; what has its default is left out.
function commandLine(name, question, defaults) {
  const parts = ["cairn", "size", shellWord(name)];
  for (const [flag, value] of Object.entries(question)) {
    if (JSON.stringify(value) === JSON.stringify(defaults[flag])) continue;
    if (flag === "requests") {
      parts.push("--requests", "FILE");
    } else {
      parts.push(`--${flag}`, shellWord(Array.isArray(value) ? value.join(",") : String(value)));
    }
  }
  return parts.join(" ");
}
