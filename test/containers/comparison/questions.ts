// What the table of docs/comparison.md asks, and how a program finds out.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { dependenciesOf, sourceOf, versionOf } from './facts.js';
import type { Disposers, Held, Library, Mistake, Scope } from './library.js';
import { minified } from './minify.js';

export interface Question {
  title: string;
  ask: (library: Library) => string | Promise<string>;
}

type Failure = 'throws' | 'rejects';
type Lifetime = 'application' | 'request';
type Method = keyof Library & ('captive' | 'circular' | 'missing' | 'misspelt' | 'mismatch');

const yesOrNo = (is: boolean) => (is ? 'yes' : 'no');
/** `yes` if all are true, `no` if none is. */
function share(are: readonly boolean[]): string {
  if (are.includes(true)) return are.includes(false) ? 'partly' : 'yes';
  return 'no';
}

/** Whether the calls have the result; a call that throws has not. */
async function holds(check: () => unknown): Promise<boolean> {
  try {
    return (await check()) === true;
  } catch {
    return false;
  }
}

async function thrownBy(call: () => unknown): Promise<Error | undefined> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

async function openRequest(application: Scope, registers: boolean): Promise<Scope> {
  const request = application.open?.('request');
  if (request === undefined) throw new TypeError('There are no scopes');
  if (registers) request.register?.();
  return request;
}

async function onePerRequest(library: Library, registers: boolean): Promise<boolean> {
  const application = await library.scopes();
  const [one, other] = [await openRequest(application, registers), await openRequest(application, registers)];
  const [first, again, third] = [await one.visit(), await one.visit(), await other.visit()];
  return first === again && first !== third;
}

async function inTransaction(library: Library, check: (request: Scope, transaction: Scope) => Promise<boolean>) {
  const request = await openRequest(await library.scopes(), true);
  const transaction = request.open?.('transaction');
  return transaction !== undefined && (await check(request, transaction));
}

interface Disposal {
  log: string[];
  error: Error | undefined;
}

/** Disposes three services; each says when it starts and when it is done. */
async function disposed(
  library: Library,
  lifetime: Lifetime,
  options: { fail?: Failure; what?: (held: Held) => unknown } = {},
): Promise<Disposal> {
  const log: string[] = [];
  const disposer = (name: keyof Disposers) => () => {
    log.push(name);
    const failure = new Error(`${name} failed`);
    const fails = name !== 'second' && options.fail !== undefined;
    if (fails && options.fail === 'throws') throw failure;
    return setTimeout(5).then(() => {
      log.push(`${name} done`);
      if (fails) throw failure;
    });
  };
  const held = await library.disposal?.(lifetime, {
    first: disposer('first'),
    second: disposer('second'),
    third: disposer('third'),
  });
  if (held === undefined) return { log, error: undefined };
  await held.resolveThird();
  const error = await thrownBy(() => (options.what ?? (({ dispose }) => dispose()))(held));
  const atOnce = [...log];
  await setTimeout(20); // so that no timer of a library that awaits nothing outlasts its question
  return { log: atOnce, error };
}

const lifetimes: readonly Lifetime[] = ['application', 'request'];
const failures: readonly Failure[] = ['throws', 'rejects'];
/** Each failure of a disposer in the application and in a request. */
const failing = async (library: Library, check: (disposal: Disposal) => boolean) => {
  const all = lifetimes.flatMap((lifetime) => failures.map((fail) => disposed(library, lifetime, { fail })));
  return share((await Promise.all(all)).map(check));
};
const ofBoth = async (check: (lifetime: Lifetime) => Promise<boolean>) =>
  share(await Promise.all(lifetimes.map(check)));

const called = ({ log }: Disposal) => log.filter((line) => !line.endsWith('done'));

/** All messages of an error, of its causes and of the errors it collects. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const collected = error instanceof AggregateError ? error.errors.map(textOf) : [];
  return [error.message, ...collected, textOf(error.cause)].join('\n');
}

/** Where a mistake is found first. */
async function found(library: Library, method: Method): Promise<string> {
  if (sourceOf(library, method).includes('@ts-expect-error')) return 'compiler';
  let mistake: Mistake | undefined;
  const start = await thrownBy(() => {
    mistake = library[method]();
    return mistake.start?.();
  });
  if (start !== undefined) return 'start';
  try {
    await mistake?.resolve();
  } catch {
    return 'resolve';
  }
  return 'never';
}

/** The same for a captive dependency; `avoided` where no instance of the application keeps that of a request. */
async function foundCaptive(library: Library): Promise<string> {
  const where = await found(library, 'captive');
  if (where !== 'never') return where;
  const { resolve } = library.captive();
  return (await resolve()) === (await resolve()) ? 'never' : 'avoided';
}

/** The text of the error when the program runs, whatever the compiler said. */
async function runtimeText(library: Library, method: Method): Promise<string> {
  const error = await thrownBy(async () => {
    const { start, resolve } = library[method]();
    await start?.();
    await resolve();
  });
  return textOf(error);
}

const url = 'postgres://localhost/shop';
const hasPool = (users: unknown) => (users as { pool: { url?: string } }).pool.url === url;

const ways = ['wireClass', 'wireFactory', 'wireDecorated', 'wireByName'] as const;

