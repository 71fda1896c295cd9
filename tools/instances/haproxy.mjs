import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { ask } from './client.mjs';
import { freePort, start, until, withReplaced } from '../../service/chaos/support/program.mjs';

const SHIPPED = resolve(import.meta.dirname, '../../deploy/haproxy.cfg');

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
    withReplaced(readFileSync(SHIPPED, 'utf8'), {
      'bind :8080': `bind 127.0.0.1:${port}`,
      'ipv4@127.0.0.1:9999': `ipv4@127.0.0.1:${commands}`,
      'service-1:3000': one ?? '',
      'service-2:3000': two ?? '',
    }),
  );
  const program = await start('haproxy', ['-db', '-V', '-f', config], /./);
  const url = `http://127.0.0.1:${port}`;
  await until('HAProxy', () =>
    ask(`${url}/health/ready`).then(
      ({ status }) => status === 200,
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
  return { program, url, version, seesBothReady, command: (/** @type {string} */ line) => command(commands, line) };
}

/** What operators do through the `stats socket`. @param {number} port @param {string} line */
async function command(port, line) {
  const socket = connect(port, '127.0.0.1').end(`${line}\n`);
  return text(socket);
}
