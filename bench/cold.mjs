/**
 * The CPU time of a cold start and the weight of a bundle: `node bench/cold.mjs [--write] [--rounds 15]`.
 * A handler opens a request scope, resolves a service with two others, responds, and disposes the scope. The Worker exports it as `fetch`; the
 * Lambda calls it with the event of its URL. Each round starts a process of each Node for each Lambda, and an isolate of one workerd for each Worker, in turn.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { nodeBinary } from '../tools/on-node.mjs';
import { table, version, write } from './shared/results.mjs';

const { Miniflare } = createRequire(new URL('../test/runtimes/', import.meta.url))('miniflare');
const { values: options } = parseArgs({
  options: { write: { type: 'boolean', default: false }, rounds: { type: 'string', default: '15' } },
});

const SERVICES = `
  class Config { limit = 10 }
  class Context { constructor(config) { this.config = config; this.id = crypto.randomUUID() } }
  class Users { constructor(config, context) { this.config = config; this.context = context } list() { return { limit: this.config.limit, id: this.context.id } } }`;

/** Each package with a module that has a function `serve(request)`. */
const CONTESTANTS = {
  'hand-written': `const config = new Config();
      export const serve = async () => Response.json(new Users(config, new Context(config)).list());`,
  '@ambit/container': `import { Container, lifetimes } from '@ambit/container';
      import { createHandler } from '@ambit/fetch';
      const { make, build } = lifetimes('application', 'request');
      const graph = build({
        config: make('application', () => new Config()),
        context: make('request', (config) => new Context(config), ['config']),
        users: make('request', (config, context) => new Users(config, context), ['config', 'context']),
      });
      const app = new Container({ tags: ['application'] }).addRegistration(...graph.registrations);
      export const serve = createHandler(app, async (_request, scope) => Response.json(scope.resolve('users').list()));`,
  awilix: `import { asFunction, createContainer } from 'awilix';
      const app = createContainer().register({
        config: asFunction(() => new Config()).singleton(),
        context: asFunction(({ config }) => new Context(config)).scoped(),
        users: asFunction(({ config, context }) => new Users(config, context)).scoped(),
      });
      const withScope = async (use) => { const scope = app.createScope(); try { return use(scope) } finally { await scope.dispose() } };
      export const serve = () => withScope((scope) => Response.json(scope.resolve('users').list()));`,
  '@inferdi/inferdi': `import { Container } from '@inferdi/inferdi';
      const app = new Container();
      app.registerClass('config', Config, [], 'singleton');
      app.registerClass('context', Context, ['config'], 'scoped');
      app.registerClass('users', Users, ['config', 'context'], 'scoped');
      const withScope = async (use) => { const scope = app.createScope(); try { return use(scope) } finally { await scope.dispose() } };
      export const serve = () => withScope((scope) => Response.json(scope.get('users').list()));`,
  '@nestjs/core': `import 'reflect-metadata';
      import { Inject, Injectable, Module, Scope } from '@nestjs/common';
      import { ContextIdFactory, NestFactory } from '@nestjs/core';
      Inject('config')(Context, undefined, 0);
      Inject('config')(Users, undefined, 0);
      Inject('context')(Users, undefined, 1);
      for (const type of [Config, Context, Users]) Injectable()(type);
      const ofRequest = (provide, useClass) => ({ provide, useClass, scope: Scope.REQUEST });
      class App {}
      Module({ providers: [{ provide: 'config', useClass: Config }, ofRequest('context', Context), ofRequest('users', Users)] })(App);
      let app;
      const open = () => (app ??= NestFactory.createApplicationContext(App, { logger: false }));
      export const serve = async () => Response.json((await (await open()).resolve('users', ContextIdFactory.create())).list());`,
};

const LAMBDA = `export const handler = async (event) => {
  const response = await serve(new Request('https://' + event.requestContext.domainName + event.rawPath));
  return { statusCode: response.status, headers: Object.fromEntries(response.headers), body: await response.text() };
};`;
const TARGETS = {
  Lambda: {
    end: LAMBDA,
    platform: 'node',
    banner: { js: `import { createRequire } from 'node:module'; const require = createRequire('/');` },
  },
  Worker: {
    end: 'export default { fetch: serve };',
    platform: 'browser',
    banner: { js: 'const require = process.getBuiltinModule;' },
    conditions: ['workerd', 'worker'],
    mainFields: ['module', 'main'],
  },
};
/** Parts that NestJS loads if they are there. */
const LEFT_OUT =
  '@nestjs/microservices @nestjs/websockets @nestjs/platform-express class-validator class-transformer'.split(' ');
