import type { Container, IContainer } from '@ambit/container';
import type { InspectorOptions } from '@ambit/inspector';
import type { IDatabasePool } from '@ambit/transaction';
import { createAppContainer, SCOPES } from './app-container.js';
import type { Config } from './config/config.js';
import type { Host, HostOptions } from './hosts/host.js';
import type { Telemetry } from './telemetry/telemetry.js';
import { letWaitingClientsIn } from './http/waiting-clients.js';

/** A service that runs. */
export interface Service {
  readonly url: string;
  readonly container: Container;
  /** Answers what was accepted, for as long as the configuration allows, and lets go of everything. */
  stop(): Promise<void>;
}

export interface StartOptions extends Omit<HostOptions, 'logger'> {
  /** Called when all is ready, before the first client is let in. */
  readonly onReady?: () => void;
}

/** Loads the chosen framework only. */
export async function createHost(
  variant: Config['hostVariant'],
  container: IContainer,
  options: HostOptions,
): Promise<Host> {
  if (variant === 'express') {
    const { createExpressHost } = await import('./hosts/express/app.js');
    return createExpressHost(container, options);
  }
  const { createFastifyHost } = await import('./hosts/fastify/app.js');
  return createFastifyHost(container, options);
}

function inspectorOf({ inspector }: Config, container: Container): InspectorOptions | undefined {
  if (!inspector) return undefined;
  const { token } = inspector;
  return { container, scopes: SCOPES, enabled: true, ...(token === undefined ? {} : { token }) };
}

/** Loads OpenTelemetry only where it was asked for. */
async function telemetryOf(config: Config, container: Container): Promise<Telemetry | undefined> {
  if (!config.metrics && !config.traces) return undefined;
  const { startTelemetry } = await import('./telemetry/telemetry.js');
  const telemetry = startTelemetry(container.resolve('IDatabasePool'), config);
  container.defer(() => telemetry.stop());
  return telemetry;
}

/** Readies the database and what else must run before the first request, then listens. */
export async function startService(config: Config, { onReady, ...options }: StartOptions = {}): Promise<Service> {
  const container = createAppContainer(config);
  const logger = container.resolve('ILogger');
  let undo = (): Promise<void> => container.dispose();
  try {
    const health = container.resolve('IHealth');
    const pool = container.resolve('IDatabasePool');
    const telemetry = await telemetryOf(config, container);
    const inspect = inspectorOf(config, container);
    const host = await createHost(config.hostVariant, container, { ...options, logger, telemetry, inspect });
    undo = () => host.close(0);
    await container.start();
    onReady?.();
    const url = await host.listen(config.port, config.host);
    health.started();
    logger.info({ msg: 'listening', url, host: config.hostVariant, database: config.database.kind });
    return {
      url,
      container,
      stop: async () => {
        health.draining();
        const deadline = Date.now() + config.shutdownTimeoutMs;
        await letWaitingClientsIn(url);
        await close(host, pool, Math.max(0, deadline - Date.now()));
      },
    };
  } catch (error) {
    await undo().catch((err: unknown) => logger.error({ msg: 'What was begun did not end well', err }));
    throw error;
  }
}

/** Of those who are cut off some may wait for a database that hangs, so the pool is closed at once with them. */
async function close(host: Host, pool: IDatabasePool, timeoutMs: number): Promise<void> {
  const closed = host.close(timeoutMs);
  // The container closes it, too, and tells what went wrong.
  const closing = setTimeout(() => void pool.close().catch(() => undefined), timeoutMs);
  await closed.finally(() => clearTimeout(closing));
}
