import { fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import http from 'node:http';
import { relative } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PROGRAM = fileURLToPath(new URL('measured-service.mjs', import.meta.url));
/** Where the measured service notes the calls of its functions. */
export const CALLED = 'calledFunctions';
/** How many connections warm a service up. */
const CONNECTIONS = 8;
const OWN = /^(?:packages\/[^/]+|service)\/dist\//;

/** @typedef {{ method: 'GET' | 'POST', path: string, body?: object }} Request */

/** A running service that tells which of its files run. */
export class ServiceProcess {
  #child;
  #log = new EventEmitter();
  #agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  #url = '';

  /** @param {Record<string, string>} env */
  constructor(env) {
    const { DATABASE_URL: _url, DATA_DIR: _folder, ...rest } = process.env;
    this.#child = fork(PROGRAM, {
      env: { ...rest, NODE_ENV: 'production', HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'info', ...env },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    if (!this.#child.stdout) throw new Error('The log of the service is not piped');
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      const record = JSON.parse(line);
      this.#log.emit(record.msg, record);
    });
  }

  async listening() {
    const exit = once(this.#child, 'exit').then(([code]) => {
      throw new Error(`The service exited with code ${code} before it listened`);
    });
    const [{ url }] = await Promise.race([once(this.#log, 'listening'), exit]);
    this.#url = url;
  }

  /**
   * The own files of which a function ran between the arrival of one request and its line in the log.
   * @param {Request} request
   */
  async filesOf(request) {
    await this.#called();
    await this.send(request);
    return byFile(
      (await this.#called()).files.flatMap(({ url, functions }) => functions.map((name) => ({ url, name }))),
    );
  }

  /**
   * The same, in the order of the first calls.
   * @param {Request} request
   */
  async orderOf(request) {
    await this.send(request);
    await this.#called('watch');
    // Meanwhile the service may have closed the connection.
    this.#agent.destroy();
    await this.send(request);
    await this.#called();
    await this.send(request);
    return byFile((await this.#called()).order);
  }

  /**
   * Sends it so often, over several connections. Resolves when the service has logged all of them.
   * @param {Request} request
   * @param {number} times
   */
  async warmUp(request, times) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS });
    let logged = 0;
    let sent = 0;
    const all = new Promise((resolve) => {
      const count = () => {
        logged += 1;
        if (logged < times) return;
        this.#log.off('request', count);
        resolve(undefined);
      };
      this.#log.on('request', count);
    });
    const sendInTurn = async () => {
      while (sent < times) {
        sent += 1;
        await this.#exchange(request, agent);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, sendInTurn));
    await all;
    agent.destroy();
  }

  /** @param {Request} request on the same connection as the one before; resolves when the service has logged it */
  async send(request) {
    const logged = once(this.#log, 'request');
    await this.#exchange(request, this.#agent);
    await logged;
  }

  /** @param {Request} request @param {http.Agent} agent */
  async #exchange({ method, path, body }, agent) {
    const headers = body && { 'content-type': 'application/json' };
    const sent = http.request(this.#url + path, { method, agent, ...(headers && { headers }) });
    sent.end(body && JSON.stringify(body));
    const [response] = await once(sent, 'response');
    response.resume();
    await once(response, 'end');
    if (response.statusCode >= 300) throw new Error(`${method} ${path}: status ${response.statusCode}`);
  }

  async stop() {
    this.#agent.destroy();
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await exit;
  }

  /**
   * @param {'take' | 'watch'} what
   * @returns {Promise<{ files: { url: string, functions: string[] }[], order: Call[] }>} since the call before
   */
  async #called(what = 'take') {
    const taken = once(this.#child, 'message');
    this.#child.send(what);
    const [called] = await taken;
    return called;
  }
}

/** @typedef {{ url: string, name: string }} Call */

/** @param {readonly Call[]} calls @returns {Map<string, string[]>} the functions of each own file */
function byFile(calls) {
  /** @type {Map<string, string[]>} */
  const files = new Map();
  for (const { url, name } of calls) {
    const file = relative(ROOT, fileURLToPath(url));
    if (OWN.test(file)) files.set(file, [...(files.get(file) ?? []), name]);
  }
  return files;
}
