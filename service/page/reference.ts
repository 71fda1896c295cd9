/** By operation: its parameters, each as an expression such as `$response.body#/0/id`. */
type Links = Readonly<Record<string, Readonly<Record<string, string>>>>;

interface SentRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** The inspector keeps its theme there, too, so both pages have the same. */
const THEME = 'ambit-inspector-theme';
const LANGUAGE = 'ambit-docs-language';
const SHOWN_HEADERS = [
  'x-request-id',
  'idempotency-replayed',
  'retry-after',
  'cache-status',
  'allow',
  'www-authenticate',
];
/** A longer text has no colours. */
const MAX_PAINTED = 100_000;
/** JSON that fits is in one line. */
const MAX_LINE = 64;
const MIN_ROWS = 3;
const COPIED_MS = 1500;
/** How long a request waits for the inspector to record. */
const RECORDS_MS = 1000;
/** Strings, with a colon behind those that are keys, numbers and words of JSON. */
const TOKENS =
  /((["'])(?:\\.|(?!\2)[^\\])*\2)(\s*:)?|\b(?:true|false|null)\b|(?<![\w./:-])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b/g;

/** Where the browser keeps nothing for this page. */
const unkept = new Map<string, string>();

function keep(setting: string, value: string): void {
  unkept.set(setting, value);
  try {
    localStorage.setItem(setting, value);
  } catch {
    // It lasts as long as the page.
  }
}

function kept(setting: string): string | undefined {
  try {
    return localStorage.getItem(setting) ?? undefined;
  } catch {
    return unkept.get(setting);
  }
}

const prefersDark = matchMedia('(prefers-color-scheme: dark)');

/** Before the page is drawn, and again whenever the switch, the system or the inspector in another tab changes it. */
function applyTheme(): void {
  const theme = kept(THEME) ?? (prefersDark.matches ? 'dark' : 'light');
  document.documentElement.dataset['theme'] = theme;
  const toggle = document.querySelector('#theme');
  if (toggle) toggle.textContent = theme === 'dark' ? '☀' : '☾';
}

function toggleTheme(): void {
  keep(THEME, document.documentElement.dataset['theme'] === 'dark' ? 'light' : 'dark');
  applyTheme();
}

/** Makes one of several panels visible. Without this script all are. */
class Tabs {
  readonly #list = document.createElement('div');
  readonly #tabs: HTMLButtonElement[];
  readonly #panels: HTMLElement[];
  /** Called when the user chooses one. */
  onPick: (name: string) => void = () => undefined;

  constructor(box: HTMLElement) {
    this.#panels = all(box, ':scope > [data-tab]');
    this.#list.className = 'tablist';
    this.#list.role = 'tablist';
    this.#list.ariaLabel = box.dataset['label'] ?? '';
    this.#tabs = this.#panels.map((panel) => this.#tabOf(panel));
    this.#list.append(...this.#tabs);
    this.#list.addEventListener('keydown', (event) => this.#move(event));
    box.prepend(this.#list);
    this.pick(this.#panels.find(({ hidden }) => !hidden)?.dataset['tab'] ?? '');
  }

  /** The panel, whose tab may have been hidden until now. */
  pick(name: string): void {
    for (const [index, panel] of this.#panels.entries()) {
      const [tab, isPicked] = [this.#tabs[index], panel.dataset['tab'] === name];
      panel.hidden = !isPicked;
      if (!tab) continue;
      tab.ariaSelected = String(isPicked);
      tab.tabIndex = isPicked ? 0 : -1;
      if (isPicked) tab.hidden = false;
    }
  }

  /** For what stands beside the tabs. */
  append(...nodes: Node[]): void {
    const line = document.createElement('div');
    line.className = 'tabline';
    this.#list.before(line);
    line.append(this.#list, ...nodes);
  }

  #tabOf(panel: HTMLElement): HTMLButtonElement {
    const { tab: name = '' } = panel.dataset;
    const tab = document.createElement('button');
    Object.assign(tab, {
      type: 'button',
      role: 'tab',
      id: `${panel.id}-tab`,
      className: `s${name[0]}`,
      textContent: name,
    });
    tab.setAttribute('aria-controls', panel.id);
    tab.hidden = panel.hidden;
    tab.addEventListener('click', () => {
      this.pick(name);
      this.onPick(name);
    });
    panel.role = 'tabpanel';
    panel.setAttribute('aria-labelledby', tab.id);
    return tab;
  }

  #move(event: KeyboardEvent): void {
    const shown = this.#tabs.filter(({ hidden }) => !hidden);
    const index = shown.findIndex(({ ariaSelected }) => ariaSelected === 'true');
    const steps: Readonly<Record<string, number>> = {
      ArrowRight: index + 1,
      ArrowLeft: index - 1,
      Home: 0,
      End: shown.length - 1,
    };
    const next = shown.at((steps[event.key] ?? NaN) % shown.length);
    if (!(event.key in steps) || !next) return;
    event.preventDefault();
    next.click();
    next.focus();
  }
}

/** The inspector records while it is looked at, so this page does, from its first request on. */
class Recording {
  #starts: Promise<void> | undefined;
  readonly #inspector = document.body.dataset['inspector'];

  get link(): string | undefined {
    return this.#inspector;
  }

  starts(): Promise<void> {
    const inspector = this.#inspector;
    if (inspector === undefined) return Promise.resolve();
    this.#starts ??= new Promise((resolve) => {
      const events = new EventSource(`${inspector}events`);
      setTimeout(resolve, RECORDS_MS);
      events.addEventListener('open', () => resolve());
      // It needs its token first.
      events.addEventListener('error', () => {
        if (events.readyState === EventSource.CLOSED) this.#starts = undefined;
        resolve();
      });
    });
    return this.#starts;
  }
}

/** One operation: what is filled in, the samples that say the same, and its responses. */
class Operation {
  readonly #form: HTMLFormElement;
  readonly #recording: Recording;
  readonly #responses: Tabs;
  readonly #body: HTMLTextAreaElement | null;
  readonly #key: HTMLInputElement | undefined;
  /** A key that this page made, and that a request has used. */
  #spent = '';

  constructor(form: HTMLFormElement, recording: Recording) {
    this.#form = form;
    this.#recording = recording;
    this.#body = form.querySelector('textarea');
    this.#key = inputsOf(form).find(({ name }) => name === 'Idempotency-Key');
    for (const element of all(form, '[hidden]:not([data-tab], .later)')) element.hidden = false;
    this.#responses = new Tabs(part(form, '.responses'));
    this.#startSamples();
    this.#startInputs();
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void this.#submit();
    });
    part(form, '.again').addEventListener('click', () => void this.send());
  }

  /** Shows the request as it is filled in. */
  showSamples(): void {
    const request = this.#request();
    paint(part(this.#form, '[data-tab="curl"] pre'), curlOf(request));
    paint(part(this.#form, '[data-tab="fetch"] pre'), fetchOf(request));
  }

  async send(): Promise<void> {
    const { url, method, headers, body } = this.#request();
    const buttons = all<HTMLButtonElement>(this.#form, '.send, .again');
    for (const button of buttons) button.disabled = true;
    this.#say('Sending …');
    try {
      await this.#recording.starts();
      const start = performance.now();
      const response = await fetch(url, { method, headers, ...(body !== undefined && { body }) });
      const text = await response.text();
      this.#show(response, text, Math.round(performance.now() - start));
    } catch (error) {
      this.#say(`The request could not be sent: ${String(error)}`);
    } finally {
      for (const button of buttons) button.disabled = false;
    }
  }

  #startSamples(): void {
    const samples = new Tabs(part(this.#form, '.sample'));
    samples.pick(kept(LANGUAGE) ?? 'curl');
    samples.onPick = (name) => {
      keep(LANGUAGE, name);
      dispatchEvent(new Event(LANGUAGE));
    };
    addEventListener(LANGUAGE, () => samples.pick(kept(LANGUAGE) ?? 'curl'));
    const copy = document.createElement('button');
    Object.assign(copy, { type: 'button', className: 'small', textContent: 'Copy' });
    copy.addEventListener('click', () => void copyFrom(part(this.#form, '.sample > :not([hidden]) pre'), copy));
    samples.append(copy);
  }

  #startInputs(): void {
    const select = this.#form.querySelector('select');
    const fill = (): void => {
      if (!select || !this.#body) return;
      this.#body.value = pretty(parsed(select.value));
      this.#body.rows = Math.max(MIN_ROWS, this.#body.value.split('\n').length);
    };
    select?.addEventListener('change', fill);
    fill();
    this.#form.addEventListener('input', () => this.showSamples());
    this.#form.querySelector('.fresh')?.addEventListener('click', () => this.#takeNewKey());
    this.#takeNewKey();
  }

  #takeNewKey(): void {
    if (!this.#key) return;
    this.#key.value = this.#key.dataset['made'] = newKey();
    this.showSamples();
  }

  async #submit(): Promise<void> {
    // Another press is other work; the same again has a button of its own.
    if (this.#key && this.#key.value === this.#spent) this.#takeNewKey();
    // An id that only the service can make comes from the operation that lists it.
    for (const input of inputsOf(this.#form)) {
      const source = operations.get(input.dataset['source'] ?? '');
      if (!source || input.value !== '') continue;
      await source.send();
      if (input.value === '') return this.#say('There is none yet: create one first');
    }
    await this.send();
  }

  #request(): SentRequest {
    const { method = 'GET', path = '' } = this.#form.dataset;
    const given = inputsOf(this.#form).filter(({ value }) => value !== '');
    const inPlace = (place: string): [string, string][] =>
      given.filter((input) => input.dataset['in'] === place).map(({ name, value }) => [name, value]);
    const query = new URLSearchParams(inPlace('query')).toString();
    const values = new Map(inPlace('path'));
    const filled = path.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
      const value = values.get(name);
      return value === undefined ? whole : encodeURIComponent(value);
    });
    const credentials = document.querySelector<HTMLInputElement>('#authorization')?.value;
    const headers = {
      ...(this.#body && { 'content-type': 'application/json' }),
      ...(credentials && { authorization: credentials }),
      ...Object.fromEntries(inPlace('header')),
    };
    const url = `${location.origin}${filled}${query && `?${query}`}`;
    return { url, method, headers, body: this.#body?.value };
  }

  #say(result: string): void {
    this.#responses.pick('Received');
    part(this.#form, '.result').textContent = result;
    for (const element of all(this.#form, '.later:not([data-tab])')) element.hidden = true;
  }

  #show(response: Response, text: string, ms: number): void {
    this.#say(`${response.status} ${response.statusText}, ${ms} ms`);
    const result = part(this.#form, '.result');
    result.className = `result s${String(response.status).slice(0, 1)}`;

    const shown = SHOWN_HEADERS.filter((name) => response.headers.has(name));
    const headers = part(this.#form, '.headers');
    headers.replaceChildren(...shown.flatMap((name) => headerParts(name, response.headers.get(name) ?? '')));
    headers.hidden = shown.length === 0;

    const value = parsed(text);
    const received = part(this.#form, '.received');
    paint(received, value === undefined ? text : pretty(value));
    received.hidden = text === '';

    this.#showInspector(response.headers.get('x-debug-token-link'));
    if (this.#key && response.ok) {
      if (this.#key.value === this.#key.dataset['made']) this.#spent = this.#key.value;
      part(this.#form, '.again').hidden = false;
    }
    if (response.ok) follow(JSON.parse(this.#form.dataset['links'] ?? '{}') as Links, value);
    part(this.#form, '.reply').scrollIntoView({ block: 'nearest' });
  }

  #showInspector(request: string | null): void {
    const link = part<HTMLAnchorElement>(this.#form, '.inspect');
    const target = request ?? this.#recording.link;
    link.hidden = target === undefined;
    if (target === undefined) return;
    link.href = target;
    link.textContent = request === null ? 'Open the inspector to record requests' : 'Show in the inspector';
  }
}

const operations = new Map<string, Operation>();

function all<T extends HTMLElement = HTMLElement>(parent: ParentNode, selector: string): T[] {
  return [...parent.querySelectorAll<T>(selector)];
}

function part<T extends HTMLElement = HTMLElement>(parent: ParentNode, selector: string): T {
  const found = parent.querySelector<T>(selector);
  if (!found) throw new Error(`The page has no ${selector}`);
  return found;
}

const inputsOf = (form: HTMLFormElement): HTMLInputElement[] => all<HTMLInputElement>(form, 'input');

/** As random as a UUID; `crypto.randomUUID()` exists only where the page came by HTTPS, or from this machine. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function headerParts(name: string, value: string): HTMLElement[] {
  const [term, description] = [document.createElement('dt'), document.createElement('dd')];
  term.textContent = name;
  description.textContent = value;
  description.classList.toggle('replayed', name === 'idempotency-replayed');
  return [term, description];
}

/** For a POSIX shell. */
function curlOf({ url, method, headers, body }: SentRequest): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const lines = [`curl -i ${/^[\w:/.-]+$/.test(url) ? url : quoted(url)}`];
  if (method !== 'GET' && body === undefined) lines.push(`-X ${method}`);
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  // `-d @name` would send a file.
  if (body !== undefined) lines.push(`${body.startsWith('@') ? '--data-raw' : '-d'} ${quoted(inOneLine(body))}`);
  return lines.join(' \\\n  ');
}

function fetchOf({ url, method, headers, body }: SentRequest): string {
  const quoted = (text: string): string =>
    `'${JSON.stringify(text)
      .slice(1, -1)
      .replaceAll(String.raw`\"`, '"')
      .replaceAll("'", String.raw`\'`)}'`;
  const fields = Object.entries(headers).map(([name, value]) => `    ${quoted(name)}: ${quoted(value)},\n`);
  const value = body === undefined ? undefined : parsed(body);
  const text = value === undefined ? quoted(body ?? '') : `JSON.stringify(${pretty(value)})`;
  const options = [
    method === 'GET' ? '' : `  method: ${quoted(method)},\n`,
    fields.length > 0 ? `  headers: {\n${fields.join('')}  },\n` : '',
    body === undefined ? '' : `  body: ${text.replaceAll('\n', '\n  ')},\n`,
  ].join('');
  const call = options === '' ? quoted(url) : `${quoted(url)}, {\n${options}}`;
  return `const response = await fetch(${call});\nconsole.log(response.status, await response.json());`;
}

function inOneLine(body: string): string {
  const value = parsed(body);
  const line = JSON.stringify(value);
  return value !== undefined && line.length <= MAX_LINE ? line : body;
}

/** JSON for a reader: a list or an object is in one line if it fits there. */
function pretty(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const isList = Array.isArray(value);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  const inner = `${indent}  `;
  const parts = Object.entries(value).map(
    ([name, member]) => (isList ? '' : `${JSON.stringify(name)}: `) + pretty(member, inner),
  );
  if (parts.length === 0) return open + close;
  const line = isList ? `[${parts.join(', ')}]` : `{ ${parts.join(', ')} }`;
  const fits = (indent !== '' || parts.length === 1) && indent.length + line.length <= MAX_LINE && !line.includes('\n');
  return fits ? line : `${open}\n${parts.map((text) => inner + text).join(',\n')}\n${indent}${close}`;
}

async function copyFrom(source: HTMLElement, button: HTMLButtonElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(source.textContent ?? '');
    button.textContent = 'Copied';
  } catch {
    // A browser has a clipboard only where it may be used: here the user copies what is selected.
    getSelection()?.selectAllChildren(source);
    button.textContent = 'Selected';
  }
  setTimeout(() => (button.textContent = 'Copy'), COPIED_MS);
}

/** Fills the fields of other operations with what this response has for them. */
function follow(links: Links, value: unknown): void {
  for (const [operation, parameters] of Object.entries(links)) {
    const form = document.querySelector<HTMLFormElement>(`form[data-operation="${operation}"]`);
    for (const input of form ? inputsOf(form) : []) {
      const found = at(value, parameters[input.name]);
      if (typeof found === 'string' || typeof found === 'number') input.value = String(found);
    }
    operations.get(operation)?.showSamples();
  }
}

/** The part of a body that an expression names. */
function at(body: unknown, expression = ''): unknown {
  const [, pointer] = expression.split('#/');
  return pointer
    ?.split('/')
    .reduce<unknown>((value, step) => (value as Record<string, unknown> | undefined)?.[step], body);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Shows text with its strings, keys and numbers in colours. */
function paint(element: HTMLElement, text: string): void {
  element.replaceChildren();
  let end = 0;
  for (const match of text.length > MAX_PAINTED ? [] : text.matchAll(TOKENS)) {
    const [whole, string, , colon] = match;
    const token = document.createElement('span');
    token.className = string === undefined ? 'literal' : colon === undefined ? 'string' : 'name';
    token.textContent = string ?? whole;
    element.append(text.slice(end, match.index), token);
    end = match.index + token.textContent.length;
  }
  element.append(text.slice(end));
}

/** Marks in the contents what is read. */
function followReader(): void {
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        const link = document.querySelector(`.contents a[href="#${target.id}"]`);
        if (isIntersecting) link?.setAttribute('aria-current', 'true');
        else link?.removeAttribute('aria-current');
      }
    },
    // The upper half of the window.
    { rootMargin: '-20% 0px -75%' },
  );
  for (const section of all(document, 'main section')) seen.observe(section);
}

applyTheme();
prefersDark.addEventListener('change', applyTheme);
addEventListener('storage', applyTheme);
document.addEventListener('DOMContentLoaded', () => {
  applyTheme();
  for (const element of all(document, '#theme, .lead, .credentials')) element.hidden = false;
  document.querySelector('#theme')?.addEventListener('click', toggleTheme);
  for (const pre of all(document, 'pre')) {
    // It may be longer than what is shown of it, and a keyboard has to scroll it.
    Object.assign(pre, { tabIndex: 0, role: 'group' });
    if (pre.textContent === '') continue;
    pre.ariaLabel = pre.previousElementSibling?.textContent ?? '';
    paint(pre, pretty(parsed(pre.textContent ?? '')));
  }
  const recording = new Recording();
  for (const form of all<HTMLFormElement>(document, 'form[data-operation]')) {
    const operation = new Operation(form, recording);
    operations.set(form.dataset['operation'] ?? '', operation);
    operation.showSamples();
  }
  document.querySelector('#authorization')?.addEventListener('input', () => {
    for (const operation of operations.values()) operation.showSamples();
  });
  document.querySelector('.credentials')?.addEventListener('submit', (event) => event.preventDefault());
  followReader();
});
