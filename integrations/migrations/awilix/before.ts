import { asClass, asValue, createContainer, InjectionMode } from 'awilix';
import { type Application, AuditTrail, config, Pool, UserRepository, UserService } from '../users.js';

interface Services {
  config: typeof config;
  log: string[];
  pool: Pool;
  audit: AuditTrail;
  users: UserRepository;
  service: UserService;
}

export async function start(): Promise<Application> {
  const log: string[] = [];
  const container = createContainer<Services>({ injectionMode: InjectionMode.CLASSIC, strict: true }).register({
    config: asValue(config),
    log: asValue(log),
    pool: asClass(Pool)
      .singleton()
      .disposer((pool) => pool.dispose()),
    audit: asClass(AuditTrail)
      .scoped()
      .disposer((audit) => audit.dispose()),
    users: asClass(UserRepository)
      .scoped()
      .disposer((users) => users.dispose()),
    service: asClass(UserService).scoped(),
  });

  async function inRequest<T>(work: (service: UserService) => Promise<T>): Promise<T> {
    const request = container.createScope();
    try {
      return await work(request.resolve('service'));
    } finally {
      await request.dispose();
    }
  }
  return {
    log,
    createUser: (name) => inRequest((service) => service.create(name)),
    listUsers: () => inRequest((service) => service.list()),
    stop: () => container.dispose(),
  };
}
