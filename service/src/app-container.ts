import { Container, type IContainer, MetadataInjector, type Services } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import { createIdempotency } from '@ambit/idempotency';
import type { Sandboxes } from '@ambit/transaction/testing';
import type { Config } from './config/config.js';
import { eventFeature } from './events/publishing.js';
import { build, hosts, infrastructure } from './infrastructure.js';
import { createLogger, type ILogger, inspectedOutput, LogOutput } from './logging/logger.js';
import { orderFeature } from './orders/orders.js';
import { replicaFeature } from './replicas/replicas.js';
import { userFeature } from './users/users.js';

declare module '@ambit/container' {
  interface ServiceMap extends Services<ReturnType<typeof graph>> {}
}

/** The scopes that the hosts open. */
export const SCOPES = build(hosts).scopes;

const graph = (config: Config, log: ILogger) =>
  build(hosts, infrastructure(config, log), userFeature, orderFeature, eventFeature(config), replicaFeature(config));

/**
 * The whole object graph. The compiler reports missing keys, misfits and captive dependencies; verified at start-up, it reports circular
 * dependencies, too.
 */
export function createAppContainer(config: Config, output = new LogOutput()): Container {
  const log = createLogger(config.logLevel, config.inspector?.lines ? inspectedOutput(output) : output);
  const { registrations } = graph(config, log);
  const container = new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(...registrations);
  verify(container, ...SCOPES, { noEscape: true });
  return container;
}

/** For a service that is started for tests. Everything else that a request changes is in the database. */
export async function sandboxesOf({ sandbox }: Config, container: IContainer): Promise<Sandboxes | undefined> {
  if (!sandbox) return undefined;
  const testing = await import('@ambit/transaction/testing');
  return new testing.Sandboxes(container, { register: giveOwnKeys });
}

function giveOwnKeys(scope: IContainer): void {
  const keys = createIdempotency(scope.resolve('IDatabasePool'), {
    dialect: scope.resolve('ISqlDialect').name,
  });
  scope.register('IIdempotency', () => keys);
}
