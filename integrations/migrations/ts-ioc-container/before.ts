import 'reflect-metadata';
import { Container, Registration as R } from 'ts-ioc-container';
import { type Application, config, type UserService } from '../users.js';
import {
  DecoratedAuditTrail,
  DecoratedPool,
  DecoratedUserRepository,
  DecoratedUserService,
  disposeScope,
} from './decorated.js';

export async function start(): Promise<Application> {
  const log: string[] = [];
  const container = new Container({ tags: ['application'] })
    .addRegistration(R.fromValue(config).bindTo('config'))
    .addRegistration(R.fromValue(log).bindTo('log'))
    .addRegistration(R.fromClass(DecoratedPool))
    .addRegistration(R.fromClass(DecoratedAuditTrail))
    .addRegistration(R.fromClass(DecoratedUserRepository))
    .addRegistration(R.fromClass(DecoratedUserService));

  async function inRequest<T>(work: (service: UserService) => Promise<T>): Promise<T> {
    const request = container.createScope({ tags: ['request'] });
    try {
      return await work(request.resolve<UserService>('service'));
    } finally {
      await disposeScope(request);
    }
  }
  return {
    log,
    createUser: (name) => inRequest((service) => service.create(name)),
    listUsers: () => inRequest((service) => service.list()),
    stop: () => disposeScope(container),
  };
}
