import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';

const RESULTS = new URL('results.md', import.meta.url);
const README = new URL('../README.md', import.meta.url);

/** Not every package exports its package.json, so it is looked for in the `node_modules` folders from here upward. */
export function version(name) {
  if (!name) return '';
  let at = new URL('.', import.meta.url);
  const file = () => new URL(`node_modules/${name}/package.json`, at);
  while (!existsSync(file()) && at.pathname !== '/') at = new URL('..', at);
  return existsSync(file()) ? JSON.parse(readFileSync(file(), 'utf8')).version : '';
}

/** Replaces what stands between the marks of the section in results.md. */
export const write = (section, text) => writeTo(RESULTS, section, text);

/** The same in README.md. */
export const writeToReadme = (section, text) => writeTo(README, section, text);

function writeTo(file, section, text) {
  const [begin, end] = [`<!-- ${section}: begin -->`, `<!-- ${section}: end -->`];
  const [before, rest] = readFileSync(file, 'utf8').split(begin);
  const [, after] = rest.split(end);
  const machine = `${cpus().length} x ${cpus()[0].model.trim()}, Node ${process.version}`;
  writeFileSync(file, `${before}${begin}\n\nOn ${machine}.\n\n${text}\n\n${end}${after}`);
}
