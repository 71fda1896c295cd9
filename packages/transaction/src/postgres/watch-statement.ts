import { startTimer } from '../core/clock.js';
import { serverAnswers } from './side-channel.js';
import type { PostgresSettings } from './options.js';
import type { Session } from './session.js';

/**
 * Keeps time while a statement runs, until the function it returns is called. As long as nothing comes back it looks now and
 * then whether the server is there at all, and cuts the connection where it is not: it has frozen, or its machine is gone.
 * At the query limit the statement is cancelled, and soon after that the connection cut.
 */
export function watchStatement(session: Session, settings: PostgresSettings, cancel: () => void): () => void {
  const { clock, queryTimeoutMs, silentAfterMs, cancelGraceMs } = settings;
  let isOver = false;
  let stopTimer = wait(queryTimeoutMs);
  return () => {
    isOver = true;
    stopTimer();
  };

  function wait(leftMs: number): () => void {
    return silentAfterMs < leftMs
      ? startTimer(clock, () => look(leftMs - silentAfterMs), silentAfterMs)
      : startTimer(clock, giveUp, leftMs);
  }

  function look(leftMs: number): void {
    stopTimer = wait(leftMs);
    void serverAnswers(session.client, silentAfterMs).then((answers) => {
      if (!answers && !isOver) session.cut();
    });
  }

  function giveUp(): void {
    cancel();
    stopTimer = startTimer(clock, () => session.cut(), cancelGraceMs);
  }
}
