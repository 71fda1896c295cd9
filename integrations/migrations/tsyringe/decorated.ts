// The classes of the application with the decorators that tsyringe needs.
import 'reflect-metadata';
import { inject, injectable } from 'tsyringe';
import { AuditTrail, type Config, Pool, UserRepository, UserService } from '../users.js';

@injectable()
export class DecoratedPool extends Pool {
  constructor(@inject('config') config: Config, @inject('log') log: string[]) {
    super(config, log);
  }
}

@injectable()
export class DecoratedAuditTrail extends AuditTrail {
  constructor(@inject('log') log: string[]) {
    super(log);
  }
}

@injectable()
export class DecoratedUserRepository extends UserRepository {
  constructor(@inject('pool') pool: Pool, @inject('audit') audit: AuditTrail) {
    super(pool, audit);
  }
}

@injectable()
export class DecoratedUserService extends UserService {
  constructor(@inject('users') users: UserRepository, @inject('audit') audit: AuditTrail) {
    super(users, audit);
  }
}
