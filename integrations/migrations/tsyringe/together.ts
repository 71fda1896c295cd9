import 'reflect-metadata';
import { Container, externallyOwned, lifetimes } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import { inScope } from '@ambit/container/work';
import { container as globalContainer, type DependencyContainer, Lifecycle } from 'tsyringe';
import { type Application, AuditTrail, config, type UserRepository, UserService } from '../users.js';
import { DecoratedPool, DecoratedUserRepository } from './decorated.js';

const { of, make, value, build } = lifetimes('application', 'request');

export async function start(): Promise<Application> {
  const log: string[] = [];
  const old = globalContainer.createChildContainer();

  // Moved: the values, the audit trail and the service.
  const app = build({
    config: value(config),
    log: value(log),
    audit: of('request', AuditTrail, ['log']),
    // A child container of tsyringe for each request. It depends on what its services need of Ambit, so Ambit disposes it before that.
    oldScope: make(
      'request',
      (audit: AuditTrail) => old.createChildContainer().register('audit', { useValue: audit }),
      ['audit'],
    ),
    // tsyringe made it, so tsyringe disposes it.
    users: make('request', (oldScope: DependencyContainer) => oldScope.resolve<UserRepository>('users'), [
      'oldScope',
    ]).pipe(externallyOwned()),
    service: of('request', UserService, ['users', 'audit']),
  });
  const container = new Container({ tags: ['application'] }).addRegistration(...app.registrations);
  verify(container, ...app.scopes);

  // Not moved yet: the pool and the repository. tsyringe does not dispose what a factory returns.
  old
    .register('config', { useFactory: () => container.resolve('config') })
    .register('log', { useFactory: () => container.resolve('log') })
    .register('pool', { useClass: DecoratedPool }, { lifecycle: Lifecycle.Singleton })
    .register('users', { useClass: DecoratedUserRepository }, { lifecycle: Lifecycle.ContainerScoped });
  old.resolve('pool'); // else the first request would own it

  const inRequest = <T>(work: (service: UserService) => Promise<T>): Promise<T> =>
    inScope(container, { tags: ['request'] }, (request) => work(request.resolve<UserService>('service')));
  return {
    log,
    createUser: (name) => inRequest((service) => service.create(name)),
    listUsers: () => inRequest((service) => service.list()),
    async stop() {
      await container.dispose();
      await old.dispose();
    },
  };
}
