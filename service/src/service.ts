import type { Container, IContainer } from '@ambit/container';
import type { InspectorOptions } from '@ambit/inspector';
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
  const health = container.resolve('IHealth');
  const telemetry = await telemetryOf(config, container);
  const inspect = inspectorOf(config, container);
  const host = await createHost(config.hostVariant, container, { ...options, logger, telemetry, inspect });
  try {
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
        await letWaitingClientsIn(url);
        await host.close(config.shutdownTimeoutMs);
      },
    };
  } catch (error) {
    await host.close(0);
    throw error;
  }
}
