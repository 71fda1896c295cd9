import { Container, externallyOwned, lifetimes, onDispose } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import { inScope } from '@ambit/container/work';
import { Container as InversifyContainer } from 'inversify';
import { type Application, AuditTrail, config, type UserRepository, UserService } from '../users.js';
import { DecoratedPool, DecoratedUserRepository } from './decorated.js';

const { of, make, value, build } = lifetimes('application', 'request');

export async function start(): Promise<Application> {
  const log: string[] = [];
  const old = new InversifyContainer();

  // Moved: the values, the audit trail and the service.
  const app = build({
    config: value(config),
    log: value(log),
    audit: of('request', AuditTrail, ['log']),
    // A child container of inversify for each request. It depends on what its services need of Ambit, so Ambit disposes it before that.
    oldScope: make(
      'request',
      (audit: AuditTrail) => {
        const oldScope = new InversifyContainer({ parent: old });
        oldScope.bind('audit').toConstantValue(audit);
        oldScope.bind('users').to(DecoratedUserRepository).inSingletonScope();
        return oldScope;
      },
      ['audit'],
    ).pipe(onDispose((oldScope) => oldScope.unbindAllAsync())),
    // inversify made it, so inversify deactivates it.
    users: make('request', (oldScope: InversifyContainer) => oldScope.get<UserRepository>('users'), ['oldScope']).pipe(
      externallyOwned(),
    ),
    service: of('request', UserService, ['users', 'audit']),
  });
  const container = new Container({ tags: ['application'] }).addRegistration(...app.registrations);
  verify(container, ...app.scopes);

  // Not moved yet: the pool, and the repository above.
  old.bind('config').toDynamicValue(() => container.resolve('config'));
  old.bind('log').toDynamicValue(() => container.resolve('log'));
  old.bind('pool').to(DecoratedPool).inSingletonScope();

  const inRequest = <T>(work: (service: UserService) => Promise<T>): Promise<T> =>
    inScope(container, { tags: ['request'] }, (request) => work(request.resolve<UserService>('service')));
  return {
    log,
    createUser: (name) => inRequest((service) => service.create(name)),
    listUsers: () => inRequest((service) => service.list()),
    async stop() {
      await container.dispose();
      await old.unbindAllAsync();
    },
  };
}
