import 'reflect-metadata';
import { Container, externallyOwned, lifetimes, onDispose } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import { applicationOn } from './after.js';
import {
  bindTo,
  Container as OldContainer,
  type HookFn,
  type IContainer,
  inject,
  onDispose as hook,
  onDisposeHooksRunner,
  register,
  Registration as R,
  scope,
  singleton,
} from 'ts-ioc-container';
import { type Application, AuditTrail, type Config, config, Pool, UserRepository, UserService } from './users.js';

const invoke: HookFn = async (context) => {
  await context.invokeMethod();
};

/** `dispose()` of a scope is synchronous and awaits no hook, so the application runs them before. */
async function disposeScope(disposed: IContainer): Promise<void> {
  for (const instance of disposed.getInstances().toReversed()) {
    await onDisposeHooksRunner.executeAsync(instance, { scope: disposed });
  }
  disposed.dispose();
}

@register(bindTo('pool'), scope((s) => s.hasTag('application')), singleton())
class DecoratedPool extends Pool {
  constructor(@inject('config') settings: Config, @inject('log') log: string[]) {
    super(settings, log);
  }

  @hook(invoke)
  override dispose(): Promise<void> {
    return super.dispose();
  }
}

@register(bindTo('users'), scope((s) => s.hasTag('request')), singleton())
class DecoratedUserRepository extends UserRepository {
  constructor(@inject('pool') pool: Pool, @inject('audit') audit: AuditTrail) {
    super(pool, audit);
  }

  @hook(invoke)
  override dispose(): void {
    super.dispose();
  }
}

const { of, make, value, build } = lifetimes('application', 'request');

/** Not moved yet: the pool and the repository. */
const oldContainer = (settings: Config, log: string[]): IContainer =>
  new OldContainer({ tags: ['application'] })
    .addRegistration(R.fromValue(settings).bindTo('config'))
    .addRegistration(R.fromValue(log).bindTo('log'))
    .addRegistration(R.fromClass(DecoratedPool))
    .addRegistration(R.fromClass(DecoratedUserRepository));

/** A scope of ts-ioc-container for each request, with what its services need of Ambit. It has no hooks for values. */
const oldRequest = (old: IContainer, audit: AuditTrail): IContainer =>
  old.createScope({ tags: ['request'] }).addRegistration(R.fromValue(audit).bindTo('audit'));

export async function start(): Promise<Application> {
  const log: string[] = [];

  // Moved: the values, the audit trail and the service.
  const app = build({
    config: value(config),
    log: value(log),
    old: make('application', oldContainer, ['config', 'log']).pipe(onDispose(disposeScope)),
    audit: of('request', AuditTrail, ['log']),
    // It depends on the audit trail, so Ambit disposes it before that.
    oldScope: make('request', oldRequest, ['old', 'audit']).pipe(onDispose(disposeScope)),
    // ts-ioc-container made it, so its hooks dispose it.
    users: make('request', (oldScope: IContainer) => oldScope.resolve<UserRepository>('users'), ['oldScope']).pipe(
      externallyOwned(),
    ),
    service: of('request', UserService, ['users', 'audit']),
  });
  const container = new Container({ tags: ['application'] }).addRegistration(...app.registrations);
  verify(container, ...app.scopes);

  // Its `stop()` disposes the container, and with it the container of ts-ioc-container.
  return applicationOn(container, log);
}
