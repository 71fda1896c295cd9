import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { Check } from 'typebox/value';
import { bodyCheck, JsonBodies } from '../../service/src/http/body.js';
import { NewOrder } from '../../service/src/orders/orders.js';
import { Problem } from '../../service/src/problem.js';
import { NewUser } from '../../service/src/users/users.js';
import { ADA, APPLE } from '../../service/test/odd-requests.js';
import { it } from 'vitest';
import { Finding, mustHoldForAll, mustHold } from './texts.js';

const DICTIONARY = [
  '[',
  ']',
  '{',
  '}',
  ',',
  ':',
  '"',
  '\\"',
  '\\\\',
  '\\u0000',
  '\\ud800',
  '\\ud83d\\ude00',
  '\\u005f',
  'null',
  'true',
  'false',
  '-0',
  '1e400',
  '0.1',
  '01',
  '"__proto__"',
  '"\\u005f_proto__":',
  '"constructor"',
  '"toJSON"',
  '"name":"Ada"',
  '"email":"a@b.example"',
  '"items":[',
  '"productId":"apple"',
  '"quantity":1',
  '{"a":',
  '[[',
  ']]',
  '{},',
  '[],',
  '"":',
  '"a@[127.0.0.1]"',
  '"\\"a b\\"@c.d"',
  '\uFEFF',
  'é',
  '/**/',
  'NaN',
  'Infinity',
];

const MAX_DEPTH = 32;
const MAX_VALUES = 10_000;
const TEXTS = /"(?:[^"\\]|\\[^])*"/g;

const bodies = new JsonBodies();
const checks = [bodyCheck(NewUser), bodyCheck(NewOrder)];
const SEEDS = [
  ADA,
  APPLE,
  ...[32, 33].map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
  ...[9_998, 9_999].map((values) => `[${'1,'.repeat(values)}1]`),
  '{"a":[1.5e-3,-0,true,null,"\\ud83d\\ude00"]}',
  '{"__proto__":1}',
  '{"a":1,"a":2}',
];

it('a body is read as JSON.parse reads it, within its limits', () =>
  mustHoldForAll({ dictionary: DICTIONARY, seeds: SEEDS, maxLength: 25_000 }, async (text) => {
    const input = Buffer.from(text);
    const read = await bodies.read(requestWith(input)).then((value) => ({ value }), refused);
    const expected = expectedOf(input);
    const show = () => ({ read, expected });
    mustHold('value' in read === 'value' in expected, 'the limits and JSON.parse accept something else', show);
    if (!('value' in read && 'value' in expected)) {
      mustHold('why' in expected && 'why' in read && expected.why.test(read.why), 'another reason', show);
      return;
    }
    mustHold(isDeepStrictEqual(read.value, expected.value), 'another value than that of JSON.parse', show);
    for (const [index, schema] of [NewUser, NewOrder].entries()) checkVerdict(schema, checks[index], read.value);
  }));

/** What is wrong with the value, which the interpreter of schemas must see, too. */
function checkVerdict(
  schema: typeof NewUser | typeof NewOrder,
  check: ((body: unknown) => unknown) | undefined,
  value: unknown,
): void {
  const isValid = Check(schema, value);
  try {
    mustHold(check?.(value) === value && isValid, 'a body is accepted that does not match', () => ({ value }));
  } catch (error) {
    const { why } = refused(error);
    mustHold(!isValid, 'a body is refused that matches', () => ({ value, why }));
    mustHold(why.length < 1000, 'a message is as long as the body');
  }
}

/** In chunks, as it comes from the network. */
function requestWith(bytes: Buffer): IncomingMessage {
  const half = Math.floor(bytes.length / 2);
  const chunks = [bytes.subarray(0, half), bytes.subarray(half)].filter(({ length }) => length > 0);
  const headers = { 'content-type': 'application/json', 'content-length': String(bytes.length) };
  return Object.assign(Readable.from(chunks, { objectMode: false }), { headers }) as unknown as IncomingMessage;
}

function refused(error: unknown): { why: string } {
  if (error instanceof Finding) throw error;
  if (error instanceof Problem && error.status === 400) return { why: error.message };
  throw new Finding('a body is refused with something else than a 400', { error: String(error) });
}

/** From the text alone, without the code that it is compared with. */
function expectedOf(bytes: Buffer): { readonly value: unknown } | { readonly why: RegExp } {
  if (bytes.length === 0) return { value: undefined };
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    value = JSON.parse(text);
  } catch {
    return { why: /^The body (?:is not valid (?:JSON|UTF-8)$|must not (?:be nested|have more))/ };
  }
  const marks = text.replaceAll(TEXTS, '').replaceAll(/[^[\]{},]/g, '');
  const values = 1 + marks.replaceAll(/[\]}]/g, '').length;
  const depth = depthOf(marks);
  const why = [
    ...(depth > MAX_DEPTH ? ['deeper than 32 levels'] : []),
    ...(values > MAX_VALUES ? ['more than 10000 values'] : []),
  ];
  if (why.length > 0) return { why: new RegExp(why.join('|')) };
  return { value };
}

function depthOf(marks: string): number {
  let depth = 0;
  let deepest = 0;
  for (const mark of marks) {
    depth += mark === ',' ? 0 : '[{'.includes(mark) ? 1 : -1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}
