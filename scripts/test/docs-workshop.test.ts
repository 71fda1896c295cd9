import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { examplesIn } from '../docs/extract.mjs';
import { Workshop } from '../docs/workshop.mjs';

const root = join(import.meta.dirname, '../..');

function pageOf(path: string, ...lines: string[]) {
  const markdown = ['```ts run', ...lines, '```'].join('\n');
  return { path, markdown, examples: examplesIn(markdown) };
}

describe('documentation workshop', () => {
  const wrong = pageOf('docs/wrong.md', 'export const wrong: number = "text";');
  const decorated = pageOf(
    'docs/decorated.md',
    'const log = (_target: object, _name: undefined, index: number) => console.log(`parameter ${index}`);',
    'class Greeter {',
    '  constructor(@log readonly name: string) {}',
    '}',
    'console.log(new Greeter("Ada").name);',
  );
  const pages = [wrong, decorated];
  let workshop: Workshop;
  beforeAll(() => {
    workshop = new Workshop(root);
    workshop.compile(pages);
  });
  afterAll(() => workshop.close());

  it('names the line of the page that does not compile', () => {
    expect(wrong.examples.flatMap((example) => workshop.complaints(wrong, example))).toEqual([
      `docs/wrong.md:2 TS2322: Type 'string' is not assignable to type 'number'.`,
    ]);
  });

  it('compiles and runs decorators', () => {
    expect(decorated.examples.flatMap((example) => workshop.complaints(decorated, example))).toEqual([]);
    expect(decorated.examples.map((example) => workshop.run(decorated, example))).toEqual([
      { status: 0, stdout: 'parameter 0\nAda\n', stderr: '' },
    ]);
  });
});
