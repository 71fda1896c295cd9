import 'reflect-metadata';
import { type DynamicModule, Module } from '@nestjs/common';
import { ContextIdFactory, NestFactory } from '@nestjs/core';
import { type Application, type AuditTrail, config, type UserRepository, type UserService } from '../users.js';
import { DecoratedAuditTrail, DecoratedPool, DecoratedUserRepository, DecoratedUserService } from './decorated.js';

@Module({})
class UsersModule {
  static with(log: string[]): DynamicModule {
    return {
      module: UsersModule,
      providers: [
        { provide: 'config', useValue: config },
        { provide: 'log', useValue: log },
        { provide: 'pool', useClass: DecoratedPool },
        { provide: 'audit', useClass: DecoratedAuditTrail },
        { provide: 'users', useClass: DecoratedUserRepository },
        { provide: 'service', useClass: DecoratedUserService },
      ],
    };
  }
}

export async function start(): Promise<Application> {
  const log: string[] = [];
  const app = await NestFactory.createApplicationContext(UsersModule.with(log), { logger: false });

  async function inRequest<T>(work: (service: UserService) => Promise<T>): Promise<T> {
    const request = ContextIdFactory.create();
    const service = await app.resolve<UserService>('service', request);
    try {
      return await work(service);
    } finally {
      // NestJS calls no hook of request-scoped providers, so the application keeps a list of what it has to clean up.
      const users = await app.resolve<UserRepository>('users', request);
      users.dispose();
      const audit = await app.resolve<AuditTrail>('audit', request);
      await audit.dispose();
    }
  }
  return {
    log,
    createUser: (name) => inRequest((service) => service.create(name)),
    listUsers: () => inRequest((service) => service.list()),
    stop: () => app.close(),
  };
}
