import type { IncomingMessage } from 'node:http';
import { IdempotencyError } from '@ambit/idempotency';
import { parseItem } from 'structured-headers';
import { readKey } from '../../packages/idempotency/src/key.js';
import { accessOf } from '../../packages/inspector/src/access.js';
import { readPosition, writePosition } from '../../packages/transaction/src/replicas/replica.js';
import { it } from 'vitest';
import { Finding, mustHoldForAll, mustHold } from './texts.js';

const TOKEN = 'a-token-of-24-characters';
const DICTIONARY = [
  '"',
  '\\"',
  '\\\\',
  ';a',
  ';a=1',
  ';a="b"',
  ';*a=?1',
  '"abc"',
  'abc',
  'of ',
  ' ',
  '\t',
  '~',
  '\x7f',
  'x'.repeat(255),
  'x'.repeat(256),
  ',',
  ':YWJj:',
  '?1',
  '0/0',
  'FFFFFFFF/FFFFFFFF',
  '16/B374D848',
  '/',
  'a0',
  'Bearer ',
  'bearer ',
  TOKEN,
  'Basic ',
  '.',
  'localhost',
  '127.0.0.1',
  '[::1]',
  ':3000',
  '@',
];
const MOST_CHARACTERS = 255;
const MOST_KEYS = 100_000;

const keys = new Map<string, string>();
const BASIC = Buffer.from(`me:${TOKEN}`).toString('base64');
const SEEDS = ['abc', '"a b"', '"a\\"b"; c=d', '16/B374D848', `Bearer ${TOKEN}`, `Basic ${BASIC}`, 'localhost:3000'];

it('a header is read as its standard says', () =>
  mustHoldForAll({ dictionary: [...DICTIONARY, BASIC], seeds: SEEDS, maxLength: 600 }, (text) => {
    // As Node gives it.
    const header = Buffer.from(text).toString('latin1').trim();
    if (/[\0\r\n]/.test(header)) return;
    checkKey(header);
    checkPosition(header);
    checkAccess(header);
  }));

function checkKey(header: string): void {
  const read = storedKey(header, undefined);
  const text = textOf(header);
  const show = () => ({ text, read });
  // Parameters mean nothing here, so those that RFC 9651 would not allow may be accepted.
  if (text === undefined)
    mustHold(read === undefined || /^".*;/.test(header), 'a key is accepted that is no key', show);
  else mustHold(read !== undefined, 'a key is refused', show);
  if (read === undefined) return;
  const other = storedKey(header, 'ada');
  mustHold(
    other !== undefined && other !== read && other !== storedKey(header, 'bob'),
    'two callers share a key',
    show,
  );
  if (text === undefined) return;
  for (const key of [read, other]) {
    mustHold((keys.get(key) ?? text) === text, 'two keys are stored as one', () => ({
      ...show(),
      other: keys.get(key),
    }));
    keys.set(key, text);
  }
  if (keys.size > MOST_KEYS) keys.clear();
}

function storedKey(key: string, caller: string | undefined): string | undefined {
  try {
    return readKey({ key, caller, endpoint: 'POST /', input: [] })?.key;
  } catch (error) {
    if (error instanceof IdempotencyError && error.problem === 'malformed') return undefined;
    throw error;
  }
}

/** What the client means, as RFC 9651 reads it; a bare text is what most clients send. */
function textOf(header: string): string | undefined {
  let text: unknown = header;
  if (header.startsWith('"')) {
    try {
      [text] = parseItem(header);
    } catch {
      return undefined;
    }
  } else if (!/^[!-~]+$/.test(header)) return undefined;
  return typeof text === 'string' && text.length > 0 && text.length <= MOST_CHARACTERS ? text : undefined;
}

function checkPosition(header: string): void {
  const position = readPosition(header);
  const [high = '', low = '', ...more] = header.split('/');
  const isPosition = more.length === 0 && [high, low].every((half) => half.length <= 8 && /^[0-9a-f]+$/i.test(half));
  mustHold((position !== undefined) === isPosition, 'another text than a position is read as one', () => ({
    position: String(position),
  }));
  if (position === undefined) return;
  const parts = [high, low].map((half) => Number.parseInt(half, 16));
  const written = parts.map((part) => part.toString(16).toUpperCase()).join('/');
  mustHold(position === BigInt(parts[0] ?? 0) * 2n ** 32n + BigInt(parts[1] ?? 0), 'a position has another value');
  mustHold(writePosition(position) === written, 'a position is written in another way', () => ({ written }));
}

function checkAccess(header: string): void {
  const ask = (headers: Record<string, string>, token?: string): string => {
    const request = { method: 'GET', headers, socket: { remoteAddress: '127.0.0.1' } } as unknown as IncomingMessage;
    return accessOf(request, { token, isDevelopment: true });
  };
  const basic = /^basic ([\w+/=]+)$/i.exec(header)?.[1] ?? '';
  const isPassword = Buffer.from(basic, 'base64').toString().split(':').slice(1).join(':') === TOKEN;
  const isToken = isPassword || /^bearer (.*)$/is.exec(header)?.[1] === TOKEN;
  const byToken = ask({ host: 'example.org', authorization: header }, TOKEN);
  mustHold(
    (byToken === 'granted') === isToken,
    'another text than the token opens the inspector, or the token does not',
    () => ({ byToken }),
  );
  const byHost = ask({ host: header });
  mustHold(byHost !== 'granted' || isThisMachine(header), 'another host than this machine opens the inspector');
  const byProxy = ask({ host: 'localhost', 'x-forwarded-for': header });
  if (byProxy === 'granted') throw new Finding('a proxy opens the inspector');
}

function isThisMachine(host: string): boolean {
  const url = `http://${host.replace(/:\d+$/, '')}`;
  return URL.canParse(url) && ['localhost', '127.0.0.1', '[::1]'].includes(new URL(url).hostname);
}
