import { describe, expect, it } from 'vitest';
import { findWords } from '../words.mjs';
import { EXCEPTIONS } from '../words/rules.mjs';

const wordsIn = (text: string, path = 'page.md') => findWords(path, text).map(({ word }) => word);

describe('the list of words', () => {
  it('names the file, the line, the word and what to write instead', () => {
    expect(findWords('docs/page.md', 'The first line.\nA scope has a life.\n')).toEqual([
      { path: 'docs/page.md', line: 2, word: 'life', instead: expect.stringMatching('lifetime') },
    ]);
  });

  it.each([
    ['a sentence', 'The scope has not ended.', 'scope has not ended'],
    ['a capital letter', 'Whoever asks', 'Whoever'],
    ['a phrase that goes on in the next line', 'registered by\nhand', 'by hand'],
    ['a phrase that goes on in the next line of a comment', '/**\n * It gave\n * up.\n */', 'gave up'],
    ['a name in camelCase', 'const requestLife = 1;', 'Life'],
    ['a name in PascalCase', 'class StatementLane {}', 'Lane'],
    ['a word with a number', 'const answer201 = 1;', 'answer'],
    ['a name in snake_case', 'is_at_work', 'at work'],
    ['a text', "throw new Error('No answer');", 'answer'],
    ['an option that is nothing but invalid', 'An option that cannot be.', 'that cannot be'],
  ])('finds %s', (_, text, word) => expect(wordsIn(text)).toEqual([word]));

  it('finds a word in the name of a file or a folder', () => {
    expect(findWords('src/request-life.ts', '')).toMatchObject([
      { path: 'src/request-life.ts', line: 0, word: 'life' },
    ]);
    expect(wordsIn('', 'bench/by-hand/run.mjs')).toEqual(['by hand']);
  });

  it.each([
    'a lifetime, a lifecycle, a long-lived connection',
    'response.end(); stream.on("end", done); the message ends with a code',
    'An option that cannot be combined with another; there is no room for it',
    'a circular dependency, a hand-written pool, a Promise',
    'the error AMBIT_CAPTIVE_DEPENDENCY, the option onSecondResponse',
  ])('leaves alone: %s', (text) => expect(wordsIn(text)).toEqual([]));

  it('gives a reason for every exception', () => {
    for (const { because } of EXCEPTIONS) expect(because).toMatch(/\w+ \w+/);
  });
});
