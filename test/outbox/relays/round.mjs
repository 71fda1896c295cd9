// @ts-check
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { openProxy } from '@ambit/test-kit';
import { OwnDisk } from '../../../lab/kit/disk.mjs';
import { freePort } from '../../../lab/kit/program.mjs';
import { between, shuffled } from '../../../lab/kit/random.mjs';
import { Findings } from '../../../lab/kit/stored.mjs';
import { HARMS } from './harms.mjs';
import { Publishers } from './publishers.mjs';
import { Relays } from './relays.mjs';
import { natsServer, TARGETS } from './targets.mjs';

const RELAYS = { postgres: 3, sqlite: 2, mariadb: 3 };
const CLAIM_MS = 1500;
const OPTIONS = {
  claimMs: CLAIM_MS,
  deliveryTimeoutMs: 2000,
  drainMs: 1000,
  pollMs: 50,
  backoffMs: 50,
  maxBackoffMs: 250,
};
/** So many events are acknowledged before something is done, if they are in time. */
const AT_RISK = 20;
const AT_RISK_MS = 60_000;
/** Without any arrival: more than all attempts of the poison take. */
const STUCK_AFTER_MS = 120_000;

/**
 * @typedef {object} Round
 * @property {string} target
 * @property {import('./targets.mjs').Settings} settings
 * @property {import('@ambit/outbox').OutboxDialect} database
 * @property {number} seconds
 * @property {readonly import('./harms.mjs').Harm[]} harms each as often as the others
 * @property {boolean} poison whether the first event is one that the broker never takes
 * @property {number} maxAttempts
 */

/** @param {Round} round */
export async function play({ target, settings, database, seconds, harms, poison, maxAttempts }) {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-relays-'));
  // PostgreSQL does not run as root.
  chmodSync(folder, 0o755);
  const disk = harms.includes('power failed') ? new OwnDisk(folder) : undefined;
  const [port, ...ports] = await Promise.all([freePort(), freePort(), freePort()]);
  const Broker = TARGETS[target]?.Broker;
  if (!Broker) throw new Error(`There is no target ${target}`);
  const broker = new Broker({ folder: disk?.path ?? folder, port, ports, natsServer: natsServer() }, settings);
  const findings = new Findings();
  const publishers = await Publishers.open(database, poison);
  const line = await openProxy({ host: '127.0.0.1', port });
  const over = new AbortController();
  let relays, writing;
  try {
    await broker.start();
    disk?.sync();
    const options = { ...OPTIONS, maxAttempts };
    relays = new Relays({ pool: publishers.settings, target, port: line.port, settings, options }, RELAYS[database]);
    writing = publishers.write(over.signal);
    const harmed = await harm({ broker, line, relays, disk, claimMs: CLAIM_MS }, harms, seconds * 1000);
    over.abort();
    await writing;
    await everythingIsDelivered(publishers, findings);
    await relays.close();
    for (const crash of relays.crashes) findings.add('process', crash);
    const arrived = await broker.arrived();
    const committed = await publishers.committed();
    check({ committed, arrived, dead: await publishers.deadLetters(), poison: publishers.poison }, findings);
    const acknowledged = [...relays.acknowledged.values()];
    /** @type {Record<string, number>} */
    const counts = {
      'events committed': committed.length,
      'events rolled back': publishers.rolledBack,
      ...Object.fromEntries(harmed),
      'events acknowledged twice': acknowledged.filter((count) => count > 1).length,
      'events stored twice': arrived.length - new Set(arrived).size,
    };
    return { counts, findings };
  } finally {
    over.abort();
    await writing?.catch(() => undefined);
    await relays?.close();
    await line.close();
    await broker.close();
    await publishers.close();
    disk?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {import('./harms.mjs').Stage} stage
 * @param {readonly import('./harms.mjs').Harm[]} harms
 * @param {number} ms
 */
async function harm(stage, harms, ms) {
  /** @type {Map<import('./harms.mjs').Harm, number>} */
  const harmed = new Map();
  const start = performance.now();
  const isOver = () => performance.now() - start > ms;
  // Each is done at least once, however short the time is.
  for (let isFirst = true; isFirst || !isOver(); isFirst = false) {
    await pause(between(100, 500));
    for (const name of shuffled(harms)) {
      if (!isFirst && isOver()) break;
      await acknowledgements(stage.relays);
      await pause(between(0, 300));
      await HARMS[name](stage);
      harmed.set(name, (harmed.get(name) ?? 0) + 1);
    }
  }
  return harmed;
}

/** What was not acknowledged before cannot be lost. @param {Relays} relays */
async function acknowledgements({ acknowledged }) {
  const enough = acknowledged.size + AT_RISK;
  for (const start = performance.now(); acknowledged.size < enough; await pause(20))
    if (performance.now() - start > AT_RISK_MS) break;
}

/**
 * @param {Publishers} publishers
 * @param {Findings} findings
 */
async function everythingIsDelivered(publishers, findings) {
  let [left, changedAt] = [Infinity, performance.now()];
  while (left > 0) {
    await pause(50);
    const now = await publishers.pending();
    if (now !== left) [left, changedAt] = [now, performance.now()];
    if (performance.now() - changedAt > STUCK_AFTER_MS) return findings.add('left behind', `${left} events`);
  }
}

/**
 * @param {{ committed: { key: string, number: number, id: string }[], arrived: unknown[], dead: { id: string, lastError: string }[], poison: string | undefined }} history
 * @param {Findings} findings
 */
function check({ committed, arrived, dead, poison }, findings) {
  const byId = new Map(committed.map((event) => [event.id, event]));
  const first = [...new Set(arrived.map(String))];
  const isThere = new Set(first);
  const isDead = new Set(dead.map(({ id }) => id));
  for (const { id, lastError } of dead) if (id !== poison) findings.add('dead', `${id}: ${lastError}`);
  for (const { id, key, number } of committed)
    if (!isThere.has(id) && !isDead.has(id)) findings.add('lost', `${key}: ${number}`);
  /** @type {Map<string, number>} */
  const last = new Map();
  for (const id of first) {
    const event = byId.get(id);
    if (!event) findings.add('never committed', id);
    else if (event.number < (last.get(event.key) ?? 0))
      findings.add('out of order', `${event.key}: ${event.number} after ${last.get(event.key)}`);
    else last.set(event.key, event.number);
  }
}
