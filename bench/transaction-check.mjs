// What the transaction check costs: CPU time of transactions on a pool that responds at once, and of orders placed in the
// service, with the code of another commit, with this code, and with the check on. All in one process, in turn.
//   node bench/transaction-check.mjs [commit, default main] [rounds, default 40]
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const [commit = 'main', rounds = '40'] = process.argv.slice(2);
const TRANSACTIONS = 2000;
const ORDERS = 100;

const here = resolve(import.meta.dirname, '..');
const there = mkdtempSync(join(tmpdir(), 'ambit-before-'));
// Where the service finds its dependencies.
const bundles = resolve('service/node_modules/.cache/transaction-check');
execFileSync('sh', ['-c', `git archive ${commit} packages service | tar -x -C ${there}`], { cwd: here });

/** @param {string} root @returns {import('esbuild').Plugin} */
const sourcesOf = (root) => ({
  name: 'sources',
  setup: (bundle) => {
    bundle.onResolve({ filter: /^[^./]/ }, ({ path, kind }) => {
      if (kind === 'entry-point') return undefined;
      const [, name, sub] = /^@ambit\/([\w-]+)(\/.+)?$/.exec(path) ?? [];
      if (name === undefined) return { path, external: true };
      const folder = join(root, name === 'service' ? name : `packages/${name}`);
      const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      const { default: file } = exports[sub ? `.${sub}` : '.'];
      return { path: join(folder, file.replace('dist', 'src').replace(/js$/, 'ts')) };
    });
  },
});

/** @param {string} name @param {string} root @param {string} check */
async function contestant(name, root, check) {
  // The service reads its package.json and its migrations at their places beside it.
  const outfile = join(bundles, name, 'dist/api/app.mjs');
  for (const file of ['package.json', 'src/database/migrations'])
    cpSync(join(root, 'service', file), join(bundles, name, file), { recursive: true });
  const contents = `
    import { Container } from '@ambit/container';
    import { runInTransaction } from '@ambit/transaction';
    import { createAppContainer, createHost, createLogger, readConfig } from '@ambit/service';
    ${check === '' ? '' : "import { transactionCheck } from '@ambit/transaction/check';"}
    const done = Promise.resolve([]);
    const connection = { beginTransaction: () => done, commit: () => done, rollback: () => done, query: () => done, release() {} };
    const instant = { getConnection: async () => connection, query: () => done, close: () => done };
    const check = ${check === '' ? 'undefined' : 'transactionCheck({ gapMs: Infinity, report: () => {} })'};
    const app = new Container();
    const pool = check ? check.pool(instant) : instant;
    app.register('IDatabasePool', () => pool);
    const work = (scope) => scope.resolve('IConnection').query('INSERT');
    export const transaction = () => runInTransaction(app, work);
    const config = readConfig({ DATA_DIR: ':memory:', PORT: '0', LOG_LEVEL: 'silent'${check} });
    const container = createAppContainer(config);
    const host = await createHost('fastify', container, { logger: container.resolve('ILogger') });
    await container.start();
    const url = (await host.listen(0, '127.0.0.1')) + '/api/orders';
    const body = JSON.stringify({ items: [{ productId: 'apple', quantity: 1 }] });
    export const order = async () => {
      const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      if (response.status !== 201) throw new Error(await response.text());
      await response.text();
    };
    export const close = () => host.close(0);
  `;
  await build({
    stdin: { contents, resolveDir: root },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    plugins: [sourcesOf(root)],
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
    outfile,
    logLevel: 'error',
  });
  return { name, root, outfile };
}

/** @param {() => Promise<unknown>} work @param {number} times */
async function cpu(work, times) {
  const before = process.cpuUsage();
  for (let time = 0; time < times; time++) await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}

/** @param {number[]} values */
const median = (values) => values.toSorted((one, other) => one - other)[values.length >> 1] ?? NaN;

/** Of the code before, by what was measured. @type {Record<string, number>} */
const bases = {};

const specifications = [
  await contestant('before', there, ''),
  await contestant('before-again', there, ''),
  await contestant('off', here, ''),
];
const loaded = await Promise.all(specifications.map(({ outfile }) => import(pathToFileURL(outfile).href)));
await report(['before', 'before, again', 'now, off'], loaded);
// Its subscriptions are of the whole process, so it comes last.
const { outfile } = await contestant('on', here, ", TRANSACTION_CHECK: '1'");
await report(['now, on'], [await import(pathToFileURL(outfile).href)]);
for (const { close } of loaded) await close();
rmSync(there, { recursive: true });
process.exit();

/** @param {string[]} names @param {any[]} modules */
async function report(names, modules) {
  for (const [what, times] of /** @type {const} */ ([
    ['transaction', TRANSACTIONS],
    ['order', ORDERS],
  ])) {
    /** @type {number[][]} */
    const taken = modules.map(() => []);
    for (let round = -5; round < Number(rounds); round++) {
      // Each is first, second and third equally often.
      for (let turn = 0; turn < modules.length; turn++) {
        const at = (turn + round + 5) % modules.length;
        const microseconds = await cpu(modules[at][what], times);
        if (round >= 0) taken[at]?.push(microseconds);
      }
    }
    const base = (bases[what] ??= median(taken[0] ?? []));
    for (const [at, name] of names.entries()) {
      const middle = median(taken[at] ?? []);
      console.log(`${what}  ${name.padEnd(14)} ${middle.toFixed(2)} µs of CPU  ${(middle / base).toFixed(2)}`);
    }
  }
}
