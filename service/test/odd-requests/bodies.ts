import { ADA, APPLE, type OddRequest, postOrder, postUser, withBody } from './request.js';

const DEEP = 500_000;
const lists = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const deep = lists(DEEP);
const numbered = (count: number): string => Array.from({ length: count }, (_, index) => `"p${index}":1`).join(',');
const ada = (properties: string): string => ADA.replace('}', `,${properties}}`);
const named = (name: string): Buffer => postUser(ADA.replace('"Ada"', name));
const at = (email: string): Buffer => postUser(ADA.replace('"ada@example.org"', email));
const of = (productId: string): Buffer => postOrder(APPLE.replace('"apple"', productId));
const times = (quantity: string): Buffer => postOrder(APPLE.replace('1}', `${quantity}}`));
/** With these bytes in the middle of the name. */
const bytes = (...inside: readonly number[]): Buffer =>
  postUser(Buffer.concat([Buffer.from(ADA.slice(0, 10)), Buffer.from(inside), Buffer.from(ADA.slice(10))]));

/** Requests with unusual bodies. */
export const BODIES: readonly OddRequest[] = [
  ['bad JSON', postUser('{"name":'), 400],
  ['JSON with something behind', postUser(`${ADA}x`), 400],
  ['two values', postUser(ADA + ADA), 400],
  ['a comment', postUser(`/* Ada */${ADA}`), 400],
  ['single quotes', postUser(ADA.replaceAll('"', "'")), 400],
  ['a list', postUser(`[${ADA}]`), 400],
  ['an empty list', postUser('[]'), 400],
  ['null', postUser('null'), 400],
  ['null for an order', postOrder('null'), 400],
  ['text', postUser('"Ada"'), 400],
  ['a number', postUser('1'), 400],
  ['true', postUser('true'), 400],
  ['an empty object', postUser('{}'), 400],
  ['500,000 open brackets', postUser('['.repeat(DEEP)), 400],
  ['500,000 open objects', postUser('{"a":'.repeat(200_000)), 400],
  ['500,000 lists in each other', postUser(deep), 400],
  ['the same as items', postOrder(`{"items":${deep}}`), 400],
  ['the same as an unknown property', postUser(ada(`"x":${deep}`)), 400],
  ['32 levels', postUser(ada(`"x":${lists(31)}`)), 201],
  ['33 levels', postUser(ada(`"x":${lists(32)}`)), 400],
  ['brackets in text', postUser(ada(`"x":"${'['.repeat(20_000)}\\"${'{,'.repeat(20_000)}"`)), 201],
  ['__proto__', postUser(ada('"__proto__":{"a":1}')), 400],
  ['__proto__ in escapes', postUser(ada('"\\u005f_proto__":{"a":1}')), 400],
  ['__proto__ far inside', postUser(ada('"x":[{"y":{"__proto__":null}}]')), 400],
  ['__proto__ in an item', postOrder(APPLE.replace('"quantity"', '"__proto__":1,"quantity"')), 400],
  ['__proto__ as a value', named('"__proto__"'), 201],
  ['constructor', postUser(ada('"constructor":{"prototype":{"a":1}}')), 201],
  ['toString and hasOwnProperty', postUser(ada('"toString":1,"hasOwnProperty":1')), 201],
  ['toJSON', postUser(ada('"toJSON":"x"')), 201],
  ['a property twice: the last one counts', postUser(`{"name":1,${ADA.slice(1)}`), 201],
  ['a property twice: the last one is wrong', postUser(ada('"name":1')), 400],
  ['__proto__ twice', postUser(ada('"__proto__":1,"__proto__":2')), 400],
  ['NUL in a name', named('"A\\u0000"'), 400],
  ['NUL in an address', at('"\\u0000@example.org"'), 400],
  ['NUL in a product', of('"\\u0000"'), 400],
  ['half a character in a name', named('"\\ud800"'), 400],
  ['the other half in a name', named('"\\udc00"'), 400],
  ['halves in the wrong order', named('"\\udc00\\ud800"'), 400],
  ['both halves', named('"\\ud83d\\ude00"'), 201],
  ['half a character in an address', at('"\\ud800@example.org"'), 400],
  ['half a character in a product', of('"\\ud800"'), 400],
  ['NUL as it is', bytes(0), 400],
  ['a line break as it is', bytes(10), 400],
  ['a byte that is never UTF-8', bytes(0xff), 400],
  ['a character cut short', bytes(0xc3), 400],
  ['a character written too long', bytes(0xc0, 0xaf), 400],
  ['half a character in UTF-8', bytes(0xed, 0xa0, 0x80), 400],
  ['a character beyond Unicode', bytes(0xf4, 0x90, 0x80, 0x80), 400],
  ['a byte order mark', postUser(`\uFEFF${ADA}`), 201],
  ['two byte order marks', postUser(`\uFEFF\uFEFF${ADA}`), 400],
  ['UTF-16', postUser(Buffer.from(`\uFEFF${ADA}`, 'utf16le')), 400],
  ['a quantity of 1.0', times('1.0'), 201],
  ['a quantity of 1e2', times('1e2'), 201],
  ['a quantity of 1 and a bit too small to see', times('1.00000000000000000001'), 201],
  ['a quantity of -0', times('-0'), 400],
  ['a quantity of 1e400', times('1e400'), 400],
  ['a quantity of -1e400', times('-1e400'), 400],
  ['a quantity of 1e-400', times('1e-400'), 400],
  ['a quantity of 9007199254740993', times('9007199254740993'), 400],
  ['a quantity of a million digits', times('1'.repeat(1_000_000)), 400],
  ['a quantity of 01', times('01'), 400],
  ['a quantity of NaN', times('NaN'), 400],
  ['a quantity of true', times('true'), 400],
  ['a name of a million characters', named(`"${'x'.repeat(1_000_000)}"`), 400],
  ['an address of a million characters', at(`"${'a.'.repeat(500_000)}@b"`), 400],
  ['10,000 values', postUser(ada(numbered(9997))), 201],
  ['10,001 values', postUser(ada(numbered(9998))), 400],
  ['100,000 items', postOrder(`{"items":[${Array<string>(100_000).fill('1').join(',')}]}`), 400],
  ['bad JSON where there is nothing', withBody('POST', '/nowhere', '{'), 400],
  ['bad JSON where POST is not supported', withBody('POST', '/api/users/x', '{'), 400],
];
