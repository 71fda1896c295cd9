import type { IContainer } from '@ambit/container';
import { runInTransaction, TransactionError } from '@ambit/transaction';
import type { IAuditLogger } from '../audit/audit-logger.js';
import { Problem } from '../problem.js';
import { type Answer, once, type Once } from '../idempotency/once.js';
import type { NewUser, User } from './user.js';
import type { IUserRepository } from './user-repository.js';

interface Users {
  readonly users: IUserRepository;
}

export interface AuditedUsers extends Users {
  readonly audit: IAuditLogger;
}

export async function getUser({ users }: Users, id: string): Promise<User> {
  const user = await users.findById(id);
  if (user === null) throw new Problem(404, 'User not found');
  return user;
}

/** `extra` joins the audit record: what it holds besides the id is where the two hosts differ. */
export async function createUser({ users, audit }: AuditedUsers, data: NewUser, extra: object): Promise<User> {
  const user = await users.create(data).catch(throwWhatIsKnown);
  await auditCreation(audit, user, extra);
  return user;
}

/** A statement outside of a transaction commits itself: whether it had done so when its connection died, nobody knows. */
function throwWhatIsKnown(error: unknown): never {
  if (error instanceof TransactionError && error.code === 'AMBIT_TX_CONNECTION_LOST') {
    const what = 'The connection was lost while a user was being stored';
    throw new TransactionError('AMBIT_TX_OUTCOME_UNKNOWN', what, { cause: error });
  }
  throw error;
}

export const onceForUser = (key: string | undefined, { name, email }: NewUser): Once | undefined =>
  key === undefined ? undefined : once(key, 'POST /api/users', [name, email]);

/** The same under an Idempotency-Key: the user and the key are stored in one transaction, or neither is. */
export async function createUserOnce(
  request: IContainer,
  asked: Once,
  data: NewUser,
  extra: object,
): Promise<Answer<User>> {
  request.resolve('IKeyHold').hold(asked.key);
  // Before the work: a client that leaves during COMMIT takes the scope along, and what is stored must be audited.
  const audit = request.resolve('IAuditLogger');
  const logger = request.resolve('ILogger');
  const { requestId } = request.resolve('IRequestContext');
  const answer = await runInTransaction(
    request,
    (scope) => {
      const users = scope.resolve('IUserRepository');
      return scope.resolve('IAnswerStore').answer(asked, 201, () => users.create(data));
    },
    {
      timeoutMs: request.resolve('IConfigService').get('transactionTimeoutMs'),
      signal: request.resolve('IRequestSignal'),
      onError: (err) => logger.error({ msg: 'The transaction failed to close', requestId, err }),
    },
  );
  if (!answer.replayed) await auditCreation(audit, answer.body, extra);
  return answer;
}

function auditCreation(audit: IAuditLogger, user: User, extra: object): Promise<void> {
  return audit.log('user_created', { userId: user.id, ...extra });
}
