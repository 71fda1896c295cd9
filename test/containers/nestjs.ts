import 'reflect-metadata';
import { Container, lifetimes } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import { inScope } from '@ambit/container/work';
import { type DynamicModule, Inject, Injectable, Module, type OnModuleDestroy, Scope } from '@nestjs/common';
import { ContextIdFactory, NestFactory, REQUEST } from '@nestjs/core';
import { type Application, AuditTrail, type Config, config, Pool, UserRepository, UserService } from './users.js';

@Injectable()
class DecoratedPool extends Pool implements OnModuleDestroy {
  constructor(@Inject('config') settings: Config, @Inject('log') log: string[]) {
    super(settings, log);
  }

  onModuleDestroy(): Promise<void> {
    return this.dispose();
  }
}

@Injectable({ scope: Scope.REQUEST })
class DecoratedUserRepository extends UserRepository {
  constructor(@Inject('pool') pool: Pool, @Inject('audit') audit: AuditTrail) {
    super(pool, audit);
  }
}

/** Not moved yet: the pool and the repository. */
@Module({})
class UsersModule {
  static with(ambit: Container): DynamicModule {
    return {
      module: UsersModule,
      providers: [
        { provide: 'config', useFactory: () => ambit.resolve('config') },
        { provide: 'log', useFactory: () => ambit.resolve('log') },
        // What the providers of a request need of Ambit comes from its request scope.
        {
          provide: 'audit',
          scope: Scope.REQUEST,
          inject: [REQUEST],
          useFactory: (request: Container) => request.resolve('audit'),
        },
        { provide: 'pool', useClass: DecoratedPool },
        { provide: 'users', useClass: DecoratedUserRepository },
      ],
    };
  }
}

const { of, value, registered, build } = lifetimes('application', 'request');

export async function start(): Promise<Application> {
  const log: string[] = [];

  // Moved: the values, the audit trail and the service.
  const graph = build({
    config: value(config),
    log: value(log),
    audit: of('request', AuditTrail, ['log']),
    users: registered('request').as<UserRepository>(),
    service: of('request', UserService, ['users', 'audit']),
  });
  const container = new Container({ tags: ['application'] }).addRegistration(...graph.registrations);
  verify(container, ...graph.scopes);
  const nest = await NestFactory.createApplicationContext(UsersModule.with(container), { logger: false });

  /** NestJS resolves request-scoped providers asynchronously, so they are resolved before the work starts. */
  async function register(request: Container): Promise<void> {
    const contextId = ContextIdFactory.create();
    nest.registerRequestByContextId(request, contextId);
    const users = await nest.resolve<UserRepository>('users', contextId);
    // NestJS does not dispose it. The scope does, before the audit trail, which was made earlier.
    request.register('users', () => users).defer(() => users.dispose());
  }
  const inRequest = <T>(work: (service: UserService) => Promise<T>): Promise<T> =>
    inScope(container, { tags: ['request'], register }, (request) => work(request.resolve<UserService>('service')));
  return {
    log,
    createUser: (name) => inRequest((service) => service.create(name)),
    listUsers: () => inRequest((service) => service.list()),
    async stop() {
      await container.dispose();
      await nest.close();
    },
  };
}
