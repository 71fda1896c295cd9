import { describe, expect, it } from 'vitest';
import { commentsOf, examplesIn } from '../docs/extract.mjs';

const page = (...lines: string[]): string => lines.join('\n');

describe('examples of a page', () => {
  it('keep their line numbers', () => {
    const [example] = examplesIn(page('# Title', '```ts', 'const a = 1;', '```'));
    expect(example?.code.split('\n')[2]).toBe('const a = 1;');
  });

  it('run only where the page says so', () => {
    const examples = examplesIn(page('```ts', '```', '```ts run', '```', '```sh', 'npm test', '```'));
    expect(examples.map((example) => example.runs)).toEqual([false, true]);
  });

  it('print what the text block behind them says', () => {
    const [example] = examplesIn(page('```ts run', '```', 'prints', '```text', 'one', 'two', '```'));
    expect(example?.prints).toBe('one\ntwo\n');
  });

  it('owe nothing to a text block behind code that does not run', () => {
    const [example] = examplesIn(page('```ts', '```', '```text', 'one', '```'));
    expect(example?.prints).toBeUndefined();
  });

  it('go on where they ended', () => {
    const [example, ...more] = examplesIn(
      page(
        '```ts run',
        'const a = 1;',
        '```',
        '```text',
        '1',
        '```',
        '```ts continued',
        'a;',
        '```',
        '```text',
        '2',
        '```',
      ),
    );
    expect(more).toEqual([]);
    expect(example?.code.split('\n')[7]).toBe('a;');
    expect(example?.prints).toBe('1\n2\n');
  });

  it('may stand inside a longer fence without being examples', () => {
    expect(examplesIn(page('````md', '```ts', '```', '````'))).toEqual([]);
  });
});

describe('comments of a source file', () => {
  it('become a page with the same line numbers', () => {
    const source = page(
      '/**',
      ' * Says.',
      ' *',
      ' * ```ts',
      ' * say(1);',
      ' * ```',
      ' */',
      'export const say = 1;',
      '// end',
    );
    expect(commentsOf(source).split('\n')).toEqual(['', 'Says.', '', '```ts', 'say(1);', '```', '', '', '']);
  });
});
