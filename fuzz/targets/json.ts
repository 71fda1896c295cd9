import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { Check } from 'typebox/value';
import { bodyCheck, JsonBodies } from '../../service/src/http/request.js';
import { NewOrder } from '../../service/src/orders/orders.js';
import { Problem } from '../../service/src/problem.js';
import { NewUser } from '../../service/src/users/users.js';
import { ADA, APPLE } from '../../service/test/odd-requests/request.js';
import { Finding, mustHold, type Target } from '../target.js';

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

export function open(): Target {
  const bodies = new JsonBodies();
  const checks = [bodyCheck(NewUser), bodyCheck(NewOrder)];
  const limits = ['['.repeat(MAX_DEPTH) + ']'.repeat(MAX_DEPTH), `[${'1,'.repeat(MAX_VALUES - 2)}1]`].map((text) =>
    Buffer.from(text),
  );

  return {
    dictionary: DICTIONARY,
    maxLength: 25_000,
    seeds: [...[ADA, APPLE].map((text) => Buffer.from(text)), ...limits],
    async run(input) {
      const read = await bodies.read(requestWith(input)).then((value) => ({ value }), refused);
      const expected = expectedOf(input);
      const show = () => ({ read, expected });
      mustHold('value' in read === 'value' in expected, 'the limits and JSON.parse accept something else', show);
      if (!('value' in read && 'value' in expected)) {
        mustHold('why' in expected && 'why' in read && expected.why.test(read.why), 'another reason', show);
        return [read.why];
      }
      mustHold(isDeepStrictEqual(read.value, expected.value), 'another value than that of JSON.parse', show);
      return [
        'depth' in expected ? `depth ${expected.depth}` : '',
        ...[NewUser, NewOrder].flatMap((schema, index) => verdict(schema, checks[index], read.value)),
      ];
    },
  };
}

/** What is wrong with the value, which the interpreter of schemas must see, too. */
function verdict(
  schema: typeof NewUser | typeof NewOrder,
  check: ((body: unknown) => unknown) | undefined,
  value: unknown,
): string[] {
  const isValid = Check(schema, value);
  try {
    mustHold(check?.(value) === value && isValid, 'a body is accepted that does not match', () => ({ value }));
    return ['valid'];
  } catch (error) {
    const { why } = refused(error);
    mustHold(!isValid, 'a body is refused that matches', () => ({ value, why }));
    mustHold(why.length < 1000, 'a message is as long as the body');
    return why.replaceAll(/\d+/g, 'n').split('; ');
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
function expectedOf(bytes: Buffer): { readonly value: unknown; readonly depth?: number } | { readonly why: RegExp } {
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
  return namesProto(text) ? { why: /__proto__/ } : { value, depth };
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

/** A text before a colon is a name. Where the same name is there twice, the value has the last one. */
function namesProto(text: string): boolean {
  let found = false;
  JSON.parse(text, function revive(this: object, name: string, value: unknown) {
    found ||= name === '__proto__' && Object.hasOwn(this, name);
    return value;
  });
  return found;
}
