import doctor from '@ambit/doctor';
import * as typescript from '@typescript-eslint/parser';
import { ESLint, RuleTester } from 'eslint';
import { ESLint as ESLint9, RuleTester as RuleTester9 } from 'eslint-9';
import { describe, expect, it } from 'vitest';
import { all } from '../../packages/doctor/test/cases.js';

const runs = all.flatMap((each) => [
  ...(each.ts ? [] : [{ ...each, with: 'espree', languageOptions: { ecmaVersion: 'latest' as const } }]),
  { ...each, with: 'typescript-eslint', languageOptions: { parser: typescript } },
]);

/** The same cases as the command and oxlint have, in ESLint's own tester: with its parser for JavaScript, and with typescript-eslint's. */
describe.each([
  ['ESLint 10', RuleTester],
  ['ESLint 9', RuleTester9 as unknown as typeof RuleTester],
])('%s', (_name, Tester) => {
  // It calls `it`, which cannot be called in a test.
  Tester.it = (_title: string, test: () => void) => test();
  Tester.describe = Tester.it;

  it.each(runs)('$rule: $name, $with', ({ rule: name, name: about, code, lines, languageOptions }) => {
    const rule = doctor.rules[name];
    if (!rule) throw new Error(`no rule ${name}`);
    const test = { name: about, code, filename: 'parser' in languageOptions ? 'case.ts' : 'case.js' };
    const errors = lines.map((line) => ({ line, message: /\S/ }));
    const run = () =>
      new Tester({ languageOptions }).run(name, rule, {
        valid: errors.length === 0 ? [test] : [],
        invalid: errors.length > 0 ? [{ ...test, errors }] : [],
      });
    expect(run).not.toThrow();
  });
});

const WRONG = `
import { db } from './db.js';
export const save = () =>
  db.transaction(async (tx) => {
    await db.insert(users).values({});
    await tx.insert(users).values({});
  });
`;

it.each([
  ['10', ESLint],
  ['9', ESLint9 as unknown as typeof ESLint],
])('configs.recommended has all rules: ESLint %s', async (_version, Linter) => {
  const linter = new Linter({ overrideConfigFile: true, overrideConfig: [doctor.configs.recommended] });
  const [result] = await linter.lintText(WRONG, { filePath: 'wrong.js' });
  expect(result?.messages.map(({ ruleId, line }) => `${line} ${ruleId}`)).toEqual(['5 ambit/no-pool-in-transaction']);
  const config = (await linter.calculateConfigForFile('wrong.js')) as { rules: object };
  expect(Object.keys(config.rules).toSorted()).toEqual(
    Object.keys(doctor.rules)
      .map((name) => `ambit/${name}`)
      .toSorted(),
  );
});
