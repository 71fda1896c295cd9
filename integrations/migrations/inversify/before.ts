import { Container, ContainerModule } from 'inversify';
import { type Application, config, type UserService } from '../users.js';
import { DecoratedAuditTrail, DecoratedPool, DecoratedUserRepository, DecoratedUserService } from './decorated.js';

/** What each request has of its own; `inRequestScope()` would be one for each `get`. */
const perRequest = new ContainerModule(({ bind }) => {
  bind('audit').to(DecoratedAuditTrail).inSingletonScope();
  bind('users').to(DecoratedUserRepository).inSingletonScope();
  bind('service').to(DecoratedUserService).inSingletonScope();
});

export async function start(): Promise<Application> {
  const log: string[] = [];
  const container = new Container();
  container.bind('config').toConstantValue(config);
  container.bind('log').toConstantValue(log);
  container.bind('pool').to(DecoratedPool).inSingletonScope();

  async function inRequest<T>(work: (service: UserService) => Promise<T>): Promise<T> {
    const request = new Container({ parent: container });
    request.load(perRequest);
    try {
      return await work(request.get<UserService>('service'));
    } finally {
      await request.unbindAllAsync();
    }
  }
  return {
    log,
    createUser: (name) => inRequest((service) => service.create(name)),
    listUsers: () => inRequest((service) => service.list()),
    stop: () => container.unbindAllAsync(),
  };
}
