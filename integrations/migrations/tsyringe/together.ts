import 'reflect-metadata';
import { Container, externallyOwned, lifetimes } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import { inScope } from '@ambit/container/work';
import { container as globalContainer, type DependencyContainer, Lifecycle } from 'tsyringe';
import { type Application, AuditTrail, type Config, config, type UserRepository, UserService } from '../users.js';
import { DecoratedPool, DecoratedUserRepository } from './decorated.js';

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

  const inRequest = <T>(work: (service: UserService) => Promise<T>): Promise<T> =>
    inScope(container, { tags: ['request'] }, (request) => work(request.resolve<UserService>('service')));
  return {
    log,
    createUser: (name) => inRequest((service) => service.create(name)),
    listUsers: () => inRequest((service) => service.list()),
    stop: () => container.dispose(), // and with it tsyringe's container
  };
}