export const questions: readonly Question[] = [
  { title: 'version', ask: versionOf },
  {
    title: 'each request has its own instance, registered once',
    ask: async (library) => {
      if (await holds(() => onePerRequest(library, false))) return 'yes';
      return (await holds(() => onePerRequest(library, true))) ? 'partly' : 'no';
    },
  },
  {
    title: 'scopes in a request, such as a transaction',
    ask: async (library) =>
      yesOrNo(
        await holds(() =>
          inTransaction(library, async (request, inner) => (await request.pool()) === (await inner.pool())),
        ),
      ),
  },
  {
    title: "they share the request's instances",
    ask: async (library) =>
      yesOrNo(
        await holds(() =>
          inTransaction(library, async (request, inner) => (await request.visit()) === (await inner.visit())),
        ),
      ),
  },
  {
    title: "the application cannot resolve a request's service",
    ask: async (library) => {
      const application = await library.scopes();
      return yesOrNo((await thrownBy(() => application.visit())) !== undefined);
    },
  },
  {
    title: 'asynchronous disposal is awaited',
    ask: (library) =>
      ofBoth(
        async (lifetime) =>
          (await disposed(library, lifetime)).log.filter((line) => line.endsWith('done')).length === 3,
      ),
  },
  {
    title: 'dependents are disposed before their dependencies',
    ask: (library) =>
      ofBoth(async (lifetime) => {
        const { log } = await disposed(library, lifetime);
        return (
          log.join() === 'third,third done,second,second done,first,first done' || log.join() === 'third,second,first'
        );
      }),
  },
  {
    title: 'one failing disposer does not stop the others',
    ask: (library) => failing(library, (disposal) => called(disposal).length === 3),
  },
  {
    title: 'all errors of disposal are reported',
    ask: (library) =>
      failing(library, ({ error }) => {
        const text = textOf(error);
        return text.includes('first failed') && text.includes('third failed');
      }),
  },
  {
    title: 'open child scopes are disposed with their parent',
    ask: async (library) => {
      const what = ({ disposeApplication }: Held) => disposeApplication();
      return yesOrNo(called(await disposed(library, 'request', { what })).length === 3);
    },
  },
  { title: 'captive dependency is found by', ask: foundCaptive },
  { title: 'circular dependency is found by', ask: (library) => found(library, 'circular') },
  {
    title: 'the error has the path of the circular dependency',
    ask: async (library) => {
      const text = await runtimeText(library, 'circular');
      if (/maximum call stack/i.test(text)) return 'stack overflow';
      if (/circular|cyclic/i.test(text)) return yesOrNo(/left.*right.*left|right.*left.*right/is.test(text));
      return (await found(library, 'circular')) === 'compiler' ? 'not needed' : 'no';
    },
  },
  { title: 'missing dependency is found by', ask: (library) => found(library, 'missing') },
  { title: 'wrong type of a dependency is found by', ask: (library) => found(library, 'mismatch') },
  { title: 'misspelt key of `resolve` is found by', ask: (library) => found(library, 'misspelt') },
  {
    title: 'works without decorators',
    ask: async (library) => {
      for (const [way, verdict] of [
        ['wireClass', 'yes'],
        ['wireFactory', 'partly'],
      ] as const) {
        const run = library[way];
        if (run === undefined || /@\w+\(/.test(sourceOf(library, way))) continue;
        if (await holds(async () => hasPool(await run()))) return verdict;
      }
      return 'no';
    },
  },
  {
    title: 'works with a minifier that renames',
    ask: async (library) => {
      const small = await minified(library);
      const present = ways.flatMap((way) => small[way] ?? []);
      return share(await Promise.all(present.map((run) => holds(async () => hasPool(await run())))));
    },
  },
  {
    title: 'awaits async factories in between',
    ask: async (library) => {
      const users = (await library.asyncFactory()) as { pool: unknown };
      if (await holds(() => hasPool(users))) return 'yes';
      return (await holds(async () => hasPool({ pool: await users.pool }))) ? 'partly' : 'no';
    },
  },
  {
    title: 'injects into properties',
    ask: async ({ property }) => yesOrNo(await holds(async () => property !== undefined && hasPool(await property()))),
  },
  {
    title: 'a binding can depend on who asks',
    ask: async ({ conditional }) => yesOrNo(await holds(async () => (await conditional?.())?.join() === 'shop,cart')),
  },
  {
    title: 'loads modules from folders',
    ask: async ({ folder }) => {
      const path = mkdtempSync(join(tmpdir(), 'comparison-'));
      try {
        writeFileSync(join(path, 'clock.mjs'), 'export default () => ({ year: 2026 });\n');
        return yesOrNo(
          await holds(async () => ((await folder?.(path)) as { year: number } | undefined)?.year === 2026),
        );
      } finally {
        rmSync(path, { recursive: true });
      }
    },
  },
  { title: 'packages that it installs', ask: (library) => String(dependenciesOf(library.package).length) },
  {
    title: 'bytes, minified and gzipped',
    ask: (library) => {
      const results = readFileSync(new URL('../../../bench/results.md', import.meta.url), 'utf8');
      const [, sizes = ''] = results.split('## What a container weighs');
      const row = sizes.split('\n').find((line) => line.startsWith(`| ${library.package} `));
      return row?.split('|').at(-2)?.trim() ?? 'not measured';
    },
  },
];
