// What the compiler refuses of a graph and what `verify` refuses: the same, apart from circular dependencies and split keys.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { Container, lifetimes, type Composition, type ContainerError } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import * as fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { diagnose } from '../on-node.mjs';

const RUNS = Number(process.env['GRAPHS'] ?? 300);
const SEED = Number(process.env['SEED'] ?? process.env['FIRST_SEED'] ?? 1);
const LIFETIMES = ['application', 'request', 'transaction'] as const;
const folder = resolve('node_modules/.cache/graphs');

const keyOf = (index: number) => `key${index}`;
const lifetime = fc.constantFrom(...LIFETIMES);
/** Mostly the shorter the later, so that enough graphs are right. */
const lifetimeAt = (index: number) =>
  fc.oneof(
    { weight: 7, arbitrary: fc.constant(LIFETIMES[Math.min(Math.floor(index / 2), 2)] ?? 'transaction') },
    lifetime,
  );

/** A dependency on what comes earlier, so that no dependency is circular; what is lazy may come later, or be missing like the others. */
const need = (index: number): fc.Arbitrary<string> => {
  const earlier = fc.nat({ max: Math.max(index - 1, 0) }).map((i) => `'${index > 0 ? keyOf(i) : 'missing'}'`);
  const any = fc.nat({ max: 9 }).map((i) => `'${keyOf(i)}'`);
  return fc.oneof(
    { weight: 12, arbitrary: earlier },
    { weight: 2, arbitrary: any.map((key) => `lazy(${key})`) },
    { weight: 2, arbitrary: earlier.map((key) => `all(${key})`) },
    { weight: 2, arbitrary: earlier.map((key) => `optional(${key})`) },
    { weight: 1, arbitrary: fc.constantFrom(`'missing'`, `optional('missing')`, `all('missing')`) },
  );
};

const made = (index: number, within: fc.Arbitrary<string> = lifetimeAt(index)): fc.Arbitrary<string> =>
  fc
    .record({
      call: fc.constantFrom('make(', 'of('),
      at: within,
      needs: fc.array(need(index), { maxLength: Math.min(index, 3) }),
      transient: fc.integer({ min: 0, max: 4 }),
    })
    .map(
      ({ call, at, needs, transient }) =>
        `${call}'${at}', ${call === 'of(' ? 'Made' : 'made'}, [${needs.join(', ')}])${transient === 0 ? '.transient()' : ''}`,
    );

const service = (index: number): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 12, arbitrary: made(index) },
    { weight: 1, arbitrary: fc.constant('value(new Made())') },
    { weight: 1, arbitrary: lifetimeAt(index).map((at) => `registered('${at}').as()`) },
    {
      weight: 1,
      arbitrary: fc.nat({ max: Math.max(index - 1, 0) }).map((i) => `alias('${index > 0 ? keyOf(i) : 'missing'}')`),
    },
    { weight: 2, arbitrary: fc.tuple(made(index), made(index)).map((two) => `[${two.join(', ')}]`) },
  );

const literal = (lines: string[]) => `{\n${lines.map((line) => `  ${line},\n`).join('')}}`;

/** The entries of a first feature. */
const feature = fc
  .integer({ min: 1, max: 7 })
  .chain((size) => fc.tuple(...Array.from({ length: size }, (_, i) => service(i))));

/** An entry for a key of the first feature, that replaces its entry (one without mistakes, which only the compiler would still see), comes beside it, or does not say so. */
const joining = (entries: string[]) =>
  fc.nat({ max: entries.length - 1 }).chain((index) => {
    const [, at] = /^(?:make|of)\('(\w+)', \w+, \[\]\)/.exec(entries[index] ?? '') ?? [];
    const replacing = at ? [made(index, fc.constant(at)).map((text) => `${text}.override()`)] : [];
    // Only the compiler sees that a key is registered directly and by a feature.
    const silent = entries[index]?.startsWith('registered') ? [] : [made(index)];
    const others = [made(index).map((text) => `${text}.also()`), ...silent];
    return fc.oneof(...replacing, ...others).map((text) => `${keyOf(index)}: ${text}`);
  });

