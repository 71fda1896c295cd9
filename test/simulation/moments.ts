import type { IContainer } from '@ambit/container';
import type { Visit } from './visit.js';

/** The status whose response rolls back, where a host has `rollbackOn`. */
export const ROLLS_BACK = 202;

/** What must be true at the moment BEGIN is sent. */
export function checkBegin(visit: Visit): void {
  if (visit.socket.isDisconnected) visit.broke('BEGIN was sent though the client had disconnected');
}

/** At the moment COMMIT is sent there must be a reason to, and none against it. */
export function checkCommit(visit: Visit): void {
  const { asked, first, run, socket, status } = visit;
  if (socket.isDisconnected) visit.broke('COMMIT was sent though the client had disconnected');
  if (asked === 'commit') return;
  if (asked === 'rollback') visit.broke('COMMIT was sent though the handler had rolled back');
  if (first === 'failed') visit.broke('COMMIT was sent though the handler had failed');
  if (!first || !run.hostCommits) visit.broke('COMMIT was sent though nobody had asked for it');
  if (status === ROLLS_BACK) visit.broke('COMMIT was sent though the status rolls back');
}

/** At the moment the client hears of success, it must be so. */
export function checkAcknowledged(visit: Visit, status: number): void {
  if (status >= 400 || visit.lies || mayBeMistaken(visit)) return;
  const rolledBack = status === ROLLS_BACK && !visit.asked;
  for (const mark of visit.written) {
    const stored = visit.run.pool.stored.includes(mark);
    if (stored === rolledBack) visit.broke(`${status} went out, and ${mark} was ${stored ? '' : 'not '}stored`);
  }
}

/**
 * A transaction that ended with its scope looks as if the handler had ended it; so on a host that leaves commits to
 * handlers, one that does not await its commit is believed.
 */
function mayBeMistaken({ isEndedFromTheSide, knownStored, run }: Visit): boolean {
  return isEndedFromTheSide && !run.hostCommits && knownStored.size === 0;
}

/** By the time the error handler is called, the transaction is over, and the scope where that is the setting. */
export function checkErrorHandler(visit: Visit, transactionScope?: IContainer): void {
  const { transaction, run, scope } = visit;
  if (transactionScope) visit.broke('its error handler was called with its transaction open');
  if (visit.first === 'failed' && !visit.asked && transaction?.state === 'open' && !transaction.error) {
    visit.broke('its error handler was called, and its transaction goes on');
  }
  if (!scope) return;
  const isOver = run.ledger.isOver(scope);
  if (run.scopeOnError === 'disposed' && !isOver) visit.broke('its error handler was called with its scope open');
  const mayBeOver =
    run.scopeOnError !== 'open' || visit.responses > 0 || visit.socket.destroyed || visit.isEndedFromTheSide;
  if (isOver && !mayBeOver) visit.broke('its error handler was called after its scope was disposed');
}
