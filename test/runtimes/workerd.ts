import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { build, type Plugin, type PluginBuild } from 'esbuild';
import { Miniflare } from 'miniflare';

const root = join(import.meta.dirname, '../..');

/** As wrangler does: `require()` of a module of Node becomes an import, and what workerd does not have is refused at its use. */
const modulesOfNode: Plugin = {
  name: 'modules of Node',
  setup(bundle: PluginBuild) {
    bundle.onResolve({ filter: /^node:(v8|worker_threads|vm)$/ }, ({ path }) => ({ path, namespace: 'absent' }));
    bundle.onLoad({ filter: /.*/, namespace: 'absent' }, () => ({
      contents: 'export const setFlagsFromString = () => {}, runInNewContext = () => {}, Worker = undefined;',
    }));
    bundle.onResolve({ filter: /^[a-z_/]+$/ }, ({ path, kind }) =>
      kind === 'require-call' && OF_NODE.has(path) ? { path: `node:${path}`, namespace: 'required' } : undefined,
    );
    bundle.onLoad({ filter: /.*/, namespace: 'required' }, ({ path }) => ({
      contents: `import it from '${path}'; module.exports = it;`,
    }));
  },
};
const OF_NODE = new Set(
  'buffer child_process crypto dns events fs net path stream string_decoder tls url util util/types'.split(' '),
);

/** @returns the program as one module, for a Worker */
export async function bundled(entry: { file: string } | { text: string }): Promise<string> {
  const { outputFiles } = await build({
    ...('file' in entry
      ? { entryPoints: [entry.file] }
      : { stdin: { contents: entry.text, loader: 'ts', resolveDir: join(root, 'test') } }),
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'browser'],
    target: 'es2022',
    alias: {
      vitest: join(import.meta.dirname, 'worker/vitest.ts'),
      '@vitest/utils/timers': join(import.meta.dirname, 'worker/timers.ts'),
    },
    external: ['node:*', 'cloudflare:*', 'pg-native'],
    plugins: [modulesOfNode],
    logLevel: 'error',
  });
  return outputFiles[0]!.text;
}

/** A program in workerd, which listens on 127.0.0.1. */
export interface Served {
  readonly port: number;
  /** Whatever it has written with `console`. */
  log: string;
  close(): Promise<void>;
}

/** Serves the program as a Worker. A client that leaves is reset there, as at the edge of a network: workerd does not notice one that only says it has ended. */
export async function serveWorker(script: string, bindings: object): Promise<Served> {
  const served: Served = { port: 0, log: '', close: () => Promise.resolve() };
  const worker = new Miniflare({
    modules: true,
    script,
    compatibilityDate: '2026-01-01',
    compatibilityFlags: ['nodejs_compat', 'enable_request_signal'],
    unsafeDirectSockets: [{ port: 0 }],
    handleRuntimeStdio: (...streams: Readable[]) => {
      for (const stream of streams) stream.on('data', (text) => (served.log += String(text)));
    },
    ...bindings,
  });
  const { port } = await worker.unsafeGetDirectURL();
  const edge = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect(Number(port), '127.0.0.1');
    const cut = (): void => void upstream.resetAndDestroy();
    client.pipe(upstream, { end: false });
    client.on('end', cut).on('error', cut).on('close', cut);
    upstream.pipe(client);
    upstream.on('error', () => client.destroy()).on('close', () => client.destroy());
  });
  edge.listen(0, '127.0.0.1');
  await once(edge, 'listening');
  return Object.assign(served, {
    port: (edge.address() as AddressInfo).port,
    close: async () => {
      edge.close();
      await worker.dispose();
    },
  });
}
