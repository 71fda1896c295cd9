import { Container, externallyOwned, lifetimes } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import { applicationOn } from './after.js';
import { asClass, asValue, type AwilixContainer, createContainer, InjectionMode } from 'awilix';
import { type Application, AuditTrail, type Config, config, Pool, UserRepository, UserService } from './users.js';

const { of, make, value, build } = lifetimes('application', 'request');

/** What awilix still makes, and what of Ambit it injects. */
interface OldServices {
  config: Config;
  log: string[];
  audit: AuditTrail;
  pool: Pool;
  users: UserRepository;
}

/** Not moved yet: the pool and the repository. */
const oldContainer = (settings: Config, log: string[]) =>
  createContainer<OldServices>({ injectionMode: InjectionMode.CLASSIC, strict: true }).register({
    // awilix does not dispose values.
    config: asValue(settings),
    log: asValue(log),
    pool: asClass(Pool)
      .singleton()
      .disposer((pool) => pool.dispose()),
    users: asClass(UserRepository)
      .scoped()
      .disposer((users) => users.dispose()),
  });

/** A scope of awilix for each request, with what its services need of Ambit. */
const oldRequest = (old: AwilixContainer<OldServices>, audit: AuditTrail) =>
  old.createScope().register('audit', asValue(audit));

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
    // awilix made it, so awilix disposes it.
    users: make('request', (oldScope: AwilixContainer<OldServices>) => oldScope.resolve('users'), ['oldScope']).pipe(
      externallyOwned(),
    ),
    service: of('request', UserService, ['users', 'audit']),
  });
  const container = new Container({ tags: ['application'] }).addRegistration(...app.registrations);
  verify(container, ...app.scopes);

  // Its `stop()` disposes the container, and with it awilix's container.
  return applicationOn(container, log);
}
