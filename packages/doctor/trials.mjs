// Reads copies of public programs. Prints one row of the tables in README.md for each: files, seconds of the processor, and what is reported.
//   node packages/doctor/trials.mjs <folder>...
// or how many places of corpus.txt are found, in the repositories that are in a folder, and which are missed.
//   node packages/doctor/trials.mjs --corpus <folder>
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { command } from './dist/command.js';

/** @param {string} folder @returns {{ files: number, reports: { file: string, line: number, rule: string }[] }} */
function reportsOf(folder) {
  process.chdir(folder);
  const printed = [''];
  command(['.', '--json'], {
    print: (text) => void printed.push(text),
    complain: (text) => void process.stderr.write(text),
  });
  return JSON.parse(printed.join(''));
}

/** @param {string} folder */
function recall(folder) {
  /** @type {Record<string, { places: number, found: number }>} */
  const counts = {};
  /** @type {Map<string, Set<string>>} */
  const known = new Map();
  for (const row of readFileSync(join(import.meta.dirname, 'corpus.txt'), 'utf8').split('\n')) {
    const [set = '', repository = '', rule, ...files] = row.split(' ');
    const copy = join(folder, (repository.split('@')[0] ?? '').replace('/', '+'));
    if (row === '' || row.startsWith('#') || !existsSync(copy)) continue;
    const reported =
      known.get(copy) ?? new Set(reportsOf(copy).reports.map((each) => `${each.rule} ${each.file}:${each.line}`));
    known.set(copy, reported);
    const count = (counts[set] ??= { places: 0, found: 0 });
    for (const file of files) {
      const [path, lines = ''] = file.split(':');
      for (const line of lines.replaceAll('!', '').split(',')) {
        count.places += 1;
        if (reported.has(`${rule} ${path}:${line}`)) count.found += 1;
        else process.stdout.write(`missed: ${repository} ${rule} ${path}:${line}\n`);
      }
    }
  }
  for (const [set, { places, found }] of Object.entries(counts))
    process.stdout.write(`${set}: ${found} of ${places} found\n`);
}

const [folder = '.', ...more] = process.argv.slice(2);
if (folder === '--corpus') recall(resolve(more[0] ?? '.'));
else if (more.length > 0) {
  // A process for each, so that none pays for what another one has left in memory.
  for (const each of [folder, ...more]) spawnSync(process.execPath, [import.meta.filename, each], { stdio: 'inherit' });
} else {
  const { files, reports } = reportsOf(folder);
  const { user, system } = process.cpuUsage();
  /** @type {Record<string, number>} */
  const counts = {};
  for (const { rule } of reports) counts[rule] = (counts[rule] ?? 0) + 1;
  const listed = Object.entries(counts).map(([rule, count]) => `${count} ${rule}`);
  const seconds = ((user + system) / 1_000_000).toFixed(1);
  process.stdout.write(`| ${basename(folder)} | ${files} | ${seconds} | ${reports.length} | ${listed.join(', ')} |\n`);
}
