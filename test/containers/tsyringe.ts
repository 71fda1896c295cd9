import 'reflect-metadata';
import { Container, externallyOwned, lifetimes } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import { applicationOn } from './after.js';
import { container as globalContainer, type DependencyContainer, inject, injectable, Lifecycle } from 'tsyringe';
import { type Application, AuditTrail, type Config, config, Pool, UserRepository, UserService } from './users.js';

@injectable()
class DecoratedPool extends Pool {
  constructor(@inject('config') settings: Config, @inject('log') log: string[]) {
    super(settings, log);
  }
}

@injectable()
class DecoratedUserRepository extends UserRepository {
  constructor(@inject('pool') pool: Pool, @inject('audit') audit: AuditTrail) {
    super(pool, audit);
  }
}

const { of, make, value, build } = lifetimes('application', 'request');

/** Not moved yet: the pool and the repository. */
function oldContainer(settings: Config, log: string[]): DependencyContainer {
  const old = globalContainer
    .createChildContainer()
    // tsyringe does not dispose values.
    .register('config', { useValue: settings })
    .register('log', { useValue: log })
    .register('pool', { useClass: DecoratedPool }, { lifecycle: Lifecycle.Singleton })
    .register('users', { useClass: DecoratedUserRepository }, { lifecycle: Lifecycle.ContainerScoped });
  old.resolve('pool'); // else the child container that resolves it first would dispose it
  return old;
}

/** A child container of tsyringe for each request, with what its services need of Ambit. */
const oldRequest = (old: DependencyContainer, audit: AuditTrail) =>
  old.createChildContainer().register('audit', { useValue: audit });

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
    // tsyringe made it, so tsyringe disposes it.
    users: make('request', (oldScope: DependencyContainer) => oldScope.resolve<UserRepository>('users'), [
      'oldScope',
    ]).pipe(externallyOwned()),
    service: of('request', UserService, ['users', 'audit']),
  });
  const container = new Container({ tags: ['application'] }).addRegistration(...app.registrations);
  verify(container, ...app.scopes);

  // Its `stop()` disposes the container, and with it tsyringe's container.
  return applicationOn(container, log);
}
