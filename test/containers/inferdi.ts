import { Container, externallyOwned, lifetimes } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import { applicationOn } from './after.js';
import { Container as InferdiContainer } from '@inferdi/inferdi';
import { type Application, AuditTrail, type Config, config, Pool, UserRepository, UserService } from './users.js';

const { of, make, value, build } = lifetimes('application', 'request');

/** Not moved yet: the pool and the repository. */
const oldContainer = (settings: Config, log: string[]) =>
  new InferdiContainer()
    // InferDI does not dispose values.
    .registerValue('config', settings)
    .registerValue('log', log)
    .registerClass('pool', Pool, ['config', 'log']);

/** A scope of InferDI for each request, with what its services need of Ambit. */
const oldRequest = (old: ReturnType<typeof oldContainer>, audit: AuditTrail) =>
  old.createScope().registerValue('audit', audit).registerClass('users', UserRepository, ['pool', 'audit'], 'scoped');

export async function start(): Promise<Application> {
  const log: string[] = [];

  // Moved: the values, the audit trail and the service.
  const app = build({
    config: value(config),
    log: value(log),
    old: make('application', oldContainer, ['config', 'log']),
    audit: of('request', AuditTrail, ['log']),
    // It depends on the audit trail, so Ambit disposes it before that.
    oldScope: make('request', oldRequest, ['old', 'audit']),
    // InferDI made it, so InferDI disposes it.
    users: make('request', (oldScope: ReturnType<typeof oldRequest>) => oldScope.get('users'), ['oldScope']).pipe(
      externallyOwned(),
    ),
    service: of('request', UserService, ['users', 'audit']),
  });
  const container = new Container({ tags: ['application'] }).addRegistration(...app.registrations);
  verify(container, ...app.scopes);

  // Its `stop()` disposes the container, and with it InferDI's container.
  return applicationOn(container, log);
}
