// Makes and keeps elements: text goes in as text only, so nothing that was said can become markup.

/** An element. Properties: `on*` listeners, `data`, anything else an attribute; `null` and `false` are left out. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  set(element, properties);
  element.append(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

/** The same for drawings. */
export function s(tag, properties = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(element, properties);
  element.append(...children.flat(3).filter(Boolean));
  return element;
}

function set(element, properties) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
}

/**
 * Makes the children of `parent` follow `items` by key: what stays keeps its element (and its focus), what comes is marked
 * `.came` for a moment, what goes goes. `make(item)` gives an element, `update(element, item)` refreshes one.
 */
export function keyed(parent, items, key, make, update = () => {}) {
  const before = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  const settled = parent.dataset.filled === "1";
  let at = null;
  for (const item of items) {
    const name = String(key(item));
    let child = before.get(name);
    before.delete(name);
    if (!child) {
      child = make(item);
      child.dataset.key = name;
      if (settled) child.classList.add("came");
    }
    update(child, item);
    const next = at ? at.nextSibling : parent.firstChild;
    if (next !== child) parent.insertBefore(child, next);
    at = child;
  }
  before.forEach((child) => child.remove());
  parent.dataset.filled = "1";
}

/** Says something to everybody, screen readers included, for some seconds. */
export function toast(text) {
  const place = document.getElementById("toast");
  place.textContent = text;
  place.classList.add("up");
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => place.classList.remove("up"), 6000);
}