/** A call of `build`, as text. */
const graph: fc.Arbitrary<string> = feature
  .chain((entries) => fc.tuple(fc.constant(entries), fc.option(fc.tuple(service(entries.length), joining(entries)))))
  .map(([entries, second]) => {
    const features = [literal(entries.map((text, i) => `${keyOf(i)}: ${text}`))];
    if (second) features.push(literal([`${keyOf(entries.length)}: ${second[0]}`, second[1]]));
    return `build(${features.join(', ')})`;
  });

class Made {
  readonly needs: unknown[];
  constructor(...needs: unknown[]) {
    this.needs = needs;
  }
}

/** What `verify` says of the graph; undefined where it has nothing to say. */
function refused(text: string): ContainerError | undefined {
  const functions = { ...lifetimes(...LIFETIMES), Made, made: (...needs: unknown[]) => new Made(...needs) };
  // oxlint-disable-next-line no-implied-eval -- the compiler reads this very text
  const build = new Function(...Object.keys(functions), `return ${text}`) as (
    ...functions_: unknown[]
  ) => Composition<object, string[]>;
  const { registrations, scopes } = build(...Object.values(functions));
  const container = new Container({ tags: ['application'] }).addRegistration(...registrations);
  for (const [, key] of text.matchAll(/(\w+): registered\('application'\)/g))
    container.register(key as string, () => 1);
  try {
    verify(container, ...scopes);
    return undefined;
  } catch (error) {
    // The compiler does not see which of the entries of a key an inner scope gets.
    return (error as ContainerError).problems.some(({ code }) => code !== 'AMBIT_SPLIT_KEY')
      ? (error as ContainerError)
      : undefined;
  }
}

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test(
  `the compiler and verify refuse the same of ${RUNS} graphs (SEED=${SEED})`,
  () => {
    const graphs = fc.sample(graph, { numRuns: RUNS, seed: SEED });
    mkdirSync(folder, { recursive: true });
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        extends: resolve('tsconfig.base.json'),
        compilerOptions: { noEmit: true, composite: false, declaration: false, declarationMap: false },
        include: ['.'],
      }),
    );
    writeFileSync(
      join(folder, 'functions.ts'),
      `import { lifetimes } from '@ambit/container';
export class Made {
  readonly needs: unknown[];
  constructor(...needs: unknown[]) {
    this.needs = needs;
  }
}
export const made = (...needs: unknown[]): Made => new Made(...needs);
export const functions = lifetimes(${LIFETIMES.map((tag) => `'${tag}'`).join(', ')});
`,
    );
    graphs.forEach((text, i) => {
      const used = ['of', 'make', 'value', 'alias', 'registered', 'lazy', 'all', 'optional'].filter((name) =>
        text.includes(`${name}(`),
      );
      const imports = ['Made', 'made'].filter((name) => new RegExp(`\\b${name}\\b`).test(text));
      writeFileSync(
        join(folder, `graph${i}.ts`),
        `import { ${['functions', ...imports].join(', ')} } from './functions.js';
const { ${['build', ...used].join(', ')} } = functions;
export const app = ${text};
`,
      );
    });

    const errors = new Map(
      diagnose('typescript', ['-p', folder]).map(({ file, message }) => [basename(file, '.ts'), message]),
    );
    const verdicts = graphs.map((text, i) => ({
      text,
      compiler: errors.get(`graph${i}`),
      verify: refused(text)?.message,
    }));
    expect(
      verdicts.filter(({ compiler, verify: found }) => (compiler === undefined) !== (found === undefined)),
    ).toEqual([]);
    // Both verdicts are frequent enough to mean something.
    const accepted = verdicts.filter(({ compiler }) => compiler === undefined).length;
    expect(Math.min(accepted, graphs.length - accepted)).toBeGreaterThan(graphs.length / 10);
  },
  20_000 + RUNS * 50,
);
