import 'reflect-metadata';
import { Container, externallyOwned, lifetimes, onDispose } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import { inScope } from '@ambit/container/work';
import { Container as OldContainer, type IContainer, Registration as R } from 'ts-ioc-container';
import { type Application, AuditTrail, type Config, config, type UserRepository, UserService } from '../users.js';
import { DecoratedPool, DecoratedUserRepository, disposeScope } from './decorated.js';

const { of, make, value, build } = lifetimes('application', 'request');

/** Not moved yet: the pool and the repository. */
const oldContainer = (settings: Config, log: string[]): IContainer =>
  new OldContainer({ tags: ['application'] })
    .addRegistration(R.fromValue(settings).bindTo('config'))
    .addRegistration(R.fromValue(log).bindTo('log'))
    .addRegistration(R.fromClass(DecoratedPool))
    .addRegistration(R.fromClass(DecoratedUserRepository));

/** A scope of ts-ioc-container for each request, with what its services need of Ambit. It has no hooks for values. */
const oldRequest = (old: IContainer, audit: AuditTrail): IContainer =>
  old.createScope({ tags: ['request'] }).addRegistration(R.fromValue(audit).bindTo('audit'));

export async function start(): Promise<Application> {
  const log: string[] = [];

  // Moved: the values, the audit trail and the service.
  const app = build({
    config: value(config),
    log: value(log),
    old: make('application', oldContainer, ['config', 'log']).pipe(onDispose(disposeScope)),
    audit: of('request', AuditTrail, ['log']),
    // It depends on the audit trail, so Ambit disposes it before that.
    oldScope: make('request', oldRequest, ['old', 'audit']).pipe(onDispose(disposeScope)),
    // ts-ioc-container made it, so its hooks dispose it.
    users: make('request', (oldScope: IContainer) => oldScope.resolve<UserRepository>('users'), ['oldScope']).pipe(
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
    stop: () => container.dispose(), // and with it the container of ts-ioc-container
  };
}
