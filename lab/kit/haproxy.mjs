import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort, start, stop, until, withReplaced } from './program.mjs';

const DEPLOY = resolve(import.meta.dirname, '../../deploy');

/** HAProxy as shipped, in front of the nodes. Its servers have the names of the shipped file: db-1, db-2 and so on. */
export class Balancer {
  #program;
  #socket;

  /**
   * @param {import('./program.mjs').Program} program
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
   */
  static async open(folder, nodes) {
    const port = await freePort();
    const [socket, config] = [join(folder, 'haproxy.sock'), join(folder, 'haproxy.cfg')];
    const settings = withReplaced(readFileSync(join(DEPLOY, 'haproxy-postgres.cfg'), 'utf8'), {
      'ipv4@127.0.0.1:9998': socket,
      'bind :5432': `bind 127.0.0.1:${port}`,
    });
    const servers = nodes.map(({ name, ...ports }) => {
      return `  server ${name} 127.0.0.1:${ports.postgres} port ${ports.check}\n`;
    });
    const withoutServers = settings.replaceAll(/^  server .*\n/gm, '');
    writeFileSync(config, withoutServers + servers.join(''));
    const program = await start('haproxy', ['-db', '-V', '-f', config], /./);
    await until('HAProxy', async () => existsSync(socket));
    return new Balancer(program, socket, port);
  }

  get url() {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  /**
   * Sends a command of HAProxy's runtime API; returns its response.
   * @param {string} line
   */
  async command(line) {
    const socket = connect(this.#socket);
    socket.end(`${line}\n`);
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

/**
 * HAProxy as shipped, in front of two instances on this machine.
 * @param {string} folder
 * @param {readonly string[]} urls
 */
export async function startHaproxy(folder, urls) {
  const [port, commands] = [await freePort(), await freePort()];
  const version = /version (\S+)/.exec(execFileSync('haproxy', ['-v'], { encoding: 'utf8' }))?.[1] ?? '';
  const config = join(folder, 'haproxy.cfg');
  const [one, two] = urls.map((url) => new URL(url).host);
  writeFileSync(
    config,
    withReplaced(readFileSync(join(DEPLOY, 'haproxy.cfg'), 'utf8'), {
      'bind :8080': `bind 127.0.0.1:${port}`,
      'ipv4@127.0.0.1:9999': `ipv4@127.0.0.1:${commands}`,
      'service-1:3000': one ?? '',
      'service-2:3000': two ?? '',
    }),
  );
  const program = await start('haproxy', ['-db', '-V', '-f', config], /./);
  const url = `http://127.0.0.1:${port}`;
  await until('HAProxy', () =>
    fetch(`${url}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  /** Resolves when HAProxy sends requests to both. */
  const seesBothReady = () =>
    until('HAProxy to see both instances ready', async () =>
      ['service-1', 'service-2'].every((name) => {
        const changes = program.output().match(new RegExp(`^Server service/${name} is (?:UP|DOWN)`, 'gm'));
        return changes?.at(-1)?.endsWith('UP') ?? true;
      }),
    );
  return { program, url, version, seesBothReady, command: (/** @type {string} */ line) => send(commands, line) };
}

/** Sends a command of an operator through the `stats socket`. @param {number} port @param {string} line */
async function send(port, line) {
  const socket = connect(port, '127.0.0.1').end(`${line}\n`);
  return text(socket);
}
