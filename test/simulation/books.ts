import { type RawResponse, readResponse } from '@ambit/test-kit';
import type { FakeSocket } from './client.js';
import type { Run } from './run.js';
import type { Visit } from './visit.js';

const RESPONSES = /^(?:HTTP\/1\.1 \d{3} |$)/;

/** What must be true when nothing more is going to happen, while the clients that did not leave are still there. */
export function checkStanding(run: Run): void {
  for (const { socket } of run.clients) {
    const mayBeCut = socket.visits.some(({ breaksOff }) => breaksOff) || run.closing;
    if (!socket.hasLeft && !socket.isStuck && !(socket.destroyed && mayBeCut)) checkWaiting(run, socket);
  }
}

function checkWaiting({ ledger, maxRequestsPerConnection }: Run, socket: FakeSocket): void {
  const { length } = responsesTo(socket);
  // The connection closes behind as many as the limit allows.
  const mayBeRefused = !socket.writable && length >= maxRequestsPerConnection;
  for (const [index, visit] of socket.visits.entries()) {
    if (index >= length) {
      const mayWait =
        mayBeRefused || !visit.isSent || !visit.comesWhole || visit.breaksOff || (visit.waits && !visit.first);
      if (!mayWait) visit.broke('its client waits for a response that does not come');
      return;
    }
    if (visit.breaksOff) continue;
    if (visit.scope && !ledger.isOver(visit.scope)) visit.broke('it was responded to, and its scope is open');
    if (visit.signal?.aborted) visit.broke('it was responded to, and its signal aborted');
  }
}

/** What must be true when all is over. */
export function checkEnd(run: Run): void {
  const { pool, ledger } = run;
  if (pool.out > 0) run.broke(`${pool.out} connections are out`);
  if (pool.size.waiting > 0) run.broke(`${pool.size.waiting} wait for a connection`);
  if (pool.stored.includes('undone')) run.broke('what a nested run undid was stored');
  if (pool.stored.includes('late')) run.broke('a query after the end was stored');
  for (const violation of pool.violations) run.broke(violation);
  for (const complaint of ledger.complaints()) run.broke(complaint);
  for (const { socket } of run.clients) checkResponses(run, socket);
  for (const visit of run.visits()) checkVisit(run, visit);
}

function checkVisit(run: Run, visit: Visit): void {
  visit.callbacks.check(run.pool.stored);
  if (visit.first === 'failed' && visit.asked !== 'commit' && run.pool.stored.includes(visit.mark)) {
    visit.broke('its handler failed, and it was stored');
  }
  // After the time limit Express may respond by itself, too, for a handler that fails then.
  if (visit.secondResponsesReported > 0 && visit.responses < 2 && !visit.isBare && !visit.isTooLate)
    visit.broke('its one response was taken for a second one');
  // All clients have disconnected by now.
  if (visit.responses === 0 && !visit.isBare && visit.signal?.aborted === false) {
    visit.broke('its client disconnected without a response, and its signal did not abort');
  }
  if (visit.endFails && visit.disposeErrors === 0) visit.broke('its scope failed to dispose, and it was not reported');
  if (!visit.endFails && !run.unruly && visit.disposeErrors > 0) visit.broke('its scope failed to dispose');
  if (visit.disposeErrors > 1) visit.broke(`the disposal of its scope was reported ${visit.disposeErrors} times`);
}

function checkResponses(run: Run, socket: FakeSocket): void {
  if (!RESPONSES.test(socket.heard)) run.broke(`a client heard what is no response: ${socket.heard}`);
  for (const [index, response] of responsesTo(socket).entries()) {
    const visit = socket.visits[index];
    if (!visit) return;
    const mark = /m\d+/.exec(response.text)?.[0];
    if (mark !== undefined && mark !== visit.mark) visit.broke(`its response belongs to ${mark}`);
    checkRefusal(run, visit, response);
    checkHead(visit, response);
    if (run.calm) checkCalm(visit, response);
  }
}

/** An error tells the truth: what it says was not stored was not. */
function checkRefusal({ pool }: Run, visit: Visit, response: RawResponse): void {
  if (!isError(visit, response) || response.text.includes('AMBIT_TX_OUTCOME_UNKNOWN')) return;
  // A host refuses a second transaction of a request with the code of the database's, also after a COMMIT.
  const ofTheDatabase = /AMBIT_TX_(?!ALREADY_OPEN)/.test(response.text);
  if (!ofTheDatabase && visit.asked === 'commit') return;
  // Of a failure after the response; it does not know of the COMMIT of which nobody knows the outcome.
  if (!ofTheDatabase && visit.first === 'answered' && !visit.commitIsSettled) return;
  for (const mark of visit.written) {
    const stored = pool.stored.includes(mark) && !visit.knownStored.has(mark);
    if (stored) visit.broke(`${mark} was stored, and the client received ${response.text}`);
  }
}

/** What was said of a response that was refused holds for no error. */
function checkHead(visit: Visit, { headers, text }: RawResponse): void {
  const isRefused = /AMBIT_(?:TX_COMMIT_FAILED|TX_OUTCOME_UNKNOWN|HTTP_TRANSACTION_LEFT_OPEN)/.test(text);
  if (isRefused && !visit.endsItself && 'location' in headers) {
    visit.broke(`its error has the location of the response: ${text}`);
  }
}

/** The response of an error handler or of the framework, and no refusal of the handler's own. */
function isError({ isBare, mark }: Visit, { status, text }: RawResponse): boolean {
  return status >= 400 && (text.includes('"error":') || (isBare && !text.includes(mark)));
}

/** Where nothing went wrong, the handler's response is the client's. */
function checkCalm(visit: Visit, { status }: RawResponse): void {
  if (visit.first === 'failed' && visit.errorStatus !== undefined && !visit.breaksOff && status !== visit.errorStatus) {
    visit.broke(`its error handler responded ${visit.errorStatus}, and the client heard ${status}`);
  }
  if (visit.first !== 'answered') return;
  const { hostCommits } = visit.run;
  const mayBeRefused = hostCommits ? visit.asked === 'rollback' : visit.asked !== 'rollback' && !visit.knownStored.size;
  if (mayBeRefused && visit.inTransaction) return;
  if (
    !visit.isBare &&
    visit.secondResponsesReported !== (hostCommits && visit.inTransaction ? visit.responses - 1 : 0)
  ) {
    visit.broke(
      `there were ${visit.responses} responses, and ${visit.secondResponsesReported} were reported as too many`,
    );
  }
  if (status !== visit.status) visit.broke(`its handler responded ${visit.status}, and the client heard ${status}`);
}

/** Those that came whole. */
export function responsesTo(socket: FakeSocket): RawResponse[] {
  const responses: RawResponse[] = [];
  let bytes = Buffer.from(socket.heard, 'latin1');
  for (let read = readResponse(bytes); read; read = readResponse(bytes)) {
    responses.push(read.response);
    bytes = bytes.subarray(read.length);
  }
  return responses;
}
