import { Container, MetadataInjector, type Services } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import type { Config } from './config/config.js';
import { eventFeature } from './events/feature.js';
import { idempotency } from './idempotency/feature.js';
import { hosts, infrastructure } from './infrastructure.js';
import { build } from './lifetimes.js';
import { inspectedOutput } from './logging/inspected-output.js';
import { LogOutput } from './logging/log-output.js';
import { createLogger, type ILogger } from './logging/logger.js';
import { orders } from './orders/feature.js';
import { replicaFeature } from './replicas/feature.js';
import { users } from './users/feature.js';

declare module '@ambit/container' {
  interface ServiceMap extends Services<ReturnType<typeof graph>> {}
}

/** The scopes that the hosts open. */
export const SCOPES = build(hosts).scopes;

const graph = (config: Config, log: ILogger) =>
  build(hosts, infrastructure(config, log), idempotency, users, orders, eventFeature(config), replicaFeature(config));

/**
 * The whole object graph. The compiler reports missing keys, misfits and captive dependencies; verified at start-up, it reports circular
 * dependencies, too.
 */
export function createAppContainer(config: Config, output = new LogOutput()): Container {
  const log = createLogger(config.logLevel, config.inspector?.lines ? inspectedOutput(output) : output);
  const { registrations } = graph(config, log);
  const container = new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(...registrations);
  verify(container, ...SCOPES);
  return container;
}
