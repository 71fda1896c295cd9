import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';

const RESULTS = new URL('results.md', import.meta.url);

/** Not every package exports its package.json, so it is looked for in the `node_modules` folders from here upward. */
export function version(name) {
  if (!name) return '';
  let at = new URL('.', import.meta.url);
  const file = () => new URL(`node_modules/${name}/package.json`, at);
  while (!existsSync(file()) && at.pathname !== '/') at = new URL('..', at);
  return existsSync(file()) ? JSON.parse(readFileSync(file(), 'utf8')).version : '';
}

/** Replaces what stands between the marks of the section in results.md. */
export function write(section, text) {
  const [begin, end] = [`<!-- ${section}: begin -->`, `<!-- ${section}: end -->`];
  const [before, rest] = readFileSync(RESULTS, 'utf8').split(begin);
  const [, after] = rest.split(end);
  const machine = `${cpus().length} x ${cpus()[0].model.trim()}, Node ${process.version}`;
  writeFileSync(RESULTS, `${before}${begin}\n\nOn ${machine}.\n\n${text}\n\n${end}${after}`);
}
