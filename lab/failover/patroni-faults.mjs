import { setTimeout as pause } from 'node:timers/promises';
import { stopwatch, until } from '../kit/program.mjs';
import { FAULTS } from './faults.mjs';
import { TTL_S } from './patroni.mjs';
import { roleOf } from './role.mjs';
import { Witness } from './witness.mjs';

const LONGER_THAN_TTL_MS = 2 * TTL_S * 1000;
/** TCP sends again what was not confirmed, after pauses that grow with how long nobody confirms it. */
const SENT_AGAIN_MS = 2000;
/** Each node reads the settings once in a round. */
const CONFIGURED_MS = 3000;

/** @typedef {import('./managed-cluster.mjs').ManagedCluster<import('./patroni.mjs').Patroni>} Cluster */
/** @typedef {import('./faults.mjs').Fault<Cluster>} Fault */

const { 'primary frozen, replaced, thawed': frozen, ...stopped } = /** @type {Record<string, Fault>} */ (FAULTS);
if (!frozen) throw new Error('There is no fault that freezes the primary');

/** For a while two nodes believe that they are the primary. @type {Record<string, Fault>} */
const HANGING = {
  // The first one, because the primary is then the first host of DATABASE_URL.
  'Patroni of the primary frozen, PostgreSQL not': async (cluster) => {
    const old = cluster.primary;
    old.freezeAgent();
    await cluster.failOver();
    await pause(LONGER_THAN_TTL_MS);
    old.thaw();
    return cluster.demote(old);
  },
  'primary frozen, replaced, thawed': frozen,
  'the same, and what etcd sent meanwhile arrives late': async (cluster) => {
    const old = cluster.primary;
    await cluster.manager.freeze(old);
    await cluster.failOver();
    cluster.manager.thaw(old);
    await pause(SENT_AGAIN_MS);
    cluster.manager.restore();
    return cluster.demote(old);
  },
};

/** There is one primary at most. @type {Record<string, Fault>} */
const ORDERLY = {
  ...stopped,
  'primary cut off from etcd, no response': (cluster) => cutOff(cluster, 'silent'),
  'primary cut off from etcd, connections reset': (cluster) => cutOff(cluster, 'reset'),
  'the leader of etcd frozen': async (cluster) => {
    const { etcd } = cluster.manager;
    etcd.freeze([await etcd.leader()]);
    return stays(cluster);
  },
  'two of three members of etcd frozen': async (cluster) => {
    const old = cluster.primary;
    const since = stopwatch();
    cluster.manager.etcd.freeze([0, 1]);
    await until(`${old.name} to be no primary`, async () => (await roleOf(old.url)) !== 'primary');
    const demoted = since();
    await pause(LONGER_THAN_TTL_MS);
    return `no primary after ${demoted} s; etcd was back after ${since()} s`;
  },
  'two of three members of etcd frozen, failsafe_mode': failsafe((cluster) => {
    cluster.manager.etcd.freeze([0, 1]);
    return stays(cluster);
  }),
  'primary cut off from etcd, failsafe_mode': failsafe((cluster) => {
    cluster.manager.cutOff(cluster.primary, 'silent');
    return stays(cluster);
  }),
  'patronictl switchover': switchOver,
  'patronictl switchover, a second time': switchOver,
  'patronictl switchover, a third time': switchOver,
};

/** @type {Record<string, Fault>} */
export const PATRONI_FAULTS = {
  ...withEach(HANGING, (fault) => witnessed(fault, false)),
  ...withEach(ORDERLY, (fault) => witnessed(fault, true)),
};

/** Where HAProxy is in between. @type {Record<string, Fault>} */
export const PATRONI_BALANCER_FAULTS = {
  ...withEach(HANGING, (fault) => witnessed(fault, false)),
  ...withEach(stopped, (fault) => witnessed(fault, true)),
};

/**
 * With witnesses: two nodes never confirm writes at the same time, and `alone`, two never even store them.
 * @param {Fault} fault
 * @param {boolean} alone
 * @returns {Fault}
 */
function witnessed(fault, alone) {
  return async (cluster, loads, refute) => {
    await Witness.prepare(cluster.primary);
    const rewindsBefore = rewinds(cluster);
    const confirmed = new Witness(cluster.nodes, 'on');
    const stored = new Witness(cluster.nodes, 'local');
    const proof = await fault(cluster, loads, refute);
    cluster.manager.restore();
    await cluster.manager.etcd.repair();
    const since = stopwatch();
    let whole = '';
    try {
      await cluster.repair();
      whole = `all nodes were back ${since()} s later`;
    } catch (error) {
      refute(String(error));
    }
    const rewound = rewinds(cluster) - rewindsBefore;
    const [confirming, storing] = [await confirmed.stop(), await stored.stop()];
    if (confirming.ms > 0) refute(`for ${confirming.ms} ms two nodes confirmed writes: ${confirming.who}`);
    if (alone && storing.ms > 0) refute(`for ${storing.ms} ms two nodes stored writes: ${storing.who}`);
    const two = storing.ms > 0 ? `${storing.ms} ms with two primaries` : '';
    return [proof, whole, rewound > 0 ? 'pg_rewind ran' : '', two].filter(Boolean).join('; ');
  };
}

/** How often. @param {Cluster} cluster */
function rewinds({ nodes }) {
  return nodes.reduce((sum, node) => sum + node.log().split('pg_rewind exit code=0').length - 1, 0);
}

/** @param {Fault} fault @returns {Fault} while Patroni keeps a primary that reaches all nodes and not etcd */
function failsafe(fault) {
  return async (cluster, ...rest) => {
    const { manager } = cluster;
    await manager.configure({ failsafe_mode: true });
    await pause(CONFIGURED_MS);
    try {
      return await fault(cluster, ...rest);
    } finally {
      manager.restore();
      await manager.etcd.repair();
      await manager.configure({ failsafe_mode: null });
    }
  };
}

/** @param {Cluster} cluster @param {'silent' | 'reset'} how */
async function cutOff(cluster, how) {
  const old = cluster.primary;
  cluster.manager.cutOff(old, how);
  await cluster.failOver();
  await pause(LONGER_THAN_TTL_MS);
  if ((await roleOf(old.url)) === 'primary') throw new Error(`${old.name} is cut off, and still a primary`);
  return '';
}

/** @param {Cluster} cluster */
async function stays({ primary }) {
  await pause(LONGER_THAN_TTL_MS);
  if ((await roleOf(primary.url)) !== 'primary') throw new Error(`${primary.name} is not the primary any more`);
  return 'it stayed the primary';
}

/** @param {Cluster} cluster */
async function switchOver(cluster) {
  await cluster.manager.switchOver(cluster.primary);
  await cluster.failOver();
  return '';
}

/** @param {Record<string, Fault>} faults @param {(fault: Fault) => Fault} change */
function withEach(faults, change) {
  return Object.fromEntries(Object.entries(faults).map(([name, fault]) => [name, change(fault)]));
}
