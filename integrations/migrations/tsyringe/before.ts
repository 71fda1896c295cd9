import 'reflect-metadata';
import { container as globalContainer, Lifecycle } from 'tsyringe';
import { type Application, config, type UserService } from '../users.js';
import { DecoratedAuditTrail, DecoratedPool, DecoratedUserRepository, DecoratedUserService } from './decorated.js';

export async function start(): Promise<Application> {
  const log: string[] = [];
  const lifecycle = Lifecycle.ContainerScoped;
  const container = globalContainer
    .createChildContainer()
    .register('config', { useValue: config })
    .register('log', { useValue: log })
    .register('pool', { useClass: DecoratedPool }, { lifecycle: Lifecycle.Singleton })
    .register('audit', { useClass: DecoratedAuditTrail }, { lifecycle })
    .register('users', { useClass: DecoratedUserRepository }, { lifecycle })
    .register('service', { useClass: DecoratedUserService }, { lifecycle });
  // The container that resolves a singleton first disposes it: were that a request's, the pool would be closed with it.
  container.resolve('pool');

  async function inRequest<T>(work: (service: UserService) => Promise<T>): Promise<T> {
    const request = container.createChildContainer();
    try {
      return await work(request.resolve<UserService>('service'));
    } finally {
      await request.dispose();
    }
  }
  return {
    log,
    createUser: (name) => inRequest((service) => service.create(name)),
    listUsers: () => inRequest((service) => service.list()),
    stop: async () => container.dispose(),
  };
}
