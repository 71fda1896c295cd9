import { Container, externallyOwned, lifetimes } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import { inScope } from '@ambit/container/work';
import { asClass, asFunction, asValue, createContainer, InjectionMode } from 'awilix';
import { type Application, AuditTrail, type Config, config, Pool, UserRepository, UserService } from '../users.js';

/** What awilix still makes, and what of Ambit it may inject. */
interface OldServices {
  config: Config;
  log: string[];
  audit: AuditTrail;
  pool: Pool;
  users: UserRepository;
}

const { of, make, value, build } = lifetimes('application', 'request');

export async function start(): Promise<Application> {
  const log: string[] = [];
  const old = createContainer<OldServices>({ injectionMode: InjectionMode.CLASSIC, strict: true });

  // Moved: the values, the audit trail and the service.
  const app = build({
    config: value(config),
    log: value(log),
    audit: of('request', AuditTrail, ['log']),
    // A scope of awilix for each request. It depends on what its services need of Ambit, so Ambit disposes it before that.
    oldScope: make('request', (audit: AuditTrail) => old.createScope<OldServices>().register('audit', asValue(audit)), [
      'audit',
    ]),
    // awilix made it, so awilix disposes it.
    users: make('request', (oldScope: typeof old) => oldScope.resolve('users'), ['oldScope']).pipe(externallyOwned()),
    service: of('request', UserService, ['users', 'audit']),
  });
  const container = new Container({ tags: ['application'] }).addRegistration(...app.registrations);
  verify(container, ...app.scopes);

  // Not moved yet: the pool and the repository.
  old.register({
    config: asFunction(() => container.resolve<Config>('config')).singleton(),
    log: asFunction(() => container.resolve<string[]>('log')).singleton(),
    pool: asClass(Pool)
      .singleton()
      .disposer((pool) => pool.dispose()),
    users: asClass(UserRepository)
      .scoped()
      .disposer((users) => users.dispose()),
  });

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
