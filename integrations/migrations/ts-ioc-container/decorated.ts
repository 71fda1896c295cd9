// The classes of the application with the decorators that ts-ioc-container has.
import 'reflect-metadata';
import {
  bindTo,
  type HookFn,
  type IContainer,
  inject,
  onDispose,
  onDisposeHooksRunner,
  register,
  scope,
  singleton,
} from 'ts-ioc-container';
import { AuditTrail, type Config, Pool, UserRepository, UserService } from '../users.js';

const invoke: HookFn = async (context) => {
  await context.invokeMethod();
};

/** `dispose()` of a scope is synchronous and awaits no hook, so the application runs them before. */
export async function disposeScope(disposed: IContainer): Promise<void> {
  for (const instance of disposed.getInstances().toReversed()) {
    await onDisposeHooksRunner.executeAsync(instance, { scope: disposed });
  }
  disposed.dispose();
}

@register(bindTo('pool'), scope((s) => s.hasTag('application')), singleton())
export class DecoratedPool extends Pool {
  constructor(@inject('config') config: Config, @inject('log') log: string[]) {
    super(config, log);
  }

  @onDispose(invoke)
  override dispose(): Promise<void> {
    return super.dispose();
  }
}

@register(bindTo('audit'), scope((s) => s.hasTag('request')), singleton())
export class DecoratedAuditTrail extends AuditTrail {
  constructor(@inject('log') log: string[]) {
    super(log);
  }

  @onDispose(invoke)
  override dispose(): Promise<void> {
    return super.dispose();
  }
}

@register(bindTo('users'), scope((s) => s.hasTag('request')), singleton())
export class DecoratedUserRepository extends UserRepository {
  constructor(@inject('pool') pool: Pool, @inject('audit') audit: AuditTrail) {
    super(pool, audit);
  }

  @onDispose(invoke)
  override dispose(): void {
    super.dispose();
  }
}

@register(bindTo('service'), scope((s) => s.hasTag('request')), singleton())
export class DecoratedUserService extends UserService {
  constructor(@inject('users') users: UserRepository, @inject('audit') audit: AuditTrail) {
    super(users, audit);
  }
}
