// The service, started as always, which also counts the calls of its functions for the process that forked it.
import { Session } from 'node:inspector/promises';
import { CALLED } from './service-process.mjs';

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

/** The functions that were called since they are watched, in the order of their first calls. @type {Set<string>} */
const order = new Set();
Reflect.set(globalThis, CALLED, order);

/** @typedef {import('node:inspector').Profiler.FunctionCoverage} Called */
/** @type {{ url: string, scriptId: string, functions: Called[] }[]} */
let last = [];

process.on('message', (message) => void (message === 'watch' ? watch() : sendCalled()));

await import('../../service/dist/main.js');

/** Taking the counts also resets them, so each message holds what ran since the one before. */
async function sendCalled() {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const files = result.map(({ url, scriptId, functions }) => ({
    url,
    scriptId,
    functions: functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0),
  }));
  last = files.filter(({ url, functions }) => url.startsWith('file:') && functions.length > 0);
  process.send?.({
    files: last.map(({ url, functions }) => ({
      url,
      functions: functions.map((called) => ({ name: nameOf(called), calls: called.ranges[0]?.count ?? 0 })),
    })),
    order: [...order].map((call) => JSON.parse(call)),
  });
  order.clear();
}

/** Stops nowhere: the condition of each breakpoint notes the call, and is false. */
async function watch() {
  await session.post('Debugger.enable');
  // Each breakpoint has V8 search its whole heap.
  for (const { url, scriptId, functions } of last.filter((file) => !file.url.includes('/node_modules/'))) {
    const { scriptSource } = await session.post('Debugger.getScriptSource', { scriptId });
    /** @param {number} offset */
    const at = (offset) => {
      const lines = scriptSource.slice(0, offset).split('\n');
      return { scriptId, lineNumber: lines.length - 1, columnNumber: lines.at(-1)?.length ?? 0 };
    };
    for (const called of functions) {
      const [range] = called.ranges;
      // V8 calls super() twice where a breakpoint is on it.
      if (!range || scriptSource.slice(range.startOffset, range.endOffset).includes('super(')) continue;
      const places = { start: at(range.startOffset), end: at(range.endOffset), restrictToFunction: true };
      const { locations } = await session.post('Debugger.getPossibleBreakpoints', places);
      const call = JSON.stringify(JSON.stringify({ url, name: nameOf(called) }));
      const condition = `globalThis.${CALLED}.add(${call}), false`;
      if (locations[0]) await session.post('Debugger.setBreakpoint', { location: locations[0], condition });
    }
  }
  process.send?.({ files: [], order: [] });
}

/** @param {Called} called */
function nameOf({ functionName }) {
  return functionName || '(anonymous)';
}
