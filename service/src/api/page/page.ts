import { INFO, TAGS } from '../document.js';
import { API_ENDPOINTS } from '../endpoints.js';
import { type Html, html, prose } from './html.js';
import { operationSection } from './operation.js';

export interface PageOptions {
  /** Pages about this service, by their names. */
  readonly links: Readonly<Record<string, string>>;
  /** Whether the service checks callers: then the page describes 401, and has a field for their credentials. */
  readonly authenticates: boolean;
}

const STYLE_SHEETS = ['colors.css', 'reference.css', 'operation.css', 'try-it.css'];

const GROUPS = TAGS.map(({ name, description }) => ({
  name,
  description,
  endpoints: API_ENDPOINTS.filter(({ tag }) => tag === name),
}));

/** The reference as a page that can be read without its script. */
export function referencePage({ links, authenticates }: PageOptions): string {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${INFO.title}: API reference</title>
        ${STYLE_SHEETS.map((name) => html`<link rel="stylesheet" href="/docs/${name}" />`)}
        <link rel="icon" type="image/svg+xml" href="/docs/icon.svg" />
        <script type="module" src="/docs/reference.js"></script>
      </head>
      <body>
        <header>
          <h1>${INFO.title} <small>${INFO.version}</small></h1>
          <nav aria-label="Pages of this service">
            ${Object.entries(links).map(([name, href]) => html`<a href="${href}">${name}</a>`)}
          </nav>
        </header>
        <nav class="contents" aria-label="Operations">${GROUPS.map(contents)}</nav>
        <main>
          <p>${prose(INFO.description)}</p>
          ${authenticates && credentials()}
          ${GROUPS.map(
            ({ name, description, endpoints }) =>
              html`<h2>${name}</h2>
                <p>${prose(description)}</p>
                ${endpoints.map((endpoint) => operationSection(endpoint, authenticates))}`,
          )}
        </main>
      </body>
    </html> `;
  // The indentation of the templates is a quarter of the page. Within <pre> and <textarea> only JSON is indented.
  return page.text.replaceAll(/>\s*\n\s*</g, '>\n<').trimStart();
}

function contents({ name, endpoints }: (typeof GROUPS)[number]): Html {
  return html`<p id="contents-${name}">${name}</p>
    <ul aria-labelledby="contents-${name}">
      ${endpoints.map(
        ({ operationId, summary, method }) =>
          html`<li>
            <a href="#${operationId}">${summary} <b class="method ${method.toLowerCase()}">${method}</b></a>
          </li>`,
      )}
    </ul>`;
}

function credentials(): Html {
  return html`<form class="try credentials" hidden aria-label="Credentials">
    <label
      >Authorization
      <input id="authorization" placeholder="Bearer …" autocomplete="off" spellcheck="false" aria-describedby="kept"
    /></label>
    <p class="hint" id="kept">Sent with each request of this page, and kept until it is closed.</p>
  </form>`;
}
