// The classes of the application with the lists that typed-inject needs. Ambit reads the same lists.
import { AuditTrail, Pool, UserRepository, UserService } from '../users.js';

export class InjectedPool extends Pool {
  static readonly inject = ['config', 'log'] as const;
}

export class InjectedAuditTrail extends AuditTrail {
  static readonly inject = ['log'] as const;
}

export class InjectedUserRepository extends UserRepository {
  static readonly inject = ['pool', 'audit'] as const;
}

export class InjectedUserService extends UserService {
  static readonly inject = ['users', 'audit'] as const;
}
