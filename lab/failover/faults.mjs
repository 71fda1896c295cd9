/**
 * @typedef {object} ClusterNode
 * @property {string} name
 * @property {string} url past everything that is in front of it
 * @property {import('../kit/databases.mjs').Database['query']} query
 * @property {() => void} kill as when the machine loses its power: nothing is flushed, nothing is closed
 * @property {() => void} freeze as when the machine hangs: connections stay open, and nothing arrives on them
 * @property {() => void} thaw
 * @property {(how: 'fast' | 'immediate') => Promise<void>} stop
 */

/**
 * @typedef {object} Cluster PostgreSQL with a standby, and a way to the primary
 * @property {string} url where the service finds the primary
 * @property {ClusterNode} primary of the moment
 * @property {() => Promise<void>} failOver another node is the primary
 * @property {(old: ClusterNode) => Promise<string>} demote a primary that was replaced while it was frozen, and is thawed
 * @property {() => Promise<void>} repair every node is there again, and a standby is synchronous
 * @property {() => Promise<void>} close
 */

/**
 * @template C
 * @typedef {(cluster: C, loads: readonly import('../kit/crowd.mjs').Load[], refute: (what: string) => void) => Promise<string>} Fault
 *   returns what it can prove, and calls `refute` with what must never happen and did
 */

/** On every cluster. @type {Record<string, Fault<Cluster>>} */
export const FAULTS = {
  'kill -9 of the primary': async (cluster) => {
    cluster.primary.kill();
    await cluster.failOver();
    return '';
  },
  'ordered stop of the primary': async (cluster) => {
    await cluster.primary.stop('fast');
    await cluster.failOver();
    return '';
  },
  'primary frozen, replaced, thawed': async (cluster) => {
    const old = cluster.primary;
    old.freeze();
    await cluster.failOver();
    old.thaw();
    return cluster.demote(old);
  },
};
