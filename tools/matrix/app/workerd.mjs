// Runs the probe in workerd, at module load and while it serves a request: what it allows differs.
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';

const { outputFiles } = await build({
  stdin: {
    contents: `import { probe } from './probe.js';
export default { async fetch() {
  try { return new Response(await probe()); } catch (error) { return new Response(String(error?.stack ?? error), { status: 500 }); }
} };`,
    resolveDir: import.meta.dirname,
  },
  bundle: true,
  write: false,
  format: 'esm',
  platform: 'browser',
  conditions: ['workerd'],
  target: 'es2022',
});
const server = new Miniflare({ modules: true, script: outputFiles[0].text, compatibilityDate: '2026-01-01' });
try {
  console.log(await (await server.dispatchFetch('http://localhost/')).text());
} finally {
  await server.dispose();
}
