import type { Container, IContainer } from '@ambit/container';
import type { IDatabasePool } from '@ambit/transaction';
import { createAppContainer, SCOPES } from './app-container.js';
import type { Config } from './config/config.js';
import { placeOf } from './config/database.js';
import type { Host, HostOptions } from './hosts/host.js';
import { LogOutput } from './logging/logger.js';
import type { Telemetry } from './telemetry/telemetry.js';

/** A running service. */
export interface Service {
  readonly url: string;
  readonly container: Container;
  /** Completes the requests in progress, for `shutdownTimeoutMs` at most, then disposes the container. */
  stop(): Promise<void>;
}

export interface StartOptions extends Omit<HostOptions, 'logger'> {
  /** Where the log is written; stdout by default. */
  readonly output?: LogOutput;
  /** Called when everything is ready, before the first client is accepted. */
  readonly onReady?: () => void;
}

/** Loads only the framework that is used. */
export async function createHost(
  variant: Config['hostVariant'],
  container: IContainer,
  options: HostOptions,
): Promise<Host> {
  const host = await (variant === 'express' ? import('./hosts/express.js') : import('./hosts/fastify.js'));
  return host.createHost(container, options);
}

/** Loads OpenTelemetry only where it is configured. */
async function telemetryOf(config: Config, container: Container, output: LogOutput): Promise<Telemetry | undefined> {
  if (!config.metrics && !config.traces) return undefined;
  const { startTelemetry } = await import('./telemetry/telemetry.js');
  const telemetry = startTelemetry(container.resolve('IDatabasePool'), config, output);
  container.defer(() => telemetry.stop());
  return telemetry;
}

/** Prepares the database, starts everything that must run before the first request, then listens. */
export async function startService(
  config: Config,
  { onReady, output = new LogOutput(), ...options }: StartOptions = {},
): Promise<Service> {
  const container = createAppContainer(config, output);
  const logger = container.resolve('ILogger');
  let cleanUp = (): Promise<void> => container.dispose();
  try {
    const health = container.resolve('IHealth');
    const pool = container.resolve('IDatabasePool');
    const telemetry = await telemetryOf(config, container, output);
    const inspect = config.inspector && { container, scopes: SCOPES, enabled: true, ...config.inspector };
    const host = await createHost(config.hostVariant, container, {
      onFailure: (error) => health.requestFailed(error),
      transaction: { timeoutMs: config.transactionTimeoutMs },
      keepIdleMs: config.keepIdleMs,
      maxConnections: config.maxConnections,
      ...options,
      logger,
      telemetry,
      inspect,
    });
    cleanUp = () => host.close(0);
    await container.start();
    onReady?.();
    const url = await host.listen(config.port, config.host);
    health.started();
    const page = inspect ? { inspector: `${url}/inspector` } : {};
    const storage = { database: config.database.kind, place: placeOf(config.database) };
    logger.info({ msg: 'listening', url, host: config.hostVariant, ...storage, ...page });
    return {
      url,
      container,
      stop: async () => {
        health.draining();
        await close(host, pool, config.shutdownTimeoutMs);
      },
    };
  } catch (error) {
    await cleanUp().catch((err: unknown) =>
      logger.error({ msg: 'The service failed to shut down after a failed start', err }),
    );
    throw error;
  }
}

/** A request that exceeds the time limit may wait for a database that hangs, so the pool is closed at the same time. */
async function close(host: Host, pool: IDatabasePool, timeoutMs: number): Promise<void> {
  const closed = host.close(timeoutMs);
  // The container also closes the pool, and reports its errors.
  const closing = setTimeout(() => void pool.close().catch(() => undefined), timeoutMs);
  await closed.finally(() => clearTimeout(closing));
}
