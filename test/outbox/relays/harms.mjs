// @ts-check
import { setTimeout as pause } from 'node:timers/promises';
import { between, oneOf } from '../../../lab/kit/random.mjs';

const CUT_FOR_MS = 500;
const CUT = 0.1;
/** How often all lines that are open carry nothing any more, and are not closed. */
const DEAD = 0.3;

/**
 * @typedef {object} Stage
 * @property {import('./targets.mjs').Broker} broker
 * @property {import('@ambit/test-kit').FaultyProxy} line between the relays and the broker
 * @property {import('./relays.mjs').Relays} relays
 * @property {import('../../../lab/kit/disk.mjs').OwnDisk | undefined} disk of the broker
 * @property {number} claimMs
 */

/** What is done to a run, by its name in the table. @satisfies {Record<string, (stage: Stage) => Promise<unknown>>} */
export const HARMS = {
  'relay killed': async ({ relays }) => void (await relays.one()).kill('SIGKILL'),
  'relay stopped past its claim': async ({ relays, claimMs }) => {
    const relay = await relays.one();
    relay.kill('SIGSTOP');
    await pause(between(claimMs + 200, claimMs * 2));
    relay.kill('SIGCONT');
  },
  'relay shut down': async ({ relays }) => void (await relays.one()).kill('SIGTERM'),
  'broker killed': async ({ broker }) => {
    // What it is sent meanwhile stays in the buffers of the system.
    broker.server.signal('SIGSTOP');
    await pause(between(0, 1000));
    await broker.server.kill();
    await broker.start();
  },
  'broker paused': async ({ broker }) => {
    broker.server.signal('SIGSTOP');
    await pause(between(300, 3000));
    broker.server.signal('SIGCONT');
  },
  // Never 'swallowed': TCP does not lose bytes and then go on, and a broker would confirm one message for another.
  'lines cut': async ({ line }) => {
    if (Math.random() < DEAD) line.silenceOpen();
    line.faultAt = () => (Math.random() < CUT ? oneOf(['before', 'half', 'after', 'after', 'silence']) : 'none');
    await pause(CUT_FOR_MS);
    line.faultAt = () => 'none';
  },
  'broker full': async ({ broker }) => {
    await broker.full?.(true);
    await pause(between(300, 1500));
    await broker.full?.(false);
  },
  'power failed': async ({ broker, disk }) => {
    if (!disk) throw new Error('The power of a disk that is not our own cannot be cut');
    broker.server.signal('SIGSTOP');
    await pause(between(0, 1000));
    disk.cutPower();
    await broker.server.kill();
    disk.powerOn();
    await broker.start();
  },
};
/** @typedef {keyof typeof HARMS} Harm */
