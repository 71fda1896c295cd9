// The classes of the application with the decorators that NestJS needs.
import 'reflect-metadata';
import { Inject, Injectable, type OnModuleDestroy, Scope } from '@nestjs/common';
import { AuditTrail, type Config, Pool, UserRepository, UserService } from '../users.js';

@Injectable()
export class DecoratedPool extends Pool implements OnModuleDestroy {
  constructor(@Inject('config') config: Config, @Inject('log') log: string[]) {
    super(config, log);
  }

  onModuleDestroy(): Promise<void> {
    return this.dispose();
  }
}

@Injectable({ scope: Scope.REQUEST })
export class DecoratedAuditTrail extends AuditTrail {
  constructor(@Inject('log') log: string[]) {
    super(log);
  }
}

@Injectable({ scope: Scope.REQUEST })
export class DecoratedUserRepository extends UserRepository {
  constructor(@Inject('pool') pool: Pool, @Inject('audit') audit: AuditTrail) {
    super(pool, audit);
  }
}

@Injectable({ scope: Scope.REQUEST })
export class DecoratedUserService extends UserService {
  constructor(@Inject('users') users: UserRepository, @Inject('audit') audit: AuditTrail) {
    super(users, audit);
  }
}
