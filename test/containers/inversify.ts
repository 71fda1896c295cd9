import 'reflect-metadata';
import { Container, externallyOwned, lifetimes, onDispose } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import { applicationOn } from './after.js';
import { Container as InversifyContainer, inject, injectable, preDestroy } from 'inversify';
import { type Application, AuditTrail, type Config, config, Pool, UserRepository, UserService } from './users.js';

@injectable()
class DecoratedPool extends Pool {
  constructor(@inject('config') settings: Config, @inject('log') log: string[]) {
    super(settings, log);
  }

  @preDestroy()
  override dispose(): Promise<void> {
    return super.dispose();
  }
}

@injectable()
class DecoratedUserRepository extends UserRepository {
  constructor(@inject('pool') pool: Pool, @inject('audit') audit: AuditTrail) {
    super(pool, audit);
  }

  @preDestroy()
  override dispose(): void {
    super.dispose();
  }
}

const { of, make, value, build } = lifetimes('application', 'request');

/** Not moved yet: the pool and the repository. */
function oldContainer(settings: Config, log: string[]): InversifyContainer {
  const old = new InversifyContainer();
  // Without `onDeactivation`, inversify does not clean up values.
  old.bind('config').toConstantValue(settings);
  old.bind('log').toConstantValue(log);
  old.bind('pool').to(DecoratedPool).inSingletonScope();
  return old;
}

/** A child container of inversify for each request, with what its services need of Ambit. */
function oldRequest(parent: InversifyContainer, audit: AuditTrail): InversifyContainer {
  const child = new InversifyContainer({ parent });
  child.bind('audit').toConstantValue(audit);
  child.bind('users').to(DecoratedUserRepository).inSingletonScope();
  return child;
}

const unbind = (old: InversifyContainer) => old.unbindAllAsync();

export async function start(): Promise<Application> {
  const log: string[] = [];

  // Moved: the values, the audit trail and the service.
  const app = build({
    config: value(config),
    log: value(log),
    old: make('application', oldContainer, ['config', 'log']).pipe(onDispose(unbind)),
    audit: of('request', AuditTrail, ['log']),
    // It depends on the audit trail, so Ambit disposes it before that.
    oldScope: make('request', oldRequest, ['old', 'audit']).pipe(onDispose(unbind)),
    // inversify made it, so inversify deactivates it.
    users: make('request', (oldScope: InversifyContainer) => oldScope.get<UserRepository>('users'), ['oldScope']).pipe(
      externallyOwned(),
    ),
    service: of('request', UserService, ['users', 'audit']),
  });
  const container = new Container({ tags: ['application'] }).addRegistration(...app.registrations);
  verify(container, ...app.scopes);

  // Its `stop()` disposes the container, and with it inversify's bindings.
  return applicationOn(container, log);
}
