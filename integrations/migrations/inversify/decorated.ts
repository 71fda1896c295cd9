// The classes of the application with the decorators that inversify needs.
import 'reflect-metadata';
import { inject, injectable, preDestroy } from 'inversify';
import { AuditTrail, type Config, Pool, UserRepository, UserService } from '../users.js';

@injectable()
export class DecoratedPool extends Pool {
  constructor(@inject('config') config: Config, @inject('log') log: string[]) {
    super(config, log);
  }

  @preDestroy()
  override dispose(): Promise<void> {
    return super.dispose();
  }
}

@injectable()
export class DecoratedAuditTrail extends AuditTrail {
  constructor(@inject('log') log: string[]) {
    super(log);
  }

  @preDestroy()
  override dispose(): Promise<void> {
    return super.dispose();
  }
}

@injectable()
export class DecoratedUserRepository extends UserRepository {
  constructor(@inject('pool') pool: Pool, @inject('audit') audit: AuditTrail) {
    super(pool, audit);
  }

  @preDestroy()
  override dispose(): void {
    super.dispose();
  }
}

@injectable()
export class DecoratedUserService extends UserService {
  constructor(@inject('users') users: UserRepository, @inject('audit') audit: AuditTrail) {
    super(users, audit);
  }
}
