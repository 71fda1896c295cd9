import { createInjector } from 'typed-inject';
import { type Application, config, type UserService } from '../users.js';
import { InjectedAuditTrail, InjectedPool, InjectedUserRepository, InjectedUserService } from './injected.js';

export async function start(): Promise<Application> {
  const log: string[] = [];
  const root = createInjector();
  const injector = root.provideValue('config', config).provideValue('log', log).provideClass('pool', InjectedPool);

  async function inRequest<T>(work: (service: UserService) => Promise<T>): Promise<T> {
    const request = injector.createChildInjector();
    try {
      return await work(
        request
          .provideClass('audit', InjectedAuditTrail)
          .provideClass('users', InjectedUserRepository)
          .provideClass('service', InjectedUserService)
          .resolve('service'),
      );
    } finally {
      await request.dispose();
    }
  }
  return {
    log,
    createUser: (name) => inRequest((service) => service.create(name)),
    listUsers: () => inRequest((service) => service.list()),
    stop: () => root.dispose(),
  };
}
