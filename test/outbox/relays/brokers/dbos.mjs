// @ts-check
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { DBOSClient } from '@dbos-inc/dbos-sdk';
import { Client } from 'pg';
import { postgresBinaries, postgresUser } from '../../../../lab/kit/postgres.mjs';
import { openDbosPool, toDbos } from '../../receivers/dbos.ts';
import { APPLICATION, QUEUE, WORKFLOW } from '../../../jobs/dbos/names.mjs';
import { OwnServer } from '../own-server.mjs';

/** @typedef {import('../targets.mjs').Broker} Broker */

/** @implements {Broker} */
export class Dbos {
  #folder;
  #url;
  #hasTables = false;
  server;

  /**
   * @param {import('../targets.mjs').Place} place
   * @param {import('../targets.mjs').Settings} settings
   */
  constructor({ folder, port }, settings) {
    this.#url = urlOf(port);
    this.#folder = join(folder, 'postgres');
    const as = postgresUser();
    mkdirSync(this.#folder);
    if (as.uid !== undefined && as.gid !== undefined) chownSync(this.#folder, as.uid, as.gid);
    const options = { ...as, cwd: '/', stdio: /** @type {const} */ ('ignore') };
    execFileSync(join(postgresBinaries(), 'initdb'), ['-D', this.#folder, '-U', 'postgres', '-A', 'trust'], options);
    const given = { listen_addresses: '127.0.0.1', unix_socket_directories: this.#folder, ...settings };
    const args = Object.entries(given).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    this.server = new OwnServer(
      join(postgresBinaries(), 'postgres'),
      ['-D', this.#folder, '-p', String(port), ...args],
      { ...as, port, cwd: '/' },
    );
  }

  /** DBOS creates its tables when its first worker starts. */
  async start() {
    await this.server.start();
    if (this.#hasTables) return;
    const worker = fork(
      new URL('../../../jobs/dbos/worker.mjs', import.meta.url),
      [JSON.stringify({ url: this.#url })],
      {
        stdio: 'ignore',
      },
    );
    await once(worker, 'message');
    const exited = once(worker, 'exit');
    worker.kill('SIGKILL');
    await exited;
    this.#hasTables = true;
  }

  /** In the order in which a worker takes them from the queue. */
  async arrived() {
    const client = new Client({ connectionString: this.#url });
    await client.connect();
    const { rows } = await client.query('SELECT workflow_uuid AS id FROM dbos.workflow_status ORDER BY created_at');
    await client.end();
    return rows.map(({ id }) => id);
  }

  close() {
    return this.server.kill();
  }

  /** @param {number} port @returns {Promise<import('@ambit/outbox').Deliver>} */
  static async deliver(port) {
    const workflowOf = (/** @type {import('@ambit/outbox').OutboxEvent} */ { topic }) => {
      if (topic === 'poison') throw new Error(`No workflow is for ${topic}`);
      return { queueName: QUEUE, workflowName: WORKFLOW };
    };
    const systemDatabasePool = openDbosPool(urlOf(port));
    for (;;) {
      try {
        const options = { systemDatabaseUrl: urlOf(port), systemDatabasePool, applicationName: APPLICATION };
        return toDbos(await DBOSClient.create(options), workflowOf);
      } catch {
        await pause(100);
      }
    }
  }
}

/** @param {number} port */
function urlOf(port) {
  return `postgres://postgres@127.0.0.1:${port}/postgres`;
}
