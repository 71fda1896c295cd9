import 'reflect-metadata';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { library as ambit } from './libraries/ambit.js';
import { library as awilix } from './libraries/awilix.js';
import { library as inferdi } from './libraries/inferdi.js';
import { library as inversify } from './libraries/inversify.js';
import { library as needle } from './libraries/needle-di.js';
import { library as nestjs } from './libraries/nestjs.js';
import { library as tsIoc } from './libraries/ts-ioc-container.js';
import { library as tsyringe } from './libraries/tsyringe.js';
import { library as typedInject } from './libraries/typed-inject.js';
import { type Question, questions } from './questions.js';

const libraries = [ambit, awilix, tsyringe, inversify, nestjs, tsIoc, inferdi, typedInject, needle];

/** The page between its markers: what the programs of this folder found. `COMPARISON=write` replaces it, before `oxfmt docs/comparison.md`. */
const page = new URL('../../../docs/comparison.md', import.meta.url);
const markers = /(?<=tried: begin -->\n)[^]*(?=\n.{5}tried: end)/;

const text = readFileSync(page, 'utf8');
const tableOf = (markdown: string): string[][] =>
  markdown
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
const rows = tableOf(markers.exec(text)?.[0] ?? '');

const ranks = [
  'no',
  'never',
  'stack overflow',
  'partly',
  'resolve',
  'start',
  'avoided',
  'not needed',
  'yes',
  'compiler',
];

/** Bold is what a library does better than Ambit. */
function emphasized([ours = '', ...theirs]: string[]): string[] {
  const rank = (verdict: string) => {
    const amount = Number(verdict.replaceAll(',', ''));
    return Number.isNaN(amount) ? ranks.indexOf(verdict) : -amount;
  };
  const isBetter = (verdict: string) => ours !== '0.1.0' && verdict !== 'not measured' && rank(verdict) > rank(ours);
  return [ours, ...theirs.map((verdict) => (isBetter(verdict) ? `**${verdict}**` : verdict))];
}

async function cellsOf(ask: Question['ask']): Promise<string[]> {
  const found: string[] = [];
  for (const library of libraries) found.push(await ask(library));
  return emphasized(found);
}

it('asks about the libraries and the questions of the page', () => {
  expect(rows[0]).toEqual(['', ...libraries.map(({ title }) => title)]);
  expect(rows.slice(2).map(([title]) => title)).toEqual(questions.map(({ title }) => title));
});

describe('docs/comparison.md', () => {
  const written: string[] = [];
  afterAll(() => {
    if (process.env['COMPARISON'] !== 'write') return;
    const head = [
      `| | ${libraries.map(({ title }) => title).join(' | ')} |`,
      `|${' --- |'.repeat(libraries.length + 1)}`,
    ];
    writeFileSync(
      page,
      text.replace(markers, () => `\n${[...head, ...written].join('\n')}\n`),
    );
  });

  it.each(questions)('$title', async ({ title, ask }) => {
    const found = await cellsOf(ask);
    written.push(`| ${[title, ...found].join(' | ')} |`);
    expect(rows.find((row) => row[0] === title)?.slice(1)).toEqual(found);
  });
});
