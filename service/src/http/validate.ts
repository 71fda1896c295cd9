import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Format, IsEmail } from 'typebox/format';
import { Problem } from '../problem.js';

/** What both databases can store as it is: PostgreSQL refuses NUL, and UTF-8 has no lone surrogates. */
const UNSTORABLE = /[\0\p{Surrogate}]/u;
const isText = (value: string): boolean => !UNSTORABLE.test(value);
Format.Set('text', isText);
// In quotes an address may have any character.
Format.Set('email', (value) => IsEmail(value) && isText(value));

const FORMATS: Readonly<Record<string, string>> = {
  text: 'must be well-formed Unicode text without NUL',
  email: 'must be an email address',
};

const MOST_TOLD = 3;
/** More than any list may have. */
const MOST_LOOKED_AT = 2000;

/** A function that gives the body back, typed, or throws a 400 that says what is wrong where. */
export function bodyCheck<T extends TSchema>(schema: T): (body: unknown) => Static<T> {
  const validator = Compile(schema);
  return (body) => {
    if (validator.Check(body)) return body;
    // Where there is none, Fastify has null checked.
    if (body === undefined || body === null) throw new Problem(400, 'A JSON body is required');
    const told = validator.Errors(shortened(body)).slice(0, MOST_TOLD);
    throw new Problem(400, told.map(sentence).join('; '));
  };
}

/** TypeBox looks at all of a list before it tells of the first element: a body full of them would keep everybody waiting. */
function shortened(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const cut = (value: unknown): unknown => (Array.isArray(value) ? value.slice(0, MOST_LOOKED_AT) : value);
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, cut(value)]));
}

type ValidationError = ReturnType<ReturnType<typeof Compile>['Errors']>[number];

function sentence({ instancePath, keyword, params, message }: ValidationError): string {
  const { format } = params as { format?: string };
  const what = keyword === 'format' && format !== undefined ? (FORMATS[format] ?? message) : message;
  return `body${place(instancePath)} ${what}`;
}

/** `/items/3/quantity` reads `.items[3].quantity`. */
function place(pointer: string): string {
  return pointer.replaceAll(/\/(\d+)/g, '[$1]').replaceAll('/', '.');
}
