import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort, start, stop, until, withReplaced } from '../chaos/support/program.mjs';
import { roleOf } from './role.mjs';

const SHIPPED = resolve(import.meta.dirname, '../../deploy/haproxy-postgres.cfg');

/** HAProxy as shipped, in front of the nodes. Its servers have the names of the shipped file: db-1, db-2 and so on. */
export class Balancer {
  #program;
  #socket;

  /**
   * @param {import('../chaos/support/program.mjs').Program} program
   * @param {string} socket for commands
   * @param {number} port
   */
  constructor(program, socket, port) {
    this.#program = program;
    this.#socket = socket;
    this.port = port;
  }

  /**
   * @param {string} folder
   * @param {readonly { name: string, postgres: number, check: number }[]} nodes with their ports
   * @param {string} [ask] the request to the REST API of the failover manager, instead of the role check
   */
  static async open(folder, nodes, ask) {
    const port = await freePort();
    const [socket, config] = [join(folder, 'haproxy.sock'), join(folder, 'haproxy.cfg')];
    const settings = withReplaced(readFileSync(SHIPPED, 'utf8'), {
      'ipv4@127.0.0.1:9998': socket,
      'bind :5432': `bind 127.0.0.1:${port}`,
    });
    const servers = nodes.map(({ name, ...ports }) => {
      return `  server ${name} 127.0.0.1:${ports.postgres} port ${ports.check}\n`;
    });
    const withoutServers = settings.replaceAll(/^  server .*\n/gm, '');
    const check =
      ask === undefined
        ? withoutServers
        : withoutServers.replaceAll(/^  tcp-check .*\n/gm, '').replace('option tcp-check', `option httpchk ${ask}`);
    writeFileSync(config, check + servers.join(''));
    const program = await start('haproxy', ['-db', '-V', '-f', config], /./);
    await until('HAProxy', async () => existsSync(socket));
    return new Balancer(program, socket, port);
  }

  get url() {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  /** @param {{ name: string }} node */
  async leadsTo({ name }) {
    return (await this.statusOf(name)).startsWith('UP');
  }

  /**
   * Sends a command of HAProxy's runtime API; returns its response.
   * @param {string} command
   */
  async command(command) {
    const socket = connect(this.#socket);
    socket.end(`${command}\n`);
    return text(socket);
  }

  /**
   * Keeps a node out until it is readmitted. HAProxy closes the connections to it, as `on-marked-down` says.
   * @param {string} node
   */
  async fence(node) {
    await this.command(`set server postgres/${node} state maint`);
  }

  /** @param {string} node */
  async readmit(node) {
    await this.command(`set server postgres/${node} state ready`);
  }

  /**
   * Sends every new connection to this node, whatever its role is.
   * @param {string} node
   */
  async mistake(node) {
    await this.command(`disable health postgres/${node}`);
    await this.command(`set server postgres/${node} health up`);
  }

  /** @param {string} node */
  async check(node) {
    await this.command(`enable health postgres/${node}`);
  }

  /** @param {string} node */
  async statusOf(node) {
    return (await this.#stat(node))['status'] ?? '';
  }

  /** @param {string} node @returns how many connections it got so far */
  async connectionsTo(node) {
    return Number((await this.#stat(node))['stot']);
  }

  /** @param {string} node */
  sees(node, up = true) {
    return until(`HAProxy to see ${node} ${up ? 'up' : 'down'}`, async () =>
      (await this.statusOf(node)).startsWith(up ? 'UP' : 'DOWN'),
    );
  }

  close() {
    return stop(this.#program);
  }

  /** @param {string} node @returns {Promise<Record<string, string>>} */
  async #stat(node) {
    const [head = '', ...rows] = (await this.command('show stat')).split('\n');
    const names = head.replace('# ', '').split(',');
    const row = rows.find((line) => line.startsWith(`postgres,${node},`))?.split(',') ?? [];
    return Object.fromEntries(names.map((name, column) => [name, row[column] ?? '']));
  }
}

/** No balancer: the service knows every node, and uses the first one that takes writes. */
export class Addresses {
  #nodes;

  /** @param {readonly import('./managed-node.mjs').ManagedNode[]} nodes */
  constructor(nodes) {
    this.#nodes = nodes;
  }

  get url() {
    const hosts = this.#nodes.map(({ ports }) => `127.0.0.1:${ports.postgres}`);
    return `postgres://postgres@${hosts.join()}/postgres?target_session_attrs=read-write`;
  }

  /** @param {import('./managed-node.mjs').ManagedNode} node */
  async leadsTo(node) {
    return (await roleOf(node.url)) === 'primary';
  }

  close() {}
}
