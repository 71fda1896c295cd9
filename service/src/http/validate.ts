import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Format, IsEmail } from 'typebox/format';
import { Problem } from '../problem.js';

/** PostgreSQL cannot store NUL, and UTF-8 has no lone surrogates. */
const UNSTORABLE = /[\0\p{Surrogate}]/u;
const isText = (value: string): boolean => !UNSTORABLE.test(value);
Format.Set('text', isText);
// Between quotes an address may have any character.
Format.Set('email', (value) => IsEmail(value) && isText(value));

const FORMATS: Readonly<Record<string, string>> = {
  text: 'must be well-formed Unicode text without NUL',
  email: 'must be an email address',
};

const MAX_MESSAGES = 3;

type Validated<T> = { readonly value: T } | { readonly error: Problem };

/** Returns a function that returns the body, typed, or a 400 that names each invalid field, as Fastify expects it. */
export function bodyValidator<T extends TSchema>(schema: T): (body: unknown) => Validated<Static<T>> {
  const validator = Compile(schema);
  return (body) => {
    if (validator.Check(body)) return { value: body };
    // Without a body Fastify validates null.
    if (body === undefined || body === null) return { error: new Problem(400, 'A JSON body is required') };
    const errors = validator.Errors(body).slice(0, MAX_MESSAGES);
    return { error: new Problem(400, errors.map(sentence).join('; ')) };
  };
}

/** The same, but the function throws the 400. */
export function bodyCheck<T extends TSchema>(schema: T): (body: unknown) => Static<T> {
  const validate = bodyValidator(schema);
  return (body) => {
    const result = validate(body);
    if ('error' in result) throw result.error;
    return result.value;
  };
}

type ValidationError = ReturnType<ReturnType<typeof Compile>['Errors']>[number];

function sentence({ instancePath, keyword, params, message }: ValidationError): string {
  const { format } = params as { format?: string };
  const what = keyword === 'format' && format !== undefined ? (FORMATS[format] ?? message) : message;
  return `body${pathIn(instancePath)} ${what}`;
}

/** `/items/3/quantity` becomes `.items[3].quantity`. */
function pathIn(pointer: string): string {
  return pointer.replaceAll(/\/(\d+)/g, '[$1]').replaceAll('/', '.');
}
