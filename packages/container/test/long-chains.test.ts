import { describe, expect, it } from 'vitest';
import { singleton, type Binding, type Registration } from '../src/index.js';
import { verify } from '../src/tools.js';
import { asking, resolving } from './support/asking.js';
import { refusal } from './support/refusal.js';
import { openApplication } from './support/scopes.js';

/** Each asks for the next, and the last for the one that is given, or for nothing. */
const chain = (length: number, make: (...needs: string[]) => Registration<unknown>, last?: string): Binding[] =>
  Array.from({ length }, (_, i) => {
    const next = i + 1 < length ? `key ${i + 1}` : last;
    return (next === undefined ? asking() : make(next)).to(`key ${i}`);
  });
const single = (...needs: string[]) => asking(...needs).pipe(singleton());
const later = (key = '') => resolving(key);

describe('a long chain of dependencies', () => {
  it.each([
    ['singletons', single],
    ['transients', asking],
    ['factories that resolve', later],
  ])('works with 900 services: %s', (_, make) => {
    const app = openApplication(...chain(900, make));

    expect(() => verify(app)).not.toThrow();
    expect(app.resolve('key 0')).toBeDefined();
  });

  it.each([
    ['singletons', 4000, single],
    ['transients', 4000, asking],
    ['factories that resolve', 4000, later],
    ['singletons', 50_000, single],
  ])('is refused with its first and last keys where it is too long: %s, %i', (_, length, make) => {
    const { code, message, hint } = refusal(() => openApplication(...chain(length, make)).resolve('key 0'));

    expect(code).toBe('AMBIT_TOO_DEEP');
    expect(message).toMatch(/path {2}key 0 -> key 1 -> .*\.\.\. \d+ more \.\.\. -> .*key \d+/);
    expect(message.length).toBeLessThan(1200);
    expect(hint).toContain('lazy()');
  });

  it('is reported by verify(), too', () => {
    const { problems } = refusal(() => verify(openApplication(...chain(4000, single))));

    expect(new Set(problems.map(({ code }) => code))).toEqual(new Set(['AMBIT_TOO_DEEP']));
  });
});

describe('a long circular dependency', () => {
  it.each([
    ['singletons', single],
    ['transients', asking],
  ])('of 5,000 services is found, by resolve() and by verify(): %s', (_, make) => {
    const app = openApplication(...chain(5000, make, 'key 0'));
    const error = refusal(() => app.resolve('key 0'));

    expect(error.code).toBe('AMBIT_CYCLE');
    expect(error.path).toHaveLength(5001);
    expect(error.message.length).toBeLessThan(1200);
    expect(refusal(() => verify(app)).problems.map(({ code }) => code)).toEqual(['AMBIT_CYCLE']);
  });
});
