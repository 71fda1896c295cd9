import type { IContainer } from '@ambit/container';
import { runInTransaction, TransactionError } from '@ambit/transaction';
import type { IAuditLogger } from '../audit.js';
import type { HttpResponse } from '../http/response.js';
import { type IdempotentRequest, idempotentRequest, type KeyHeader } from '../idempotency/idempotent-request.js';
import { Problem } from '../problem.js';
import type { NewUser, User } from './user.js';
import type { IUserRepository } from './user-repository.js';

export async function getUser(users: IUserRepository, id: string): Promise<User> {
  const user = await users.findById(id);
  if (user === null) throw new Problem(404, 'User not found');
  return user;
}

/** `extra` is added to the audit record: the two hosts differ in it. */
export async function createUser(
  request: IContainer,
  key: KeyHeader,
  data: NewUser,
  extra: object,
): Promise<HttpResponse<User>> {
  if (key !== undefined) {
    const idempotent = idempotentRequest(key, 'POST /api/users', [data.name, data.email]);
    return createUserOnce(request, idempotent, data, extra);
  }
  const users = request.resolve('IUserRepository');
  const audit = request.resolve('IAuditLogger');
  const user = await users.create(data).catch(throwOutcomeUnknown);
  await auditCreation(audit, user, extra);
  return { status: 201, headers: {}, body: user };
}

/** A statement outside a transaction commits itself. When its connection is lost, nobody knows whether it did. */
function throwOutcomeUnknown(error: unknown): never {
  if (error instanceof TransactionError && error.code === 'AMBIT_TX_CONNECTION_LOST') {
    const what = 'The connection was lost while a user was being stored';
    throw new TransactionError('AMBIT_TX_OUTCOME_UNKNOWN', what, { cause: error });
  }
  throw error;
}

/** Stores the user and the key in one transaction. */
async function createUserOnce(
  request: IContainer,
  idempotent: IdempotentRequest,
  data: NewUser,
  extra: object,
): Promise<HttpResponse<User>> {
  request.resolve('IKeyLock').acquire(idempotent.key);
  // Resolved before the work: a client that disconnects during COMMIT disposes the scope, and a stored user must be audited.
  const audit = request.resolve('IAuditLogger');
  const response = await inRequestTransaction(request, (scope) => {
    const users = scope.resolve('IUserRepository');
    return scope.resolve('IResponseStore').respond(idempotent, 201, () => users.create(data));
  });
  if (!response.replayed) await auditCreation(audit, response.body, extra);
  return response;
}

/** A transaction with the time limit of the service, which is rolled back when the client disconnects. */
export function inRequestTransaction<T>(request: IContainer, work: (scope: IContainer) => Promise<T>): Promise<T> {
  const logger = request.resolve('ILogger');
  const { requestId } = request.resolve('IRequestContext');
  return runInTransaction(request, work, {
    timeoutMs: request.resolve('IConfigService').get('transactionTimeoutMs'),
    signal: request.resolve('IRequestSignal'),
    onError: (err) => logger.error({ msg: 'The transaction failed to close', requestId, err }),
  });
}

function auditCreation(audit: IAuditLogger, user: User, extra: object): Promise<void> {
  return audit.log('user_created', { userId: user.id, ...extra });
}
