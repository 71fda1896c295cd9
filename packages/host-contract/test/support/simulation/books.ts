import { readAnswer } from '../../../src/answer.js';
import type { Answer } from '../../../src/index.js';
import type { FakeSocket } from './fake-socket.js';
import type { Life } from './run.js';
import type { Visit } from './visit.js';

const ANSWERS = /^(?:HTTP\/1\.1 \d{3} |$)/;

/** What must be true when nothing more is going to happen, while the clients that did not leave are still there. */
export function checkStanding(life: Life): void {
  for (const { socket } of life.clients) {
    const mayBeCut = socket.visits.some(({ breaksOff }) => breaksOff) || life.closing;
    if (!socket.hasLeft && !socket.isStuck && !(socket.destroyed && mayBeCut)) checkWaiting(life, socket);
  }
}

function checkWaiting({ ledger }: Life, socket: FakeSocket): void {
  const { length } = answersTo(socket);
  for (const [index, visit] of socket.visits.entries()) {
    if (index >= length) {
      const mayWait = !visit.isSent || !visit.comesWhole || visit.breaksOff || (visit.waits && !visit.first);
      if (!mayWait) visit.broke('its client waits for a response that does not come');
      return;
    }
    if (visit.breaksOff) continue;
    if (visit.scope && !ledger.isOver(visit.scope)) visit.broke('it was responded to, and its scope is open');
    if (visit.signal?.aborted) visit.broke('it was responded to, and its signal aborted');
  }
}

/** What must be true when all is over. */
export function checkEnd(life: Life): void {
  const { pool, ledger } = life;
  if (pool.out > 0) life.broke(`${pool.out} connections are out`);
  if (pool.size.waiting > 0) life.broke(`${pool.size.waiting} wait for a connection`);
  if (pool.stored.includes('late')) life.broke('a query after the end was stored');
  for (const violation of pool.violations) life.broke(violation);
  for (const complaint of ledger.complaints()) life.broke(complaint);
  for (const { socket } of life.clients) checkAnswers(life, socket);
  for (const visit of life.visits()) checkVisit(life, visit);
}

function checkVisit(life: Life, visit: Visit): void {
  if (visit.first === 'failed' && visit.asked !== 'commit' && life.pool.stored.includes(visit.mark)) {
    visit.broke('its handler failed, and it was stored');
  }
  // After the time limit Express may respond by itself, too, for a handler that fails then.
  if (visit.secondAnswersReported > 0 && visit.answers < 2 && !visit.isBare && !visit.isTooLate)
    visit.broke('its one response was taken for a second one');
  // All clients are gone by now.
  if (visit.answers === 0 && !visit.isBare && visit.signal?.aborted === false) {
    visit.broke('its client is gone without a response, and its signal did not abort');
  }
  if (visit.endFails && visit.disposeErrors === 0) visit.broke('its scope failed to dispose, and it was not reported');
  if (!visit.endFails && !life.unruly && visit.disposeErrors > 0) visit.broke('its scope failed to dispose');
  if (visit.disposeErrors > 1) visit.broke(`the end of its scope was reported ${visit.disposeErrors} times`);
}

function checkAnswers(life: Life, socket: FakeSocket): void {
  if (!ANSWERS.test(socket.heard)) life.broke(`a client heard what is no response: ${socket.heard}`);
  for (const [index, answer] of answersTo(socket).entries()) {
    const visit = socket.visits[index];
    if (!visit) return;
    const mark = /m\d/.exec(answer.text)?.[0];
    if (mark !== undefined && mark !== visit.mark) visit.broke(`its response belongs to ${mark}`);
    checkRefusal(life, visit, answer);
    checkHead(visit, answer);
    if (life.calm) checkCalm(visit, answer);
  }
}

/** An error tells the truth: what it says was not stored was not. */
function checkRefusal({ pool }: Life, visit: Visit, answer: Answer): void {
  if (!isError(visit, answer) || answer.text.includes('AMBIT_TX_OUTCOME_UNKNOWN')) return;
  const ofTheDatabase = answer.text.includes('AMBIT_TX_');
  if (!ofTheDatabase && visit.asked === 'commit') return;
  // Of a failure after the response; it does not know of the COMMIT of which nobody knows the outcome.
  if (!ofTheDatabase && visit.first === 'answered' && !visit.commitIsAnswered) return;
  for (const mark of visit.written) {
    const stored = pool.stored.includes(mark) && !visit.knownStored.has(mark);
    if (stored) visit.broke(`${mark} was stored, and the client was told ${answer.text}`);
  }
}

/** What was said of a response that was refused holds for no error. */
function checkHead(visit: Visit, { headers, text }: Answer): void {
  const isRefused = /AMBIT_(?:TX_COMMIT_FAILED|TX_OUTCOME_UNKNOWN|HTTP_TRANSACTION_LEFT_OPEN)/.test(text);
  if (isRefused && !visit.endsItself && 'location' in headers) {
    visit.broke(`its error has the location of the response: ${text}`);
  }
}

/** The response of an error handler or of the framework, and no refusal of the handler's own. */
function isError({ isBare, mark }: Visit, { status, text }: Answer): boolean {
  return status >= 400 && (text.includes('"error":') || (isBare && !text.includes(mark)));
}

/** Where nothing went wrong, the handler's response is the client's. */
function checkCalm(visit: Visit, { status }: Answer): void {
  if (visit.first === 'failed' && visit.errorStatus !== undefined && !visit.breaksOff && status !== visit.errorStatus) {
    visit.broke(`its error handler responded ${visit.errorStatus}, and the client heard ${status}`);
  }
  if (visit.first !== 'answered') return;
  const { hostCommits } = visit.life;
  const mayBeRefused = hostCommits ? visit.asked === 'rollback' : visit.asked !== 'rollback' && !visit.knownStored.size;
  if (mayBeRefused && visit.inTransaction) return;
  if (!visit.isBare && visit.secondAnswersReported !== (hostCommits && visit.inTransaction ? visit.answers - 1 : 0)) {
    visit.broke(`there were ${visit.answers} responses, and ${visit.secondAnswersReported} were reported as too many`);
  }
  if (status !== visit.status) visit.broke(`its handler responded ${visit.status}, and the client heard ${status}`);
}

/** Those that came whole. */
export function answersTo(socket: FakeSocket): Answer[] {
  const answers: Answer[] = [];
  let bytes = Buffer.from(socket.heard, 'latin1');
  for (let read = readAnswer(bytes); read; read = readAnswer(bytes)) {
    answers.push(read.answer);
    bytes = bytes.subarray(read.length);
  }
  return answers;
}
