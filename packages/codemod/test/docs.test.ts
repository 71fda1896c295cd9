import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { LIBRARIES } from '../src/core/model.js';
import { convert, libraryNamed } from '../src/index.js';

const PAGES = fileURLToPath(new URL('../../../docs/coming-from/', import.meta.url));

/** What the examples of transactions are part of: a program with a pool of Ambit. */
const APP = {
  path: '/program/app.ts',
  text: `import { kyselyOn } from '@ambit/orm/kysely';
import { runInTransaction } from '@ambit/transaction';

export const graph = { Db: () => kyselyOn(runInTransaction) };
`,
};

const examples = readdirSync(PAGES).flatMap((page) =>
  Array.from(
    readFileSync(PAGES + page, 'utf8').matchAll(/^```diff (\S+)\n(.*?)^```$/gms),
    ([, library = '', diff = '']) => ({
      page,
      library,
      lines: diff.trimEnd().split('\n'),
    }),
  ),
);

test('the page of each library has an example', () => {
  expect(examples.map(({ library }) => library).toSorted()).toEqual(LIBRARIES.toSorted());
});

test.each(examples)('$page: the example of $library is what the codemod does', ({ library, lines }) => {
  const side = (sign: string) => lines.filter((line) => !line.startsWith(sign)).map((line) => line.slice(1));
  const source = { path: '/program/main.ts', text: side('+').join('\n') };
  const { files, left } = convert(libraryNamed(library)!, [source, APP]);
  expect(left).toEqual([]);
  expect(files.find(({ path }) => path === source.path)?.after.split('\n')).toEqual(side('-'));
});
