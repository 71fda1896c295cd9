import { Container, MetadataInjector, type Services } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import type { Config } from './config/config.js';
import { eventFeature } from './events/publishing.js';
import { build, hosts, infrastructure } from './infrastructure.js';
import { createLogger, type ILogger, LogOutput } from './logging/logger.js';
import { orderFeature } from './orders/orders.js';
import { userFeature } from './users/users.js';

declare module '@ambit/container' {
  interface ServiceMap extends Services<ReturnType<typeof graph>> {}
}

/** The scopes that the hosts open. */
export const SCOPES = build(hosts).scopes;

const graph = (config: Config, log: ILogger) =>
  build(hosts, infrastructure(config, log), userFeature, orderFeature, eventFeature(config));

/**
 * The whole object graph. The compiler reports missing keys, misfits and captive dependencies; verified at start-up, it reports circular
 * dependencies, too.
 */
export function createAppContainer(config: Config, output = new LogOutput()): Container {
  const log = createLogger(config.logLevel, output);
  const { registrations } = graph(config, log);
  const container = new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(...registrations);
  verify(container, ...SCOPES, { noEscape: true });
  return container;
}
