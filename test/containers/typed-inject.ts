import { Container, externallyOwned, lifetimes } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import { applicationOn } from './after.js';
import { createInjector } from 'typed-inject';
import { type Application, AuditTrail, type Config, config, Pool, UserRepository, UserService } from './users.js';

// The lists that typed-inject needs. Ambit reads the same ones.
class InjectedPool extends Pool {
  static readonly inject = ['config', 'log'] as const;
}

class InjectedAuditTrail extends AuditTrail {
  static readonly inject = ['log'] as const;
}

class InjectedUserRepository extends UserRepository {
  static readonly inject = ['pool', 'audit'] as const;
}

class InjectedUserService extends UserService {
  static readonly inject = ['users', 'audit'] as const;
}

const { of, make, value, build } = lifetimes('application', 'request');

/** Not moved yet: the pool and the repository. */
function oldInjector(settings: Config, log: string[]) {
  const root = createInjector();
  return {
    injector: root
      // typed-inject does not dispose values.
      .provideValue('config', settings)
      .provideValue('log', log)
      .provideClass('pool', InjectedPool),
    dispose: () => root.dispose(),
  };
}

/** A child injector for each request, with what its services need of Ambit. */
function oldRequest({ injector }: ReturnType<typeof oldInjector>, audit: AuditTrail) {
  const child = injector.createChildInjector();
  return {
    injector: child.provideValue('audit', audit).provideClass('users', InjectedUserRepository),
    dispose: () => child.dispose(),
  };
}

export async function start(): Promise<Application> {
  const log: string[] = [];

  // Moved: the values, the audit trail and the service, with the lists they have.
  const app = build({
    config: value(config),
    log: value(log),
    old: make('application', oldInjector, ['config', 'log']),
    audit: of('request', InjectedAuditTrail),
    // It depends on the audit trail, so Ambit disposes it before that.
    oldScope: make('request', oldRequest, ['old', 'audit']),
    // typed-inject made it, so typed-inject disposes it.
    users: make('request', ({ injector }: ReturnType<typeof oldRequest>) => injector.resolve('users'), [
      'oldScope',
    ]).pipe(externallyOwned()),
    service: of('request', InjectedUserService),
  });
  const container = new Container({ tags: ['application'] }).addRegistration(...app.registrations);
  verify(container, ...app.scopes);

  // Its `stop()` disposes the container, and with it the injectors of typed-inject.
  return applicationOn(container, log);
}
