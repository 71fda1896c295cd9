import { Container, externallyOwned, lifetimes, onDispose } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import { inScope } from '@ambit/container/work';
import { Container as InversifyContainer } from 'inversify';
import { type Application, AuditTrail, type Config, config, type UserRepository, UserService } from '../users.js';
import { DecoratedPool, DecoratedUserRepository } from './decorated.js';

const { of, make, value, build } = lifetimes('application', 'request');

/** Not moved yet: the pool and the repository. */
function oldContainer(settings: Config, log: string[]): InversifyContainer {
  const old = new InversifyContainer();
  // Without `onDeactivation`, inversify does not clean up values.
  old.bind('config').toConstantValue(settings);
  old.bind('log').toConstantValue(log);
  old.bind('pool').to(DecoratedPool).inSingletonScope();
  return old;
}

/** A child container of inversify for each request, with what its services need of Ambit. */
function oldRequest(parent: InversifyContainer, audit: AuditTrail): InversifyContainer {
  const child = new InversifyContainer({ parent });
  child.bind('audit').toConstantValue(audit);
  child.bind('users').to(DecoratedUserRepository).inSingletonScope();
  return child;
}

const unbind = (old: InversifyContainer) => old.unbindAllAsync();

export async function start(): Promise<Application> {
  const log: string[] = [];

  // Moved: the values, the audit trail and the service.
  const app = build({
    config: value(config),
    log: value(log),
    old: make('application', oldContainer, ['config', 'log']).pipe(onDispose(unbind)),
    audit: of('request', AuditTrail, ['log']),
    // It depends on the audit trail, so Ambit disposes it before that.
    oldScope: make('request', oldRequest, ['old', 'audit']).pipe(onDispose(unbind)),
    // inversify made it, so inversify deactivates it.
    users: make('request', (oldScope: InversifyContainer) => oldScope.get<UserRepository>('users'), ['oldScope']).pipe(
      externallyOwned(),
    ),
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
    stop: () => container.dispose(), // and with it inversify's bindings
  };
}
