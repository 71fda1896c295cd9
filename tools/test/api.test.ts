import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { gapsIn } from '../api/gaps.mjs';
import { apiPages } from '../api/markdown.mjs';
import { type EntryPoint, readApi } from '../api/model.mjs';

const cache = join(import.meta.dirname, '../../.cache');
let root: string;
afterEach(() => rmSync(root, { recursive: true }));

/** A workspace with one package, which exports this. */
function workspace(source: string): EntryPoint[] {
  mkdirSync(cache, { recursive: true });
  root = mkdtempSync(join(cache, 'api-'));
  mkdirSync(join(root, 'packages/shop/src'), { recursive: true });
  const manifest = {
    name: '@ambit/shop',
    exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
  };
  writeFileSync(join(root, 'packages/shop/package.json'), JSON.stringify(manifest));
  writeFileSync(join(root, 'packages/shop/src/index.ts'), source);
  return readApi(root);
}
const gaps = (source: string): string[] =>
  workspace(source).flatMap(({ symbols }) => symbols.flatMap((symbol) => gapsIn(symbol).map(({ lacks }) => lacks)));

const COMPLETE = `
/**
 * Finds a user.
 *
 * @param id - of the user
 * @returns the name
 * @throws RangeError: there is no such user
 *
 * @example
 * \`\`\`ts
 * find(1);
 * \`\`\`
 */
export function find(id: number): string {
  return name(id);
}
function name(id: number): string {
  if (id === 0) throw new RangeError('no such user');
  return 'Ada';
}
`;

it('finds nothing missing where everything is documented', () => {
  expect(gaps(COMPLETE)).toEqual([]);
});

it('finds each part that is missing, an error also where another function throws it', () => {
  expect(gaps(COMPLETE.replace(/\/\*\*[^]*?\*\//, ''))).toEqual([
    'find: summary',
    'find: @param id',
    'find: @returns',
    'find: @throws',
    'find: @example',
  ]);
});

it('finds a parameter that does not exist any more', () => {
  expect(gaps(COMPLETE.replace('find(id: number)', 'find(key: number)').replace('name(id);', 'name(key);'))).toEqual([
    'find: @param key',
    'find: a parameter called id',
  ]);
});

it('asks for a sentence about each public member, and none about a private one', () => {
  const members =
    'constructor(readonly a: number, private readonly b: number) {}\n/** @internal */ c = 1;\n#d = 2;\ne() {}';
  expect(gaps(`/**\n * @example\n * \`\`\`ts\n * box\n * \`\`\`\n */\nexport class Box { ${members} }`)).toEqual([
    'Box: summary',
    'Box.constructor: @param a',
    'Box.constructor: @param b',
    'Box.a: summary',
    'Box.e: summary',
  ]);
});

it('writes a page with parameters, result, errors and example, and links a type to what takes it', () => {
  const source = `${COMPLETE.replace('id: number)', 'id: number, options?: Options)').replace('of the user\n', 'of the user\n * @param options - how\n')}
/** How to find. */
export interface Options {
  /** Also the deleted ones. */
  readonly all?: boolean;
}`;
  const [page] = apiPages(workspace(source), root);
  expect(page?.path).toBe('api/shop.md');
  expect(page?.markdown).toMatch(
    /### find\n\nFinds a user\.[^]*- `id`: of the user\n[^]*- returns: the name\n- throws: RangeError[^]*find\(1\);/,
  );
  expect(page?.markdown).toMatch(/### Options[^]*Also the deleted ones[^]*Used by \[`find`\]\(\/api\/shop\.md#find\)/);
});

it('writes all of an example, also one with decorators', () => {
  const example = '@Controller()\nclass Users {\n  @Get()\n  list() {}\n}';
  const source = COMPLETE.replace(' * find(1);', example.replaceAll(/^/gm, ' * '));
  expect(apiPages(workspace(source), root)[0]?.markdown).toContain(`\`\`\`ts\n${example}\n\`\`\``);
});

it('counts the values that a program can import, and no types', () => {
  const source =
    "export class Shop {}\nexport interface Order {}\nexport { join } from 'node:path';\nclass Hidden {}\nexport type { Hidden };\n";
  expect(workspace(source).map(({ values }) => values)).toEqual([['Shop', 'join']]);
});
