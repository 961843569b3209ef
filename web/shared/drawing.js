// What all pages draw with. Colours come from the style sheet; a legend repeats every number.

const kColours = 8;

const element = (id) => document.getElementById(id);

function svg(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function html(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// For axes and read-outs only: every number of the report is spelled by the estimator.
function shortBytes(bytes) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let at = 0;
  while (bytes >= 1024 && at + 1 < units.length) {
    bytes /= 1024;
    at += 1;
  }
  return `${at === 0 || bytes >= 100 ? Math.round(bytes) : Number(bytes.toPrecision(3))} ${units[at]}`;
}

const grouped = (number) => number.toLocaleString("en-US");

function legend(entries) {
  return entries.map((text, index) => html("li", { class: `s${index % kColours}` }, text));
}

// parts: [{label, bytes, text}], a part that is free without a colour.
function bar(parts, title) {
  const whole = parts.reduce((sum, part) => sum + Math.max(part.bytes, 0), 0) || 1;
  const stretches = parts.map((part, index) => {
    const stretch = html("span", { class: `s${index % kColours}${/^free/i.test(part.label) ? " free" : ""}` });
    stretch.style.flex = `${Math.max(part.bytes, 0) / whole} 0 0`;
    return stretch;
  });
  const names = parts.map((part) => `${part.label} ${part.text}`);
  const keys = legend(names);
  keys.forEach((key, index) => key.classList.toggle("free", stretches[index].classList.contains("free")));
  return [
    html("div", { class: "bar", role: "img", "aria-label": `${title}: ${names.join(", ")}` }, ...stretches),
    html("ul", { class: "legend" }, ...keys),
  ];
}
