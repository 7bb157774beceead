// The state of the page is its address: the view is the path, everything else the query. A file has both after `#`.

import { kept } from "/static/kept.js";

const listeners = [];

/** The view and its parameters, as the address has them. */
export function current() {
  const { pathname, search } = kept ? new URL(location.hash.slice(1) || "/", "file:///") : location;
  return { view: pathname.slice(1), params: Object.fromEntries(new URLSearchParams(search)) };
}

export const onChange = (listener) => listeners.push(listener);

/** The address of a view with parameters; empty ones are left out. */
export function address(view, params = {}) {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(given).toString();
  return `${kept ? "#" : ""}/${view}${query ? `?${query}` : ""}`;
}

/** Go to a view; `replace` where going back should not stop here. */
export function go(view, params, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", address(view, params));
  listeners.forEach((listener) => listener());
}

/** Change parameters of this view. */
export function change(params, options) {
  const now = current();
  go(now.view, { ...now.params, ...params }, options);
}

/** Put parameters into the address, of which nobody needs to be told. */
export function note(params) {
  const now = current();
  history.replaceState(null, "", address(now.view, { ...now.params, ...params }));
}

addEventListener("popstate", () => listeners.forEach((listener) => listener()));
