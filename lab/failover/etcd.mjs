import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, start, stop, until } from '../kit/program.mjs';

const NAMES = ['etcd-1', 'etcd-2', 'etcd-3'];

/** @typedef {{ name: string, port: number, peerPort: number, data: string }} Member with the port for clients, and for the others */

/** Three members of etcd. */
export class Etcd {
  members;
  #programs;

  /**
   * @param {readonly Member[]} members
   * @param {readonly import('../kit/program.mjs').Program[]} programs
   */
  constructor(members, programs) {
    this.members = members;
    this.#programs = programs;
  }

  /** @param {string} folder */
  static async start(folder) {
    /** @type {Member[]} */
    const members = [];
    for (const name of NAMES) {
      const data = join(folder, name);
      mkdirSync(data, { mode: 0o700 });
      members.push({ name, port: await freePort(), peerPort: await freePort(), data });
    }
    const everyone = members.map(({ name, peerPort }) => `${name}=${url(peerPort)}`).join(',');
    const programs = members.map((member) =>
      start('etcd', settings(member, everyone), /ready to serve client requests/),
    );
    return new Etcd(members, await Promise.all(programs));
  }

  /** The index of the member that the others follow. */
  async leader() {
    const statuses = await Promise.all(this.members.map(statusOf));
    return statuses.findIndex(({ leader, header }) => leader === header.member_id);
  }

  /** As when the machines hang, or nothing reaches them any more. @param {readonly number[]} indexes */
  freeze(indexes) {
    for (const index of indexes) this.#programs[index]?.child.kill('SIGSTOP');
  }

  thaw() {
    for (const { child } of this.#programs) child.kill('SIGCONT');
  }

  async isWhole() {
    const statuses = await Promise.all(this.members.map(statusOf)).catch(() => []);
    const [first] = statuses;
    return first !== undefined && first.leader !== undefined && statuses.every(({ leader }) => leader === first.leader);
  }

  repair() {
    this.thaw();
    return until('every member of etcd to follow one leader', () => this.isWhole());
  }

  async close() {
    await Promise.all(this.#programs.map((program) => stop(program, 'SIGKILL')));
  }
}

/** @param {number} port */
function url(port) {
  return `http://127.0.0.1:${port}`;
}

/** @param {Member} member @param {string} everyone */
function settings({ name, port, peerPort, data }, everyone) {
  return Object.entries({
    name,
    'data-dir': data,
    'enable-v2': 'true',
    'listen-client-urls': url(port),
    'advertise-client-urls': url(port),
    'listen-peer-urls': url(peerPort),
    'initial-advertise-peer-urls': url(peerPort),
    'initial-cluster': everyone,
  }).map(([option, value]) => `--${option}=${value}`);
}

/**
 * @param {Member} member
 * @returns {Promise<{ leader?: string, header: { member_id: string } }>}
 */
async function statusOf({ port }) {
  const response = await fetch(`${url(port)}/v3/maintenance/status`, { method: 'POST', body: '{}' });
  return /** @type {any} */ (await response.json());
}
