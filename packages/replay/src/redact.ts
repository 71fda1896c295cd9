import { type Bytes, packedBytes, parsed, unpackedBytes } from './data.js';
import type { Recording, Step } from './recording.js';
import { passesLuhn, StandIns } from './stand-ins.js';

/** Values to replace before a recording is kept, besides passwords, tokens, cookies, keys and numbers of cards. */
export interface RedactOptions {
  /** Columns of rows, and of the parameters that are stored in them or compared with them. */
  readonly columns?: readonly (string | RegExp)[];
  /** Headers of the request and of its response. */
  readonly headers?: readonly (string | RegExp)[];
  /** Properties of bodies in JSON and fields of forms, wherever they are: `birthday`, or `person.name`. */
  readonly paths?: readonly string[];
  /** Matches in any text: the first group is replaced, or without groups the whole match. */
  readonly patterns?: readonly RegExp[];
}

const SECRET_NAME =
  /pass(?:word|wd|phrase|code)|(?:^|_)pwd|secret|token|cookie|authorization|api_?key|access_?key|private_?key|credential|session|csrf|xsrf|jwt|signature|(?:^|_)(?:sid|otp|pin|cvv|cvc|ssn|iban|salt)(?:_|$)|card_?(?:number|no|nr)?$/;

const PATTERNS: readonly (readonly [place: string, pattern: RegExp])[] = [
  ['a JWT', /\beyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*/g],
  ['a bearer', /\b(?:bearer|basic)\s+([\w.~+/=-]{8,})/gi],
  ['a private key', /-----BEGIN [A-Z ]*PRIVATE KEY-----([^-]+)-----END/g],
  ['a password in a URL', /:\/\/[^\s/:@]+:([^\s/@]+)@/g],
  [
    'a key of a service',
    /\b(?:[spr]k_(?:live|test)_\w{8,}|gh[pousr]_\w{20,}|AKIA[0-9A-Z]{16}|xox[abprs]-[\w-]{10,}|AIza[\w-]{30,})/g,
  ],
];
const CARD = /(?<![\w.-])\d(?:[ -]?\d){13,18}(?![\w.-])/g;
/** `password=...` in the text of an error, `"token": "..."` in a body that was cut, `(token)=(...)` in the detail of a constraint. */
const NAMED =
  /\b(?=([A-Za-z][\w-]*)["')\]]{0,2}\s*[=:]\s*(?:\(([^)]+)\)|'((?:[^']|'')+)'|"((?:[^"\\]|\\.)+)"|([^\s"',;&()]+)))/g;
const FORM = /^[\w.%+[\]-]+=[^\s]*$/;
const PART = /name="([^"]+)"[^\n]*\n(?:[^\n]+\n)*?\r?\n([^]*?)\r?\n--/g;

const TOKEN_BYTES = 8;
/** Texts that are shorter would be found within others. */
const SHORTEST_WITHIN = 6;

/** Replaces secrets of one recording, wherever they are in it. */
export function redact(recording: Recording, options: RedactOptions): Recording {
  return new Redaction(options).of(recording);
}

type Written = readonly (readonly [secret: string, standIn: string, place: string])[];

class Redaction {
  readonly #options: RedactOptions;
  readonly #standIns = new StandIns();
  readonly #secrets = new Map<string, string>();
  readonly #replaced = new Set<string>();
  /** Longest first, and as they are written in a URL, in base64 or in hex. */
  #written: Written = [];

  constructor(options: RedactOptions) {
    this.#options = options;
  }

  of(recording: Recording): Recording {
    this.#find(recording);
    const isToken = ([secret]: readonly [string, string]): boolean => claimsOf(secret) !== undefined;
    const written = [...this.#secrets].filter(([secret]) => secret.length >= SHORTEST_WITHIN);
    // The claims of a token may have other secrets within them.
    this.#written = this.#formsOf(written.filter((one) => !isToken(one)));
    this.#written = [...this.#written, ...this.#formsOf(written.filter(isToken))].toSorted(
      ([one], [other]) => other.length - one.length,
    );
    const { request, response, steps, texts, outcome, ...others } = recording;
    return {
      ...others,
      outcome: this.#replace(outcome) as Recording['outcome'],
      request: {
        ...(this.#replace({ ...request, body: undefined }) as typeof request),
        ...(request.body && { body: this.#bytes(request.body) }),
      },
      ...(response && {
        response: { headers: this.#replace(response.headers) as never, body: this.#bytes(response.body) },
      }),
      texts: texts.map((text) => this.#text(text)),
      steps: steps.map((step) => this.#step(step)),
      replaced: [...this.#replaced].toSorted(),
      standIns: this.#standIns.all,
    };
  }

  #formsOf(secrets: readonly (readonly [secret: string, place: string])[]): Written {
    return secrets.flatMap(([secret, place]) => {
      const standIn = this.#standIn(secret);
      return forms(secret).map((form, i) => [form, forms(standIn)[i] ?? standIn, place] as const);
    });
  }

  /** A JWT keeps its claims, which handlers read; without its signature it is worth nothing. */
  #standIn(secret: string): string {
    const claims = claimsOf(secret);
    if (claims === undefined) return this.#standIns.of(secret);
    const [head, own = '', signature = ''] = secret.split('.');
    const replaced = this.#replace(claims);
    const isSame = JSON.stringify(replaced) === JSON.stringify(claims);
    const shown = isSame ? own : Buffer.from(JSON.stringify(replaced)).toString('base64url');
    return this.#standIns.set(secret, `${head}.${shown}.${this.#standIns.of(signature)}`);
  }

  #step(step: Step): Step {
    const { body, response, kind, name, ...others } = step;
    const replaced = this.#replace(others) as Step;
    if (others.values) replaced.values = others.values.map((value) => this.#random(value));
    return {
      ...replaced,
      kind,
      ...(name !== undefined && { name }),
      ...(body && { body: this.#bytes(body) }),
      ...(response && { response: this.#bytes(response) }),
    };
  }

  #random(value: unknown): unknown {
    const { $bytes } = Object(value) as { readonly $bytes?: string };
    return $bytes === undefined ? this.#replace(value) : { ...(value as object), $bytes: this.#base64($bytes, true) };
  }

  #find({ request, response, steps, texts, outcome }: Recording): void {
    this.#headers(request.headers);
    this.#query(request.url);
    this.#inBody(request.body);
    this.#headers(response?.headers ?? []);
    this.#inBody(response?.body);
    this.#inText(outcome.error?.message ?? '');
    for (const text of texts) this.#inText(text);
    for (const step of steps) {
      const { columns, rows = [], params = [], sql, url, headers = [], body, response: received, error } = step;
      for (const row of rows)
        row.forEach((cell, i) => this.#named(columns?.[i] ?? step.fields?.[i]?.name ?? '', cell, 'column'));
      params.forEach((param) => this.#named('', param, 'parameter'));
      for (const [index, name] of sql === undefined ? [] : columnsOfParams(texts[sql] ?? ''))
        this.#named(name, params[index - 1], 'parameter');
      if (url !== undefined) this.#query(url);
      this.#headers(headers);
      this.#inBody(body);
      this.#inBody(received);
      this.#named('', error, 'error');
    }
  }

  #isSecret(name: string, kind: 'columns' | 'headers' | 'paths'): boolean {
    const plain = name
      .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
      .replaceAll('-', '_')
      .toLowerCase();
    if (SECRET_NAME.test(plain)) return true;
    const wanted: readonly (string | RegExp)[] = this.#options[kind] ?? [];
    return wanted.some((one) =>
      typeof one === 'string' ? `.${name}`.toLowerCase().endsWith(`.${one.toLowerCase()}`) : one.test(name),
    );
  }

  #add(value: string, place: string): void {
    if (value === '' || this.#secrets.has(value)) return;
    this.#secrets.set(value, place);
    this.#named('', claimsOf(value), 'token');
  }

  #headers(headers: readonly (readonly [string, string])[]): void {
    for (const [name, value] of headers) {
      const place = `header ${name.toLowerCase()}`;
      this.#inText(value);
      if (/cookie$/i.test(name)) {
        // `Set-Cookie` has one cookie; attributes follow it.
        const cookies = value.split(';').slice(0, /^set/i.test(name) ? 1 : undefined);
        for (const cookie of cookies) this.#add(cookie.slice(cookie.indexOf('=') + 1).trim(), place);
      } else if (this.#isSecret(name, 'headers')) {
        const credentials = /^(?:basic|bearer|digest|token)\s+(.+)$/i.exec(value)?.[1] ?? value;
        this.#add(credentials, place);
        const decoded = /^basic\s/i.test(value) ? Buffer.from(credentials, 'base64').toString('utf8') : '';
        if (decoded.includes(':')) this.#add(decoded.slice(decoded.indexOf(':') + 1), place);
      }
    }
  }

  #query(url: string): void {
    if (url.includes('?')) this.#form(url.slice(url.indexOf('?') + 1), 'query');
    this.#inText(url);
  }

  #form(text: string, place: string): void {
    for (const [name, value] of new URLSearchParams(text)) this.#named(name, value, place);
  }

  #inBody(body: Bytes | undefined): void {
    if (!body) return;
    const text = body.text ?? unpackedBytes(body).toString('latin1');
    this.#named('', parsed(text), 'body');
    for (const [, name = '', value] of text.matchAll(PART)) this.#named(name, value, 'body');
    if (FORM.test(text)) this.#form(text, 'body');
    this.#inText(text);
  }

  /** A value, and the values within it, by their names. */
  #named(path: string, value: unknown, place: string): void {
    const name = path.slice(path.lastIndexOf('.') + 1);
    const kind = place === 'body' || place === 'query' ? 'paths' : 'columns';
    const isSecret = path !== '' && (this.#isSecret(path, kind) || this.#isSecret(name, kind));
    if (typeof value === 'string' || typeof value === 'number') {
      if (isSecret) return this.#add(String(value), `${place} ${name}`);
      const json = typeof value === 'string' && /^\s*[[{]/.test(value) ? parsed(value) : undefined;
      if (json !== undefined) this.#named(path, json, place);
      this.#inText(String(value));
    } else if (typeof value === 'object' && value !== null) {
      const object = value as Readonly<Record<string, unknown>>;
      if (isSecret && typeof object['$bytes'] === 'string') this.#add(object['$bytes'], `${place} ${name}`);
      if (isSecret && typeof object['$bigint'] === 'string') this.#add(object['$bigint'], `${place} ${name}`);
      // The values within a secret are secret, too.
      for (const [key, one] of Object.entries(object))
        if (!key.startsWith('$') || key === '$entries')
          this.#named(isSecret || Array.isArray(value) ? path : path === '' ? key : `${path}.${key}`, one, place);
    }
  }

  #inText(text: string): void {
    if (text.length < 4) return;
    for (const [place, pattern] of PATTERNS)
      for (const match of text.matchAll(pattern)) this.#add(match[1] ?? match[0], place);
    for (const pattern of this.#options.patterns ?? []) {
      const all = pattern.global ? pattern : new RegExp(pattern.source, `${pattern.flags}g`);
      for (const match of text.matchAll(all)) this.#add(match[1] ?? match[0], 'a pattern');
    }
    for (const [card] of text.matchAll(CARD))
      if (passesLuhn(card.replaceAll(/\D/g, ''))) this.#add(card, 'the number of a card');
    for (const [, name = '', ...values] of text.matchAll(NAMED)) {
      const value = values.find((one) => one !== undefined);
      // A parameter, and what code says of a value.
      if (value === undefined || /^(?:\$\d+|null|undefined|true|false)$/i.test(value)) continue;
      if (this.#isSecret(name, 'columns') || this.#isSecret(name, 'paths')) this.#add(value, `text ${name}`);
    }
  }

  /** All texts and numbers within a value of JSON. */
  #replace(value: unknown): unknown {
    if (typeof value === 'string') return this.#text(value);
    if (typeof value === 'number') {
      const place = Math.abs(value) < 1000 ? undefined : this.#secrets.get(String(value));
      if (place !== undefined) this.#replaced.add(place);
      return place === undefined ? value : Number(this.#standIns.of(String(value)));
    }
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map((one) => this.#replace(one));
    const object = value as Readonly<Record<string, unknown>>;
    if (typeof object['$bytes'] === 'string') return { ...object, $bytes: this.#base64(object['$bytes']) };
    // Names are those of columns and fields.
    return Object.fromEntries(
      Object.entries(object)
        .filter(([, one]) => one !== undefined)
        .map(([key, one]) => [key, this.#replace(one)]),
    );
  }

  #text(text: string): string {
    const whole = this.#secrets.get(text);
    if (whole !== undefined) {
      this.#replaced.add(whole);
      return this.#standIn(text);
    }
    let replaced = text;
    for (const [secret, standIn, place] of this.#written) {
      if (!replaced.includes(secret)) continue;
      replaced = replaced.replaceAll(secret, () => standIn);
      this.#replaced.add(place);
    }
    return replaced;
  }

  /** Random bytes of some length are those of a token: its stand-in is made of others. */
  #base64(base64: string, isRandom = false): string {
    const bytes = Buffer.from(base64, 'base64');
    const text = bytes.toString('latin1');
    const replaced = this.#text(text);
    if (replaced !== text) return Buffer.from(replaced, 'latin1').toString('base64');
    const encoded = (['hex', 'base64', 'base64url'] as const).map((encoding) => bytes.toString(encoding));
    const isSecret = isRandom
      ? bytes.length >= TOKEN_BYTES
      : this.#written.some(([secret]) => encoded.some((one) => one.includes(secret)));
    return isSecret ? this.#standIns.bytes(bytes).toString('base64') : base64;
  }

  #bytes(body: Bytes): Bytes {
    const { text } = body;
    if (text === undefined) return packedBytes([Buffer.from(this.#base64(body.base64 ?? ''), 'base64')]);
    const json = parsed(text);
    if (typeof json !== 'object' || json === null)
      return { text: FORM.test(text) ? this.#inFields(text) : this.#text(text) };
    // Short secrets are found as whole values only; a body without any stays as it was written.
    const replaced = JSON.stringify(this.#replace(json));
    return { text: replaced === JSON.stringify(json) ? text : replaced };
  }

  #inFields(form: string): string {
    const fields = new URLSearchParams(form);
    const replaced = Array.from(fields, ([name, value]): [string, string] => [name, this.#text(value)]);
    const text = new URLSearchParams(replaced).toString();
    return this.#text(text === fields.toString() ? form : text);
  }
}

function forms(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const all = [
    secret,
    encodeURIComponent(secret),
    new URLSearchParams([['', secret]]).toString().slice(1),
    JSON.stringify(secret).slice(1, -1),
    bytes.toString('base64').replaceAll('=', ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
  ];
  return all;
}

function claimsOf(secret: string): unknown {
  const [head = '', claims = '', signature, ...more] = secret.split('.');
  if (!head.startsWith('eyJ') || signature === undefined || more.length > 0) return undefined;
  return parsed(Buffer.from(claims, 'base64url').toString('utf8'));
}

const COMPARED = /([A-Za-z_]\w*)["`\]]?\s*(?:=|<>|!=|~~?|\b(?:i?like|in)\b)\s*[\w.]*\(?\s*\$(\d+)/gi;
const INSERTED = /\binto\s+[^\s(]+\s*\(([^)]*)\)\s*(?:overriding\s+\w+\s+value\s*)?values\s*([^]*)/i;

/** Which parameters are stored in, or compared with, which columns, as far as the text says it simply. */
function columnsOfParams(sql: string): (readonly [index: number, column: string])[] {
  const found = Array.from(sql.matchAll(COMPARED), ([, name = '', index]) => [Number(index), name] as const);
  const [, list, values] = INSERTED.exec(sql) ?? [];
  if (list === undefined || values === undefined) return found;
  const columns = list.split(',').map((column) => column.replaceAll(/["`\s[\]]/g, ''));
  let depth = 0;
  let column = 0;
  for (const [token, index] of values.matchAll(/\$(\d+)|'(?:[^']|'')*'|[(),]/g)) {
    if (token === '(') column = (depth += 1) === 1 ? 0 : column;
    else if (token === ')') depth -= 1;
    else if (token === ',' && depth === 1) column += 1;
    else if (index !== undefined && depth > 0) found.push([Number(index), columns[column] ?? '']);
  }
  return found;
}
