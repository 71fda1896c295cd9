/**
 * How long the servers of editors take to complete a key: `node bench/types/editors.mjs [--write]`. `--services 200` is a smaller graph.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { table, version, write } from '../shared/results.mjs';
import { source } from './generate.mjs';
import { folder, writeProject } from './project.mjs';
import { languageServer, tsserver } from './servers.mjs';

const { values: options } = parseArgs({
  options: { write: { type: 'boolean', default: false }, services: { type: 'string', default: '500' } },
});
const EDITS = 15;
const services = Number(options.services);
const text = `${source('@ambit/container', services)}container.resolve('');\n`;
const line = text.split('\n').length - 1;
const file = writeProject('graph.ts');
writeFileSync(file, text);

const rows = [];
for (const [compiler, startServer] of [
  ['typescript', languageServer],
  ['typescript-6.0', tsserver],
]) {
  const server = startServer(compiler);
  await server.open(file, text);
  const first = await completed(server, compiler);
  const later = [];
  for (let i = 0; i < EDITS; i++) {
    // The text is as before, but the program is another one.
    server.edit(file, line + 1);
    later.push(await completed(server, compiler));
  }
  server.close();
  later.sort((one, two) => one - two);
  rows.push([
    `TypeScript ${version(compiler)}`,
    ...[first, later[0], later[(EDITS - 1) / 2]].map((ms) => ms.toFixed(0)),
  ]);
}
rmSync(folder, { recursive: true, force: true });

const result = `Milliseconds until \`container.resolve('\` is completed in the file that has the graph of ${services} services:

${table(['server of', 'file just opened', `after an edit, least of ${EDITS}`, `median of ${EDITS}`], rows)}`;
console.log(result);
if (options.write) write('editors', result);

/** Milliseconds until all keys of the graph are there. */
async function completed(server, compiler) {
  const start = performance.now();
  const names = await server.complete(file, line, "container.resolve('".length);
  const keys = names.filter((name) => /^s\d+$/.test(name)).length;
  if (keys !== services) throw new Error(`${compiler} completed ${keys} of ${services} keys`);
  return performance.now() - start;
}
