/**
 * Markdown of strangers as elements that load nothing and run nothing: no images, no styles, no addresses that the window would
 * follow by itself.
 */
import DOMPurify from "dompurify";
import { marked } from "marked";

const TAGS =
  "a b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i kbd li ol p pre s span strong sub summary sup table tbody td th thead tr u ul".split(
    " ",
  );
const ATTRIBUTES = ["href", "align", "colspan", "rowspan", "open", "start"];

/** `base` is what relative links mean; `imageText` words an image that is not shown. */
export function renderMarkdown(source: string, base: string, imageText: (alt: string) => string): DocumentFragment {
  const html = marked.parse(withoutFrontMatter(source), { async: false, gfm: true });
  // A parsed document is inert: images of it are not loaded, scripts not run. They go before anything enters the window.
  const inert = new DOMParser().parseFromString(html, "text/html");
  for (const image of inert.querySelectorAll("img")) {
    const words = inert.createElement("span");
    words.textContent = `[${imageText(image.getAttribute("alt") ?? "")}]`;
    image.replaceWith(words);
  }
  const clean = DOMPurify.sanitize(inert.body.innerHTML, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
  // What scrolls by itself must be reached by the keyboard.
  for (const wide of clean.querySelectorAll("pre, table")) wide.setAttribute("tabindex", "0");
  for (const link of clean.querySelectorAll("a")) link.replaceWith(asButton(link, base));
  return clean;
}

/** A link that is only a wish: whoever shows it decides, by `data-page`. Without a safe address it is text. */
function asButton(link: HTMLAnchorElement, base: string): HTMLElement {
  const page = httpsAddress(link.getAttribute("href"), base);
  const element = document.createElement(page === null ? "span" : "button");
  if (page !== null) {
    element.setAttribute("type", "button");
    element.setAttribute("role", "link");
    element.setAttribute("title", page);
    element.dataset["page"] = page;
  }
  element.append(...link.childNodes);
  return element;
}

export function httpsAddress(href: string | null, base: string): string | null {
  if (href === null || href.startsWith("#")) return null;
  try {
    const url = new URL(href, base);
    return url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}

/** The Hub's metadata at the top is for machines. */
export const withoutFrontMatter = (source: string): string => source.replace(/^\uFEFF?---\r?\n[\s\S]*?\r?\n---\r?\n/, "");