const BUNDLE = { bundle: true, minify: true, write: false, format: 'esm', target: 'es2022', logLevel: 'error' };
const NODES = ['24', '20'];
const run = async (node, ...args) => (await promisify(execFile)(nodeBinary(node), args)).stdout.trim();
const HEADS = '|version|Lambda: bytes, gzipped|Node 24|Node 20|Worker: bytes, gzipped|workerd'.split('|');
const MEASURE = `const begin = process.cpuUsage();
  const { handler } = await import(process.argv[1]);
  const { statusCode, body } = await handler({ rawPath: '/', requestContext: { domainName: 'localhost' } });
  if (statusCode !== 200 || JSON.parse(body).limit !== 10) throw new Error(body);
  const { user, system } = process.cpuUsage(begin);
  console.log((user + system) / 1000);`;

/** Runs a program that it has not seen in an isolate of its own. */
const LOADER = `let count = 0;
  export default {
    fetch(request, env) {
      const modules = { 'main.js': env[new URL(request.url).pathname.slice(1)] };
      const program = { compatibilityDate: '2026-07-01', compatibilityFlags: ['nodejs_compat'], mainModule: 'main.js', modules };
      return env.LOADER.get(String(count++), () => program).getEntrypoint().fetch('https://localhost/');
    },
  };`;

const folder = mkdtempSync(join(tmpdir(), 'cold-'));
const bundles = [];
for (const [name, code] of Object.entries(CONTESTANTS)) {
  const bytes = {};
  for (const [target, { end, ...forTarget }] of Object.entries(TARGETS)) {
    const { outputFiles } = await build({
      stdin: { contents: `${SERVICES}\n${code}\n${end}`, resolveDir: import.meta.dirname },
      external: [...LEFT_OUT, ...LEFT_OUT.map((part) => `${part}/*`), 'node:*', ...builtinModules],
      ...forTarget,
      ...BUNDLE,
    });
    bytes[target] = outputFiles[0].contents;
  }
  const file = join(folder, `${bundles.length}.mjs`);
  writeFileSync(file, bytes.Lambda);
  bundles.push({ name, bytes, url: pathToFileURL(file).href, times: { 24: [], 20: [], Worker: [] } });
}
const workers = new Miniflare({
  modules: true,
  script: LOADER,
  compatibilityDate: '2026-01-01',
  bindings: Object.fromEntries(bundles.map(({ bytes }, at) => [at, Buffer.from(bytes.Worker).toString()])),
  workerLoaders: { LOADER: {} },
});
try {
  await workers.ready;
  const pid = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8')
    .split(' ')
    .find((child) => child && readFileSync(`/proc/${child}/comm`, 'utf8') === 'workerd\n');
  /** The time of all its threads. */
  const cpuTime = () =>
    readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => {
      const [nanoseconds] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
      return sum + Number(nanoseconds) / 1e6;
    }, 0);
  const startWorker = async (at) => {
    const begin = cpuTime();
    const response = await workers.dispatchFetch(`http://localhost/${at}`);
    const body = await response.text();
    if (!response.ok || JSON.parse(body).limit !== 10) throw new Error(body);
    return cpuTime() - begin;
  };
  for (let round = 0; round < Number(options.rounds); round++)
    for (const [at, { url, times }] of bundles.entries()) {
      for (const node of NODES) times[node].push(Number(await run(node, '--input-type=module', '-e', MEASURE, url)));
      times.Worker.push(await startWorker(at));
    }
  const size = (bytes) => gzipSync(bytes, { level: 9 }).length.toLocaleString('en');
  const [handWritten] = bundles;
  const cold = (target, bundle) => {
    const [least, ofHandWritten] = [bundle, handWritten].map(({ times }) => Math.min(...times[target]));
    return bundle === handWritten ? `${least.toFixed(1)} ms` : (least / ofHandWritten).toFixed(2);
  };
  const rows = bundles.map((bundle) => [
    bundle.name,
    version(bundle.name),
    size(bundle.bytes.Lambda),
    ...NODES.map((node) => cold(node, bundle)),
    size(bundle.bytes.Worker),
    cold('Worker', bundle),
  ]);
  const text = table(HEADS, rows);
  console.log(text);
  if (options.write) {
    const [newer, older] = await Promise.all(NODES.map((node) => run(node, '-v')));
    write('cold', text, `Node ${newer} and ${older}`);
  }
} finally {
  await workers.dispose();
  rmSync(folder, { recursive: true });
}
