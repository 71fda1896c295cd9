/**
 * The service beside the same work hand-written on the same host: `node bench/service/run.mjs [--processes 5]
 * [--rounds 2] [--seconds 5] [--database sqlite,postgres] [--work user,users,...]
 * [--only ambit,hand] [--disk] [--write]`. A turn is so many seconds of load, after one that does not count.
 * It needs PostgreSQL at DATABASE_URL, and makes databases of its own there.
 */
import { parseArgs } from 'node:util';
import { write } from '../shared/results.mjs';
import { pick, progress } from '../shared/command.mjs';
import { interleave } from '../shared/servers.mjs';
import { check } from './check.mjs';
import { contestants, databases } from './contestant.mjs';
import { dropDatabases } from './database.mjs';
import { BASE, report, summary } from './report.mjs';
import { startServiceOn } from './server.mjs';
import { works } from './works.mjs';

const { values: options } = parseArgs({
  options: {
    processes: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '5' },
    database: { type: 'string' },
    work: { type: 'string' },
    only: { type: 'string' },
    disk: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});
const kinds = pick(options.database, Object.keys(databases));
const names = pick(options.only, contestants, [BASE]);
const times = {
  processes: Number(options.processes),
  rounds: Number(options.rounds),
  seconds: Number(options.seconds),
};

const results = [];
try {
  for (const database of kinds) await check(names.map(fileOf), database);
  for (const database of kinds) {
    for (const work of pick(options.work, Object.keys(works))) {
      const measures = await interleave(names, (name) => start(name, work, database), times);
      results.push({ database, work, measures });
    }
  }
} finally {
  progress('');
  await dropDatabases();
}
const titles = {};
for (const name of names) titles[name] = (await import(fileOf(name).href)).contestant;
const text = report(results, titles);
console.log(text);
if (options.write) write('service', summary(results, titles));

function start(name, work, kind) {
  progress(`${databases[kind]}, ${works[work].title}: ${name}`);
  return startServiceOn(kind, fileOf(name), work, { onDisk: options.disk });
}

function fileOf(name) {
  return new URL(`contestants/${name}.mjs`, import.meta.url);
}
