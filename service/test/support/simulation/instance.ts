import { subscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { type Container, onDispose, Registration, singleton } from '@ambit/container';
import { override } from '@ambit/container/tools';
import type { DatabasePool } from '@ambit/transaction';
import { poolOver } from '@ambit/transaction/extension';
import {
  type Config,
  createAppContainer,
  createHost,
  createLogger,
  type Host,
  readConfig,
} from '../../../src/index.js';
import { type DatabaseLine, SimulatedDriver } from './wire.js';

/** An error that the service writes into its log. */
interface LogLine {
  readonly msg: string;
  readonly err?: { readonly message: string; readonly code?: string };
}

/** Scopes that are open, of all instances. */
export const scopes = { open: 0 };

subscribe('ambit:scope:opened', (message) => {
  const { scope } = message as { scope: Container };
  if (!scope.hasTag('request') && !scope.hasTag('transaction')) return;
  scopes.open += 1;
  scope.defer(() => void (scopes.open -= 1));
});

/**
 * The service as in production, but that its server listens to no port, its pool leads to a simulated database, and its log is kept.
 * It serves one run after another, like a process that stays up; a run that stops it has one of its own.
 */
export class Instance {
  readonly name: string;
  readonly server: Server;
  readonly container: Container;
  readonly pool: DatabasePool;
  readonly errors: LogLine[] = [];
  readonly #config: Config;
  readonly #host: Host;
  readonly #driver: SimulatedDriver;

  private constructor(name: string, parts: InstanceParts) {
    this.name = name;
    this.server = parts.server;
    this.container = parts.container;
    this.pool = parts.pool;
    this.errors = parts.errors;
    this.#config = parts.config;
    this.#host = parts.host;
    this.#driver = parts.driver;
  }

  static async start(name: string, variant: Config['hostVariant'], poolSize: number): Promise<Instance> {
    const env = { HOST_VARIANT: variant, DATABASE_URL: 'postgres://simulated/shop', LOG_LEVEL: 'error' };
    const config = readConfig(env);
    const { acquireTimeoutMs } = config.database;
    const errors: LogLine[] = [];
    const logger = createLogger(config.logLevel, { write: (line) => void errors.push(JSON.parse(line) as LogLine) });
    const driver = new SimulatedDriver(name, poolSize);
    const pool = poolOver(driver, { acquireTimeoutMs, closeTimeoutMs: 1000 });
    const container = createAppContainer(config);
    override(
      container,
      Registration.fromValue(logger).to('ILogger'),
      Registration.fromFactory(() => pool)
        .pipe(
          singleton(),
          onDispose((given) => given.close()),
        )
        .to('IDatabasePool'),
    );
    const transaction = { timeoutMs: config.transactionTimeoutMs };
    const host = await createHost(variant, container, {
      logger,
      transaction,
      keepIdleMs: config.keepIdleMs,
      onFailure: (error) => container.resolve('IHealth').requestFailed(error),
    });
    const server = await listen(host);
    container.resolve('IHealth').started();
    return new Instance(name, { server, container, pool, errors, config, host, driver });
  }

  /** From now on its database is that of another run. */
  leadTo(line: DatabaseLine): void {
    this.#driver.leadTo(line);
    this.errors.length = 0;
  }

  /** As at SIGTERM. */
  async stop(): Promise<void> {
    const { shutdownTimeoutMs } = this.#config;
    this.container.resolve('IHealth').draining();
    const closing = setTimeout(() => void this.pool.close(), shutdownTimeoutMs);
    await this.#host.close(shutdownTimeoutMs).finally(() => clearTimeout(closing));
  }
}

interface InstanceParts {
  readonly server: Server;
  readonly container: Container;
  readonly pool: DatabasePool;
  readonly errors: LogLine[];
  readonly config: Config;
  readonly host: Host;
  readonly driver: SimulatedDriver;
}

/** Lets the host listen, but on no port. */
async function listen(host: Host): Promise<Server> {
  const { listen: real } = NetServer.prototype;
  let server: Server | undefined;
  NetServer.prototype.listen = function (this: NetServer, ...args: unknown[]) {
    server = this as Server;
    const onListening = args.at(-1);
    if (typeof onListening === 'function') this.once('listening', onListening as () => void);
    this.address = () => ({ address: '127.0.0.1', family: 'IPv4', port: 80 });
    process.nextTick(() => this.emit('listening'));
    return this;
  };
  try {
    await host.listen(80, '127.0.0.1');
  } finally {
    NetServer.prototype.listen = real;
  }
  if (!server) throw new Error('the host has not listened');
  return server;
}
