// The application on Ambit alone: the same, whichever container it came from.
import { Container, lifetimes } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import { inScope } from '@ambit/container/work';
import { type Application, AuditTrail, config, Pool, UserRepository, UserService } from './users.js';

const { of, value, build } = lifetimes('application', 'request');

export async function start(): Promise<Application> {
  const log: string[] = [];
  const app = build({
    config: value(config),
    log: value(log),
    pool: of('application', Pool, ['config', 'log']),
    audit: of('request', AuditTrail, ['log']),
    users: of('request', UserRepository, ['pool', 'audit']),
    service: of('request', UserService, ['users', 'audit']),
  });
  const container = new Container({ tags: ['application'] }).addRegistration(...app.registrations);
  verify(container, ...app.scopes);

  return applicationOn(container, log);
}

/** The application that every program of this folder starts: each call is a request. */
export function applicationOn(container: Container, log: readonly string[]): Application {
  const inRequest = <T>(work: (service: UserService) => Promise<T>): Promise<T> =>
    inScope(container, { tags: ['request'] }, (request) => work(request.resolve<UserService>('service')));
  return {
    log,
    createUser: (name) => inRequest((service) => service.create(name)),
    listUsers: () => inRequest((service) => service.list()),
    stop: () => container.dispose(),
  };
}
