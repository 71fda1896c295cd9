import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { mariadbQuery } from '../kit/databases.mjs';
import { atExit } from '../kit/program.mjs';

/** As root, rsync would not write what it receives. */
const USER = 'mysql';
const PORT = 3306;
const run = promisify(execFile);

/** One MariaDB server with Galera, on a machine of its own. */
export class GaleraNode {
  #folder;
  #network;
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #server;
  /** Where the lines of this run begin in the log. */
  #logStart = 0;

  /**
   * @param {number} number of its machine
   * @param {string} parent folder of the nodes' folders
   * @param {import('./galera-network.mjs').Network} network
   * @param {Record<string, string | number>} settings of mariadbd
   */
  constructor(number, parent, network, settings) {
    this.number = number;
    this.name = `db-${number}`;
    this.#folder = join(parent, this.name);
    this.#network = network;
    this.url = `mariadb://root@${network.clientAddress(number)}:${PORT}/ambit`;
    this.query = mysqlQuery({ host: network.clientAddress(number), port: PORT, user: 'root', database: 'ambit' });
    /** As its administrator, who needs no network. */
    this.administer = mysqlQuery({ socketPath: this.#socket, user: 'root' });
    for (const path of [this.#data, this.#temporary]) mkdirSync(path, { recursive: true });
    execFileSync('chown', [USER, this.#folder, this.#data, this.#temporary]);
    const own = {
      user: USER,
      port: PORT,
      datadir: this.#data,
      tmpdir: this.#temporary,
      socket: this.#socket,
      'pid-file': join(this.#folder, 'pid'),
      'wsrep-node-name': this.name,
      'wsrep-node-address': network.peerAddress(number),
    };
    const lines = Object.entries({ ...own, ...settings }).map(([name, value]) => `${name} = ${value}`);
    writeFileSync(this.#configuration, ['[mysqld]', ...lines, ''].join('\n'));
    atExit(() => this.kill());
  }

  get runs() {
    return this.#server !== undefined && this.#server.exitCode === null && this.#server.signalCode === null;
  }

  /** How it got what it had missed, as its log says: `IST` from the memory of another node, or `SST`, everything. */
  get transfer() {
    const log = readFileSync(this.#logFile, 'latin1').slice(this.#logStart);
    return /WSREP_SST: .* (IST|SST) completed on joiner/.exec(log)?.[1] ?? 'nothing';
  }

  /** Whether it knows that it was the last one to stop. */
  get isSafeToBootstrap() {
    return /^safe_to_bootstrap: 1$/m.test(readFileSync(this.#state, 'utf8'));
  }

  /** Creates the files of an empty server. */
  install() {
    const options = ['--no-defaults', '--auth-root-authentication-method=normal', '--skip-test-db', `--user=${USER}`];
    const env = { ...process.env, TMPDIR: this.#temporary };
    return run('mariadb-install-db', [...options, `--datadir=${this.#data}`], { env });
  }

  /** As after the loss of its disk. */
  forget() {
    for (const name of readdirSync(this.#data)) rmSync(join(this.#data, name), { recursive: true });
  }

  /** As the service of Debian starts it. @param {readonly string[]} [more] options */
  async start(more = []) {
    const position = existsSync(this.#state) ? [`--wsrep-start-position=${await this.recovered()}`] : [];
    const log = openSync(this.#logFile, 'a');
    this.#logStart = readFileSync(this.#logFile).length;
    const [program = '', ...args] = [...this.#command, ...position, ...more];
    this.#server = spawn(program, args, { stdio: ['ignore', log, log] });
    closeSync(log);
  }

  /** The first one of a cluster. */
  bootstrap() {
    return this.start(['--wsrep-new-cluster']);
  }

  /** Declares that no other node has more. */
  declareSafe() {
    const text = readFileSync(this.#state, 'utf8');
    writeFileSync(this.#state, text.replace(/^safe_to_bootstrap: 0$/m, 'safe_to_bootstrap: 1'));
  }

  /** What it has stored, also after a crash: the cluster's name, and the number of the last transaction. */
  async recovered() {
    const [program = '', ...args] = this.#command;
    const file = join(this.#folder, 'recovery.log');
    rmSync(file, { force: true });
    await run(program, [...args, '--wsrep-recover', `--log-error=${file}`]);
    const position = /Recovered position: ([0-9a-f-]+:-?\d+)/.exec(readFileSync(file, 'utf8'))?.[1];
    if (position === undefined) throw new Error(`${this.name} recovered no position: see ${file}`);
    return position;
  }

  kill() {
    this.#server?.kill('SIGKILL');
  }

  freeze() {
    this.#server?.kill('SIGSTOP');
  }

  thaw() {
    this.#server?.kill('SIGCONT');
  }

  async stop() {
    this.#server?.kill('SIGTERM');
    await this.exited();
  }

  async exited() {
    if (this.runs && this.#server) await once(this.#server, 'exit');
  }

  /** @param {string} name of a status, such as `wsrep_ready`; undefined where the node does not respond */
  async status(name) {
    try {
      const [row] = await this.query(`SHOW GLOBAL STATUS LIKE '${name}'`);
      return row && String(row['Value']);
    } catch {
      return undefined;
    }
  }

  get #command() {
    return [...this.#network.on(this.number), 'mariadbd', `--defaults-file=${this.#configuration}`];
  }

  /** mariabackup reads it, too. */
  get #configuration() {
    return join(this.#folder, 'my.cnf');
  }

  get #data() {
    return join(this.#folder, 'data');
  }

  /** A server that starts deletes the temporary tables of others in the same folder. */
  get #temporary() {
    return join(this.#folder, 'tmp');
  }

  get #socket() {
    return join(this.#folder, 'socket');
  }

  /** Where Galera writes down what it has when it stops. */
  get #state() {
    return join(this.#data, 'grastate.dat');
  }

  get #logFile() {
    return join(this.#folder, 'log');
  }
}

const CONNECT_MS = 2000;
/** Galera lets a read see everything that any node has acknowledged before it. */
const SYNC = 'SET SESSION wsrep_sync_wait = 15';

/** @param {import('mysql2/promise').ConnectionOptions} address */
function mysqlQuery(address) {
  return mariadbQuery({ ...address, connectTimeout: CONNECT_MS }, (sql) =>
    sql.startsWith('SELECT') ? SYNC : undefined,
  );
}
